// What Python sees of the names in a text.
#include "bindings.hpp"
#include "names.hpp"
#include "phrases.hpp"
#include "text.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>

namespace monograph {

namespace {

constexpr std::size_t SHORTEST_NAME = 2;

// ``kind_of`` is asked for the kind of a name that is not just a name; an empty one if it is none at all.
nb::list names_in(const Lexicon &lexicon, const nb::str &given, const std::string &language, const std::vector<Span> &taken,
                  const nb::callable &is_number, const nb::callable &kind_of) {
    const Text text(given.ptr());
    for (const auto &[first, last] : taken)
        if (first > last || last > text.size()) throw std::invalid_argument("what is taken reaches beyond the text");
    const auto ask = [&](std::size_t first, std::size_t last) {
        const nb::gil_scoped_acquire held;
        return nb::cast<bool>(is_number(first, last));
    };
    std::vector<Name> names;
    {
        nb::gil_scoped_release released;
        names = proper_names(signs_of(text), lexicon, language, taken, ask);
    }
    nb::list made;
    const nb::str just_name("name");
    for (const auto &[start, end, opens, may_be_told] : names) {
        nb::object kind = just_name;
        if (opens || may_be_told || end - start <= SHORTEST_NAME) kind = kind_of(start, end, opens, may_be_told);
        if (nb::len(kind) > 0) made.append(nb::make_tuple(start, end, kind));
    }
    return made;
}

std::string tell_language(const Lexicon &lexicon, const nb::str &text, std::size_t characters, std::size_t words) {
    nb::gil_scoped_release released;
    return language_of(lexicon, Text(text.ptr()), characters, words);
}

std::vector<Span> find_key_phrases(const Lexicon &lexicon, const nb::str &text, const std::string &language, std::size_t most,
                                   std::size_t words_a_phrase) {
    if (words_a_phrase == 0) throw std::invalid_argument("a phrase is kept for one word at least");
    nb::gil_scoped_release released;
    return key_phrases(lexicon, signs_of(Text(text.ptr())), language, most, words_a_phrase);
}

} // namespace

void bind_names(nb::module_ &module) {
    nb::class_<Lexicon>(module, "Lexicon")
        .def(nb::init<const nb::dict &, const nb::dict &>())
        .def("names", &names_in)
        .def("language_of", &tell_language)
        .def("key_phrases", &find_key_phrases);
}

} // namespace monograph
