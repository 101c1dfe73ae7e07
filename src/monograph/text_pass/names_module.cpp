// What Python sees of the patterns: what a text names, and each kind of it alone.
#include "bindings.hpp"
#include "mentions.hpp"
#include "number_words.hpp"
#include "slots.hpp"
#include "text.hpp"
#include "typed.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>
#include <tuple>
#include <utility>

namespace monograph {

namespace {

constexpr std::size_t KINDS = static_cast<std::size_t>(Kind::EMAIL) + 1;

void check_spans(const Text &text, const std::vector<Span> &spans) {
    for (const auto &[first, last] : spans)
        if (first > last || last > text.size()) throw std::invalid_argument("a span reaches beyond the text");
}

nb::object names_in(const Lexicon &lexicon, const nb::str &given, const std::string &language, const std::vector<Span> &taken) {
    const Text text(given.ptr());
    check_spans(text, taken);
    std::vector<Name> names;
    bool left = false;
    {
        nb::gil_scoped_release released;
        const std::u32string signs = signs_of(text);
        left = signs.find_first_of(U"\u0130\u03A3") != std::u32string::npos; // Their small forms are several, or hang on what follows.
        if (!left) names = proper_names(signs, lexicon, language, taken);
    }
    if (left) return nb::none();
    nb::list made;
    for (const Name &name : names) made.append(nb::make_tuple(name.start, name.end, name.kind, name.unless_number));
    return made;
}

// All patterns over a text, and the mentions that are made of what they find.
class Patterns {
  public:
    // ``kind_of`` is the twin's, for the few names of which it must tell the kind.
    Patterns(nb::object lexicon, nb::object words, const nb::list &kinds, nb::object mention, nb::object kind_of)
        : lexicon_(std::move(lexicon)), words_(std::move(words)), kinds_(kinds), mention_(std::move(mention)), kind_of_(std::move(kind_of)),
          empty_(nb::str("")) {
        if (!nb::isinstance<Lexicon>(lexicon_) || !nb::isinstance<FunctionWords>(words_) || !PyType_Check(mention_.ptr()) || kinds.size() != KINDS)
            throw std::invalid_argument("patterns take a lexicon, function words, their own kinds and a type of mentions");
    }

    nb::object mentions_in(const nb::str &given, const std::vector<std::tuple<std::size_t, std::size_t, std::size_t>> &shapes,
                           const std::vector<Span> &taken, const std::vector<Span> &speakers, std::pair<std::size_t, std::size_t> head,
                           std::pair<std::size_t, std::size_t> phrases, std::size_t longest, std::size_t most) const {
        const Text text(given.ptr());
        if (phrases.second == 0) throw std::invalid_argument("a phrase is kept for one word at least");
        check_spans(text, taken);
        check_spans(text, speakers);
        Given known{{}, taken, speakers};
        for (const auto &[first, last, kind] : shapes) {
            if (first > last || last > text.size() || kind >= KINDS) throw std::invalid_argument("a shape reaches beyond the text, or is of no kind");
            known.shapes.push_back({first, last, static_cast<Kind>(kind)});
        }
        const auto &lexicon = *nb::inst_ptr<Lexicon>(lexicon_);
        const auto &words = *nb::inst_ptr<FunctionWords>(words_);
        Found found;
        bool is_found = false;
        {
            nb::gil_scoped_release released;
            is_found = find_mentions(text, lexicon, words, {head.first, head.second, phrases.first, phrases.second}, known, found);
        }
        if (!is_found) return nb::none();
        std::erase_if(found.names, [&](Name &name) { return !settle(given, found.text, lexicon, name); });
        nb::list made;
        for (const Mention &one : mentions(known, found, longest, most)) made.append(as_mention(given, one));
        return made;
    }

  private:
    // Ask for the kind of a name that is not told; false where it is a number instead.
    bool settle(const nb::str &text, View signs, const Lexicon &lexicon, Name &name) const {
        if (name.kind == NameKinds::ASK) name.kind = place_of(kind_of_(text, name.start, name.end));
        if (!name.unless_number || name.kind != 0) return true;
        return !is_number_word(signs.substr(name.start, name.end - name.start), lexicon);
    }

    std::int32_t place_of(const nb::object &kind) const {
        for (std::size_t at = 0; at < KINDS; ++at)
            if (kind.equal(kinds_[at])) return static_cast<std::int32_t>(at);
        throw std::invalid_argument("a name is of a kind that patterns do not know");
    }

    nb::object as_mention(const nb::str &text, const Mention &one) const {
        auto *type = reinterpret_cast<PyTypeObject *>(mention_.ptr());
        const nb::object made = nb::steal(type->tp_alloc(type, 0));
        const nb::object name = nb::steal(PyUnicode_Substring(text.ptr(), static_cast<Py_ssize_t>(one.start), static_cast<Py_ssize_t>(one.end)));
        if (!made.is_valid() || !name.is_valid()) throw nb::python_error();
        name_.fill(made.ptr(), name);
        kind_.fill(made.ptr(), kinds_[static_cast<std::size_t>(one.kind)]);
        start_.fill(made.ptr(), nb::int_(one.start));
        end_.fill(made.ptr(), nb::int_(one.end));
        description_.fill(made.ptr(), empty_);
        // It holds texts and numbers: the collector need not look for a way back to it.
        if (PyObject_IS_GC(made.ptr())) PyObject_GC_UnTrack(made.ptr());
        return made;
    }

    nb::object lexicon_, words_;
    nb::list kinds_;
    nb::object mention_, kind_of_, empty_;
    Slot name_{mention_, "name"}, kind_{mention_, "kind"}, start_{mention_, "start"}, end_{mention_, "end"}, description_{mention_, "description"};
};

} // namespace

void bind_names(nb::module_ &module) {
    nb::class_<Lexicon>(module, "Lexicon", "Sets of words that tell what names are.")
        .def(nb::init<const nb::dict &, const nb::dict &, const nb::dict &, const nb::dict &>(), nb::arg("sets"), nb::arg("kinds"),
             nb::arg("definitions"), nb::arg("languages"))
        .def("names", &names_in, nb::arg("text"), nb::arg("language"), nb::arg("taken"),
             "(start, end, kind, whether it is none if it is a number) of a text's names; None for one that is left to the twin.")
        .def("is_number_word", [](const Lexicon &lexicon, const nb::str &word) { return is_number_word(signs_of(Text(word.ptr())), lexicon); },
             nb::arg("word"), "Whether a word is a number.");
    nb::class_<Patterns>(module, "Patterns", "All patterns by which a text tells what it names.")
        .def(nb::init<nb::object, nb::object, const nb::list &, nb::object, nb::object>(), nb::arg("lexicon"), nb::arg("words"),
             nb::arg("kinds"), nb::arg("mention"), nb::arg("kind_of"))
        .def("mentions", &Patterns::mentions_in, nb::arg("text"), nb::arg("shapes"), nb::arg("taken"), nb::arg("speakers"), nb::arg("head"),
             nb::arg("phrases"), nb::arg("longest"), nb::arg("most"),
             "What a text names, in order; None for one that is left to the twin.");
}

} // namespace monograph
