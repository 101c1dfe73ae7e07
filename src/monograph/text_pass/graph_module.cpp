// Python interface to the names of the graph. It keeps the interpreter's lock, because it works on Python objects.
#include "bindings.hpp"
#include "chunk_names.hpp"
#include "keys.hpp"
#include "sentences.hpp"
#include "slots.hpp"
#include "text.hpp"

#include <nanobind/stl/string.h>

#include <stdexcept>
#include <unordered_map>
#include <utility>

namespace monograph {

namespace {

constexpr std::size_t LEAST_DIGITS = 5; // Least digits of a date with a year.
// Prefixes after which a name is not split: McDonald.
constexpr View PREFIXES[] = {U"Mc", U"Mac", U"De", U"Di", U"Du", U"La", U"Le", U"Van", U"Von"};

bool is_capital(char32_t code) { return code >= U'A' && code <= U'Z'; }

// Write the parts of a name that is one word, as in chats (JaneDoe), to ``out``. Return false for other names.
bool in_parts(const Text &name, std::u32string &out) {
    const Unicode &unicode = Unicode::tables();
    out.clear();
    std::size_t begin = 0, parts = 0, shortest = name.size();
    View prefix;
    for (std::size_t at = 0; at < name.size(); ++at) {
        const auto code = static_cast<char32_t>(name[at]);
        if (code == U' ') return false;
        const char32_t before = at ? static_cast<char32_t>(name[at - 1]) : U' ';
        if (is_capital(code) && unicode.is(before, WORD) && !unicode.is(before, DECIMAL) && before != U'_' && !is_capital(before)) {
            shortest = std::min(shortest, at - begin);
            begin = at;
            ++parts;
            if (parts == 1)
                for (const View one : PREFIXES)
                    if (View(out) == one) return false;
            out += U' ';
        }
        out += code;
    }
    return parts > 0 && std::min(shortest, name.size() - begin) > 1;
}

// Return whether a name may be a date with a year.
bool may_hold_day(const Text &name) {
    std::size_t digits = 0;
    for (std::size_t at = 0; at < name.size(); ++at) digits += Unicode::tables().is(name[at], DECIMAL);
    return digits >= LEAST_DIGITS;
}

// Finds the names of a document's chunks, and their keys.
class Naming {
  public:
    // ``named`` is the type of the returned names. ``ask(name, kind)`` returns the key of a day.
    Naming(const nb::dict &sets, const nb::list &kinds, std::size_t longest_key, nb::object named, nb::object mention, nb::object ask)
        : lexicon_(sets, nb::dict()), kinds_(kinds), longest_(longest_key), named_(std::move(named)), mention_(std::move(mention)),
          ask_(std::move(ask)) {
        if (!PyType_Check(named_.ptr()) || !PyType_IsSubtype(reinterpret_cast<PyTypeObject *>(named_.ptr()), &PyTuple_Type) ||
            kinds.size() > 64)
            throw std::invalid_argument("names are tuples, of 64 kinds at most");
    }

    // Return (names, mentions in brackets) of each chunk; see in_brackets().
    nb::object of_chunks(const nb::list &texts, const nb::list &mentions, const nb::object &cannot_link) const {
        const Texts written(texts);
        if (mentions.size() != written.size()) throw std::invalid_argument("give the mentions of each text");
        Keys keys;
        const auto found = read_all(mentions, keys);
        const auto full = monograph::full_names(keys, lexicon_, apart(cannot_link));
        ChunkNames names(keys, full, lexicon_, std::uint64_t{1} << person_ | std::uint64_t{1} << name_);
        std::vector<nb::object> made(keys.size());
        nb::list chunks;
        for (std::size_t at = 0; at < written.size(); ++at) {
            const auto own = names.of(found[at], sentence_starts(written[at]));
            chunks.append(nb::make_tuple(as_tuple(own, keys, made), in_brackets(written[at], found[at])));
        }
        return chunks;
    }

    // Return the full names of a document's persons, by full name and by short form.
    nb::dict full_names(const nb::list &mentions, const nb::object &cannot_link) const {
        Keys keys;
        read_all(mentions, keys);
        const auto full = monograph::full_names(keys, lexicon_, apart(cannot_link));
        nb::dict made;
        for (std::uint32_t one = 0; one < keys.size(); ++one)
            if (full[one] != Keys::NONE) made[as_str(std::u32string(keys[one]))] = as_str(std::u32string(keys[full[one]]));
        return made;
    }

  private:
    // Return the mentions of each chunk, and add their keys to ``keys``.
    std::vector<std::vector<Occurrence>> read_all(const nb::list &mentions, Keys &keys) const {
        std::vector<std::vector<Occurrence>> found(mentions.size());
        for (std::size_t at = 0; at < found.size(); ++at)
            if (!read(nb::borrow<nb::object>(mentions[at]), keys, found[at]))
                throw std::invalid_argument("a mention is of a kind or at a place that there is not");
        return found;
    }

    // Append the mentions of one chunk. Return false for an invalid mention.
    bool read(const nb::object &mentions, Keys &keys, std::vector<Occurrence> &out) const {
        if (!PyTuple_Check(mentions.ptr())) return false;
        for (nb::handle one : nb::borrow<nb::tuple>(mentions)) {
            if (Py_TYPE(one.ptr()) != reinterpret_cast<PyTypeObject *>(mention_.ptr())) return false;
            const nb::object name = nb::borrow(own_name_.of(one.ptr())), kind = nb::borrow(kind_.of(one.ptr()));
            if (!name.is_valid() || !kind.is_valid() || !PyUnicode_Check(name.ptr())) return false;
            const auto its_kind = kinds_.find(kind), start = place_of(start_.of(one.ptr())), end = place_of(end_.of(one.ptr()));
            if (!its_kind || !start || !end) return false;
            Occurrence found{0, static_cast<std::uint8_t>(*its_kind), *start, *end};
            found.key = key_of_mention(name, kind, found.kind, keys);
            if (found.kind == person_) keys.tell(found.key, Keys::TOLD_PERSON);
            if (found.kind == name_) keys.tell(found.key, Keys::TOLD_NAME);
            out.push_back(found);
        }
        return true;
    }

    std::uint32_t key_of_mention(const nb::object &name, const nb::object &kind, std::uint8_t place, Keys &keys) const {
        thread_local std::u32string key, parts;
        const Text text(name.ptr());
        const bool is_parted = place == person_ && in_parts(text, parts);
        const bool is_asked = place == date_ && may_hold_day(text);
        if (!is_asked) {
            monograph::key_of((is_parted ? Text(parts) : text).head(2 * longest_), longest_, key);
            return keys.number(key);
        }
        const nb::object told = ask_(name, kind);
        if (!PyUnicode_Check(told.ptr())) throw nb::type_error("a key is a str");
        const Text answer(told.ptr());
        key.clear();
        for (std::size_t at = 0; at < answer.size(); ++at) key += static_cast<char32_t>(answer[at]);
        return keys.number(key);
    }

    // Return a function that tests whether ``cannot_link`` contains a pair of keys.
    static std::function<bool(View, View)> apart(const nb::object &cannot_link) {
        const bool is_any = nb::len(cannot_link) > 0;
        return [cannot_link, is_any](View one, View other) {
            if (!is_any) return false;
            const nb::tuple pair = nb::make_tuple(as_str(std::u32string(one)), as_str(std::u32string(other)));
            const int found = PySequence_Contains(cannot_link.ptr(), pair.ptr());
            if (found < 0) throw nb::python_error();
            return found == 1;
        };
    }

    // Return names as a tuple. ``made`` caches the Python strings of keys.
    nb::object as_tuple(const std::vector<NameOfChunk> &names, const Keys &keys, std::vector<nb::object> &made) const {
        nb::object all = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(names.size())));
        auto *type = reinterpret_cast<PyTypeObject *>(named_.ptr());
        for (std::size_t at = 0; at < names.size(); ++at) {
            const NameOfChunk &one = names[at];
            if (!made[one.key].is_valid()) made[one.key] = as_str(std::u32string(keys[one.key]));
            PyObject *name = type->tp_alloc(type, 4);
            if (!name) throw nb::python_error();
            PyTuple_SET_ITEM(name, 0, nb::object(made[one.key]).release().ptr());
            PyTuple_SET_ITEM(name, 1, kinds_[one.kind].release().ptr());
            PyTuple_SET_ITEM(name, 2, PyLong_FromLong(one.first));
            PyTuple_SET_ITEM(name, 3, PyLong_FromLong(one.second));
            PyObject_GC_UnTrack(name); // It has only str and int, so it is in no reference cycle.
            PyTuple_SET_ITEM(all.ptr(), static_cast<Py_ssize_t>(at), name);
        }
        return all;
    }

    // Return (mention, mention in brackets after it) pairs, by index: North Atlantic Treaty Organization (NATO).
    static nb::list in_brackets(const Text &text, const std::vector<Occurrence> &mentions) {
        nb::list pairs;
        std::unordered_map<std::size_t, std::size_t> by_start; // Last mention at each start.
        for (std::size_t at = 0; at < mentions.size(); ++at) {
            const std::size_t end = mentions[at].end;
            if (end + 1 >= text.size() || text[end] != ' ' || text[end + 1] != '(') continue;
            if (by_start.empty())
                for (std::size_t one = 0; one < mentions.size(); ++one)
                    // The span of a day may be empty.
                    if (mentions[one].start != mentions[one].end) by_start[mentions[one].start] = one;
            const auto within = by_start.find(end + 2);
            if (within == by_start.end()) continue;
            const std::size_t last = mentions[within->second].end;
            if (last < text.size() && text[last] == ')') pairs.append(nb::make_tuple(at, within->second));
        }
        return pairs;
    }

    Lexicon lexicon_;
    Kinds kinds_;
    std::size_t longest_;
    nb::object named_, mention_, ask_;
    Slot own_name_{mention_, "name"}, kind_{mention_, "kind"}, start_{mention_, "start"}, end_{mention_, "end"};
    std::size_t person_ = kinds_.named("person"), name_ = kinds_.named("name"), date_ = kinds_.named("date");
};

} // namespace

void bind_graph(nb::module_ &module) {
    nb::class_<Naming>(module, "Naming")
        .def(nb::init<const nb::dict &, const nb::list &, std::size_t, nb::object, nb::object, nb::object>())
        .def("of_chunks", &Naming::of_chunks)
        .def("full_names", &Naming::full_names);
}

} // namespace monograph
