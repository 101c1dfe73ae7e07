// What Python sees of the pass over the texts that a walk along the graph starts from.
#include "beside.hpp"
#include "bindings.hpp"
#include "text.hpp"
#include "titles.hpp"

#include <nanobind/stl/vector.h>

#include <cstdint>
#include <stdexcept>
#include <vector>

namespace monograph {

namespace {

// Of each text its phrases that may be a title, by key, with where each stands first.
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

// (words, beside) of each name.
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

} // namespace

void bind_walk(nb::module_ &module) {
    module.def("title_phrases", &phrases_of);
    nb::class_<AskedWords>(module, "AskedWords")
        .def(nb::init<std::vector<std::uint32_t>, std::vector<double>>())
        .def("beside", &names_beside);
}

} // namespace monograph
