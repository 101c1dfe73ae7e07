// Python interface to the comparison of texts with a question.
#include "beside.hpp"
#include "bindings.hpp"
#include "compared.hpp"
#include "text.hpp"
#include "titles.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace monograph {

namespace {

// Return the keys of each text's phrases that may be titles, with their first offsets, without the keys in ``none``.
nb::list phrases_of(const nb::list &given, const nb::object &none, std::size_t words, std::size_t small, std::size_t longest_key) {
    const Texts texts(given);
    std::u32string keys;
    std::vector<Phrase> phrases;
    nb::list made;
    for (std::size_t at = 0; at < texts.size(); ++at) {
        title_phrases(texts[at], {words, small, longest_key}, keys, phrases);
        nb::dict found;
        for (const auto &[begin, end, offset] : phrases) {
            const nb::object key = as_str(keys.substr(begin, end - begin));
            const int is_none = PySequence_Contains(none.ptr(), key.ptr());
            if (is_none < 0) throw nb::python_error();
            if (!is_none && !PyDict_SetDefault(found.ptr(), key.ptr(), nb::int_(offset).ptr())) throw nb::python_error();
        }
        made.append(found);
    }
    return made;
}

// Return the fields of Sentences::Name for each name.
nb::list names_beside(const AskedWords &asked, const nb::str &text, const nb::str &title_key, const nb::list &given,
                      const std::vector<std::vector<std::size_t>> &where, const std::vector<std::size_t> &starts) {
    const Texts keys(given);
    if (where.size() != keys.size()) throw std::invalid_argument("give the sentences of each name");
    Sentences sentences(asked, Text(text.ptr()), starts);
    sentences.set_title(Text(title_key.ptr()));
    nb::list made;
    for (std::size_t at = 0; at < keys.size(); ++at) {
        const Sentences::Name name = sentences.name(keys[at], where[at]);
        made.append(nb::make_tuple(name.words, name.beside));
    }
    return made;
}

using Table = nb::ndarray<const std::uint16_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Rows = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

std::vector<std::u32string> words_of(const nb::list &given) {
    const Texts texts(given);
    std::vector<std::u32string> words;
    for (std::size_t at = 0; at < texts.size(); ++at) words.push_back(signs_of(texts[at]));
    return words;
}

void make_clues(Clues *place, const nb::dict &words) {
    Clues clues;
    std::string written;
    for (const auto [word, clue] : words) {
        if (!PyUnicode_Check(word.ptr())) throw nb::type_error("a word is a str");
        const Text text(word.ptr());
        if (!to_utf8(text, 0, text.size(), written)) throw std::invalid_argument("a word holds half of a pair");
        clues.words.put(written, nb::cast<std::uint32_t>(clue), 0);
    }
    new (place) Clues(std::move(clues));
}

void make_asked(AskedTerms *place, Tokenizer &tokenizer, const Table &table, const nb::list &words, const nb::list &every,
                const Clues &clues) {
    new (place) AskedTerms(tokenizer, {table.data(), table.shape(0), table.shape(1)}, words_of(words), words_of(every), clues);
}

void compare(const AskedTerms &asked, const nb::list &given, const std::vector<std::vector<Span>> &stretches, const Rows &out,
             const Rows &wholes) {
    const Texts texts(given);
    const std::size_t size = asked.size(), width = 2 * size + Compared::FEATURES, width_of_text = 2 * size + Compared::TEXT_FEATURES;
    std::size_t count = 0;
    for (std::size_t at = 0; at < stretches.size(); ++at) {
        count += stretches[at].size();
        for (const auto &[first, last] : stretches[at])
            if (at >= texts.size() || first > last || last > texts[at].size())
                throw std::invalid_argument("a stretch reaches beyond the text");
    }
    if (stretches.size() != texts.size() || out.shape(0) != count || out.shape(1) != width || wholes.shape(0) != texts.size() ||
        wholes.shape(1) != width_of_text)
        throw std::invalid_argument("the rows to be filled do not fit the stretches and the texts");
    const nb::gil_scoped_release released;
    Compared compared(asked);
    double *rows = out.data();
    for (std::size_t at = 0; at < texts.size(); ++at) {
        compared.text(texts[at], stretches[at], rows, wholes.data() + at * width_of_text);
        rows += stretches[at].size() * width;
    }
}

} // namespace

void bind_questions(nb::module_ &module) {
    module.def("title_phrases", &phrases_of);
    nb::class_<AskedWords>(module, "AskedWords")
        .def(nb::init<std::vector<std::uint32_t>, std::vector<double>>())
        .def("beside", &names_beside);
    nb::class_<Clues>(module, "Clues").def("__init__", &make_clues);
    nb::class_<AskedTerms>(module, "AskedTerms")
        .def("__init__", &make_asked, nb::arg("tokenizer"), nb::arg("table").noconvert(), nb::arg("words"), nb::arg("every"),
             nb::arg("clues"), nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(), nb::keep_alive<1, 6>())
        .def("compare", &compare, nb::arg("texts"), nb::arg("stretches"), nb::arg("out").noconvert(), nb::arg("wholes").noconvert());
}

} // namespace monograph
