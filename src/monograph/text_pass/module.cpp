// Python interface. The interpreter's lock is released while many texts are processed.
#include "bindings.hpp"
#include "fold.hpp"
#include "keys.hpp"
#include "sentences.hpp"
#include "text.hpp"
#include "tokens.hpp"
#include "unicode.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/unordered_map.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>

namespace monograph {

nb::object as_str(const std::u32string &text) {
    PyObject *made = PyUnicode_FromKindAndData(PyUnicode_4BYTE_KIND, text.data(), static_cast<Py_ssize_t>(text.size()));
    if (!made) throw nb::python_error();
    return nb::steal(made);
}

namespace {

template <class Value> using Table = nb::ndarray<const Value, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Rows = nb::ndarray<float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Raise UnicodeEncodeError for a text with an unpaired surrogate. The caller must hold the interpreter's lock.
[[noreturn]] void refuse(nb::handle text) {
    const nb::object written = nb::steal(PyUnicode_AsUTF8String(text.ptr()));
    if (written.is_valid()) throw std::logic_error("the text has tokens");
    throw nb::python_error();
}

std::vector<std::int64_t> count_tokens(Tokenizer &tokenizer, const nb::list &given) {
    const Texts texts(given);
    std::vector<std::int64_t> counts(texts.size());
    {
        nb::gil_scoped_release released;
        for (std::size_t at = 0; at < texts.size(); ++at) counts[at] = tokenizer.count(texts[at]);
    }
    for (std::size_t at = 0; at < texts.size(); ++at)
        if (counts[at] < 0) refuse(texts.held(at));
    return counts;
}

std::vector<std::uint32_t> token_ids(Tokenizer &tokenizer, const nb::str &text) {
    std::vector<std::uint32_t> ids;
    if (!tokenizer.encode(Text(text.ptr()), ids)) refuse(text);
    return ids;
}

std::vector<Span> token_spans(Tokenizer &tokenizer, const nb::str &text) {
    std::vector<Span> spans;
    if (!tokenizer.spans(Text(text.ptr()), spans)) refuse(text);
    return spans;
}

template <class Value>
void sum_tokens(Tokenizer &tokenizer, const nb::list &given, const Table<Value> &table, std::size_t at_once, const Rows &out) {
    const Texts texts(given);
    const std::size_t dimension = table.shape(1);
    if (out.shape(0) != texts.size() || out.shape(1) != dimension || at_once == 0)
        throw std::invalid_argument("the rows to be filled do not fit the texts and the table");
    nb::gil_scoped_release released;
    std::vector<std::uint32_t> ids;
    std::vector<float> part(dimension);
    for (std::size_t at = 0; at < texts.size(); ++at) {
        ids.clear();
        if (!tokenizer.encode(texts[at], ids)) {
            const nb::gil_scoped_acquire held;
            refuse(texts.held(at));
        }
        for (std::uint32_t id : ids)
            if (id >= table.shape(0)) throw std::invalid_argument("the table lacks a token's row");
        sum_rows(table.data(), dimension, ids.data(), ids.size(), at_once, part.data(), out.data() + at * dimension);
    }
}

nb::object fold_and_pair(const nb::str &text) {
    std::u32string folded, paired;
    fold(Text(text.ptr()), folded);
    const nb::object first = as_str(folded);
    return nb::make_tuple(first, pair_unspaced(folded, paired) ? as_str(paired) : first);
}

nb::object key_of_name(const nb::str &name, std::size_t longest) {
    std::u32string key;
    key_of(Text(name.ptr()).head(2 * longest), longest, key);
    return as_str(key);
}

nb::list word_hashes(const nb::list &given) {
    const Texts texts(given);
    std::vector<std::vector<std::uint32_t>> hashes(texts.size());
    {
        nb::gil_scoped_release released;
        std::u32string folded, paired;
        for (std::size_t at = 0; at < texts.size(); ++at) { hash_words(index_form(texts[at], folded, paired), hashes[at]); }
    }
    nb::list made;
    for (const auto &some : hashes) made.append(nb::bytes(some.data(), 4 * some.size()));
    return made;
}

std::vector<std::size_t> starts_of(const nb::str &text) {
    nb::gil_scoped_release released;
    return sentence_starts(Text(text.ptr()));
}

// Return (flags, combining class, fold, lower case) of a character, for tests that compare the tables with Python's.
nb::tuple character(std::uint32_t code) {
    const Unicode &unicode = Unicode::tables();
    if (code >= UNICODE_END) throw std::invalid_argument("there is no such character");
    char32_t single;
    std::uint32_t flags = 0;
    for (std::uint32_t flag = 1; flag <= ALPHA; flag <<= 1) flags |= unicode.is(code, flag) ? flag : 0;
    return nb::make_tuple(flags, unicode.combining_class(code), as_str(std::u32string(unicode.folded(code, single))), unicode.lower(code));
}

} // namespace

} // namespace monograph

NB_MODULE(_text_pass, module) {
    using namespace monograph;
    module.doc() = "One pass over a text, compiled.";
    nb::set_leak_warnings(false);
    nb::class_<Tokenizer>(module, "Tokenizer")
        .def(nb::init<const std::unordered_map<std::string_view, std::uint32_t> &, const std::vector<std::string_view> &, std::size_t,
                      std::size_t>())
        .def("count", &count_tokens)
        .def("ids", &token_ids)
        .def("spans", &token_spans)
        .def("sums", &sum_tokens<float>, nb::arg("texts"), nb::arg("table").noconvert(), nb::arg("at_once"), nb::arg("out").noconvert())
        .def("sums", &sum_tokens<std::uint16_t>, nb::arg("texts"), nb::arg("table").noconvert(), nb::arg("at_once"),
             nb::arg("out").noconvert())
        .def_prop_ro("known", &Tokenizer::known);
    module.def("unicode_version", &Unicode::version);
    module.def("character", &character);
    module.def("fold_and_pair", &fold_and_pair);
    module.def("key_of", &key_of_name);
    module.def("word_hashes", &word_hashes);
    module.def("sentence_starts", &starts_of);
    bind_names(module);
    bind_graph(module);
    bind_questions(module);
}
