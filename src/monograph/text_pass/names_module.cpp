// Python interface to names and mentions. Mentions are built in bulk: built one by one, they take four times as long,
// and the garbage collector visits them.
#include "bindings.hpp"
#include "names.hpp"
#include "phrases.hpp"
#include "slots.hpp"
#include "text.hpp"
#include "unicode.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

namespace monograph {

namespace {

constexpr std::size_t SHORTEST_NAME = 2;

// Return (start, end, kind) of each name. ``kind_of`` is called if the kind may differ from "name"; "" means no name.
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

constexpr std::size_t LONGEST_WORD = 32;

std::size_t place_in(const nb::object &number) {
    if (const auto place = place_of(number.ptr())) return *place;
    throw std::invalid_argument("a mention has no such place");
}

// Builds mentions, which are instances of a Python class with slots.
class Mentions {
  public:
    Mentions(const nb::list &kinds, nb::object mention) : kinds_(kinds), mention_(std::move(mention)) {}

    // Return a mention, named text[start:end], for each (index of the kind, start, end).
    nb::list made(const nb::str &text, const nb::list &rows) const {
        nb::list made;
        for (nb::handle row : rows) {
            const std::size_t kind = place_in(nb::object(row[0]));
            if (kind >= kinds_.size()) throw std::invalid_argument("a mention is of no kind");
            made.append(mention(text, {place_in(nb::object(row[1])), place_in(nb::object(row[2])), kind, Of::SHAPE}));
        }
        return made;
    }

    // Return a mention for each distinct span, in order of start, longer before shorter, at most ``most``. ``shapes``
    // and ``names`` are (start, end, kind). Of equal spans, the last shape counts; a name replaces a name or a quote.
    // Longer names than ``longest`` characters are dropped. ``phrases`` are spans that become terms unless they have a
    // kind.
    nb::list merged(const nb::str &text, const nb::list &shapes, const nb::list &names, const nb::list &phrases, std::size_t longest,
                    std::size_t most) const {
        std::vector<One> found;
        for (nb::handle one : shapes)
            found.push_back({place_in(nb::object(one[0])), place_in(nb::object(one[1])), kind_of(nb::object(one[2])), Of::SHAPE});
        for (nb::handle one : names) {
            const One name{place_in(nb::object(one[0])), place_in(nb::object(one[1])), kind_of(nb::object(one[2])), Of::NAME};
            if (name.end - name.start <= longest) found.push_back(name);
        }
        for (nb::handle one : phrases) found.push_back({place_in(nb::object(one[0])), place_in(nb::object(one[1])), term_, Of::PHRASE});
        std::stable_sort(found.begin(), found.end(), [](const One &one, const One &other) {
            return one.start != other.start ? one.start < other.start : one.end > other.end;
        });
        std::vector<One> kept;
        for (const One &one : found) {
            if (kept.empty() || kept.back().start != one.start || kept.back().end != one.end) {
                if (kept.size() == most) break;
                kept.push_back(one);
            } else if (one.of == Of::SHAPE) {
                kept.back().kind = one.kind;
            } else if (one.of == Of::NAME && (kept.back().kind == name_ || kept.back().kind == quote_)) {
                // A name in quotation marks is a work, unless its kind is known or it is inside a name.
                const bool is_work =
                    kept.back().kind == quote_ && one.kind == name_ && !is_within_name(Text(text.ptr()), one.start, one.end);
                kept.back().kind = is_work ? work_ : one.kind;
            }
        }
        nb::list made;
        for (const One &one : kept) made.append(mention(text, one));
        return made;
    }

  private:
    enum class Of { SHAPE, NAME, PHRASE };

    // A span, the index of its kind, and its origin.
    struct One {
        std::size_t start, end, kind;
        Of of;
    };

    std::size_t kind_of(const nb::object &kind) const {
        if (const auto found = kinds_.find(kind)) return *found;
        throw std::invalid_argument("a mention is of no kind");
    }

    // Return whether words with capitals are before and after a quotation.
    static bool is_within_name(const Text &text, std::size_t start, std::size_t end) {
        const auto is_capital = [&](std::size_t at) { return at < text.size() && Unicode::tables().is(text[at], UPPER); };
        const std::size_t least = start > LONGEST_WORD ? start - LONGEST_WORD : 0, last = start > 2 ? start - 2 : 0;
        std::size_t word = last;
        while (word > least && text[word - 1] != ' ') --word;
        return word < last && is_capital(word) && is_capital(end + 2);
    }

    nb::object mention(const nb::str &text, const One &one) const {
        auto *type = reinterpret_cast<PyTypeObject *>(mention_.ptr());
        const nb::object made = nb::steal(type->tp_alloc(type, 0));
        const nb::object name =
            nb::steal(PyUnicode_Substring(text.ptr(), static_cast<Py_ssize_t>(one.start), static_cast<Py_ssize_t>(one.end)));
        if (!made.is_valid() || !name.is_valid()) throw nb::python_error();
        name_slot_.fill(made.ptr(), name);
        kind_slot_.fill(made.ptr(), kinds_[one.kind]);
        start_slot_.fill(made.ptr(), nb::int_(one.start));
        end_slot_.fill(made.ptr(), nb::int_(one.end));
        description_slot_.fill(made.ptr(), empty_);
        // It has only str and int, so it is in no reference cycle.
        if (PyObject_IS_GC(made.ptr())) PyObject_GC_UnTrack(made.ptr());
        return made;
    }

    Kinds kinds_;
    nb::object mention_, empty_ = nb::str("");
    std::size_t name_ = kinds_.named("name"), quote_ = kinds_.named("quote"), work_ = kinds_.named("work"), term_ = kinds_.named("term");
    Slot name_slot_{mention_, "name"}, kind_slot_{mention_, "kind"}, start_slot_{mention_, "start"}, end_slot_{mention_, "end"},
        description_slot_{mention_, "description"};
};

} // namespace

void bind_names(nb::module_ &module) {
    nb::class_<Lexicon>(module, "Lexicon")
        .def(nb::init<const nb::dict &, const nb::dict &>())
        .def("names", &names_in)
        .def("language_of", &tell_language)
        .def("key_phrases", &find_key_phrases);
    nb::class_<Mentions>(module, "Mentions")
        .def(nb::init<const nb::list &, nb::object>())
        .def("made", &Mentions::made)
        .def("merged", &Mentions::merged);
}

} // namespace monograph
