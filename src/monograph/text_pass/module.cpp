// What Python sees. Every function here has a twin in Python that gives the same results; texts that a function leaves to
// the twin are told by None or -1. The interpreter's lock is released while texts are gone over.
#include "text.hpp"
#include "tokens.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>

namespace monograph {

namespace {

using Table = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Rows = nb::ndarray<float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

std::vector<std::int64_t> count_tokens(Tokenizer &tokenizer, const nb::list &given) {
    const Texts texts(given);
    std::vector<std::int64_t> counts(texts.size());
    nb::gil_scoped_release released;
    for (std::size_t at = 0; at < texts.size(); ++at) counts[at] = tokenizer.count(texts[at]);
    return counts;
}

nb::object token_ids(Tokenizer &tokenizer, const nb::str &text) {
    std::vector<std::uint32_t> ids;
    if (!tokenizer.encode(Text(text.ptr()), ids)) return nb::none();
    return nb::cast(ids);
}

std::vector<std::size_t> sum_tokens(Tokenizer &tokenizer, const nb::list &given, const Table &table, std::size_t at_once, const Rows &out) {
    const Texts texts(given);
    const std::size_t dimension = table.shape(1);
    if (out.shape(0) != texts.size() || out.shape(1) != dimension || at_once == 0)
        throw std::invalid_argument("the rows to be filled do not fit the texts and the table");
    std::vector<std::size_t> left;
    nb::gil_scoped_release released;
    std::vector<std::uint32_t> ids;
    std::vector<float> part(dimension);
    for (std::size_t at = 0; at < texts.size(); ++at) {
        ids.clear();
        if (!tokenizer.encode(texts[at], ids)) {
            left.push_back(at);
            continue;
        }
        for (std::uint32_t id : ids)
            if (id >= table.shape(0)) throw std::invalid_argument("the table lacks a token's row");
        sum_rows(table.data(), dimension, ids, at_once, part.data(), out.data() + at * dimension);
    }
    return left;
}

} // namespace

} // namespace monograph

NB_MODULE(_text_pass, module) {
    using namespace monograph;
    module.doc() = "One pass over a text, compiled.";
    nb::set_leak_warnings(false);
    nb::class_<Tokenizer>(module, "Tokenizer", "Byte-pair encoding with fallback to bytes.")
        .def(nb::init<const nb::dict &, const nb::list &, std::size_t, std::size_t>(), nb::arg("vocabulary"), nb::arg("merges"),
             nb::arg("most_words"), nb::arg("longest_word"))
        .def("count", &count_tokens, nb::arg("texts"), "Tokens of each text; -1 for one that is left to the twin.")
        .def("ids", &token_ids, nb::arg("text"), "The tokens of a text; None for one that is left to the twin.")
        .def("sums", &sum_tokens, nb::arg("texts"), nb::arg("table").noconvert(), nb::arg("at_once"), nb::arg("out").noconvert(),
             "Fill ``out`` with the sums of the texts' token vectors; which texts are left to the twin.")
        .def_prop_ro("known", &Tokenizer::known, "Words whose tokens are known.");
}
