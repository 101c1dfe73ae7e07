// Python bindings of a walk's scores, documented in _scoring.pyi.
#include "walk.hpp"
#include "words.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace monograph {

namespace nb = nanobind;

namespace {

using Numbers = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Hashes = nb::ndarray<const std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
// Columns: row, document, the question's words in the chunk as bits, hash of all words of the chunk.
using Records = nb::ndarray<const std::int64_t, nb::shape<-1, 4>, nb::c_contig, nb::device::cpu>;
using Cosines = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
constexpr double LEAST = 1e-9; // Lowest probability of which a logarithm is taken.

template <std::size_t COUNT> using Given = std::pair<double, std::array<double, COUNT>>; // Bias and weights.

template <std::size_t COUNT> Model<COUNT> model(const Given<COUNT> &given) { return {given.first, given.second}; }

std::int64_t number(PyObject *value) {
    const std::int64_t made = PyLong_AsLongLong(value);
    if (made == -1 && PyErr_Occurred()) throw nb::python_error();
    return made;
}

bool truth(PyObject *value) {
    const int made = PyObject_IsTrue(value);
    if (made < 0) throw nb::python_error();
    return made != 0;
}

double real(PyObject *value) {
    const double made = PyFloat_AsDouble(value);
    if (made == -1.0 && PyErr_Occurred()) throw nb::python_error();
    return made;
}

// Items of a list or tuple, which it keeps alive.
class Values {
  public:
    explicit Values(nb::handle given) : held_(nb::steal(PySequence_Fast(given.ptr(), "give a list or a tuple"))) {
        if (!held_.is_valid()) throw nb::python_error();
    }
    std::size_t size() const { return static_cast<std::size_t>(PySequence_Fast_GET_SIZE(held_.ptr())); }
    PyObject *operator[](std::size_t at) const {
        if (at >= size()) throw nb::index_error("there are fewer values");
        return PySequence_Fast_GET_ITEM(held_.ptr(), static_cast<Py_ssize_t>(at));
    }

  private:
    nb::object held_;
};

// Reader of one attribute of many objects. It converts the attribute's name to a Python string once.
class Attribute {
  public:
    explicit Attribute(const char *name) : name_(name) {}
    Values of(nb::handle one) const { return Values(nb::getattr(one, name_)); }

  private:
    nb::str name_;
};

std::vector<std::int64_t> numbers(const Values &values) {
    std::vector<std::int64_t> made(values.size());
    for (std::size_t at = 0; at < made.size(); ++at) made[at] = number(values[at]);
    return made;
}

nb::ndarray<nb::numpy, std::int64_t, nb::ndim<2>> evidence(Hashes asked, nb::handle given, const nb::list &chunks) {
    const Values rows(given);
    if (chunks.size() != rows.size()) throw std::invalid_argument("give the document and the words of each chunk");
    const AskedWords words(asked.data(), asked.size());
    std::vector<std::int64_t> made;
    made.reserve(4 * rows.size());
    for (std::size_t at = 0; at < rows.size(); ++at) {
        const Values chunk(chunks[at]);
        PyObject *packed = chunk[1];
        if (!PyBytes_Check(packed)) throw nb::type_error("words are bytes");
        const auto size = static_cast<std::size_t>(PyBytes_GET_SIZE(packed));
        if (size % sizeof(std::uint32_t)) throw std::invalid_argument("a word is four bytes");
        const AskedWords::Held held =
            words.of(reinterpret_cast<const unsigned char *>(PyBytes_AS_STRING(packed)), size / sizeof(std::uint32_t));
        made.insert(made.end(),
                    {number(rows[at]), number(chunk[0]), static_cast<std::int64_t>(held.bits), static_cast<std::int64_t>(held.hash)});
    }
    auto *values = new std::vector<std::int64_t>(std::move(made));
    const nb::capsule owner(values, [](void *one) noexcept { delete static_cast<std::vector<std::int64_t> *>(one); });
    return {values->data(), {values->size() / 4, 4}, owner};
}

class WalkScores {
  public:
    WalkScores(std::vector<double> weights, std::vector<std::int64_t> asked, const std::tuple<Given<8>, Given<8>, Given<7>> &models,
               double coverage)
        : walk(std::move(weights), {model(std::get<0>(models)), model(std::get<1>(models)), model(std::get<2>(models)), coverage}),
          heads(std::move(asked)) {
        std::sort(heads.begin(), heads.end());
    }

    std::vector<std::int64_t> unknown(nb::handle given) const {
        const Values rows(given);
        Places missing;
        for (std::size_t at = 0; at < rows.size(); ++at)
            if (const std::int64_t row = number(rows[at]); walk.places().of(row) == Places::NONE) missing.add(row);
        return missing.rows();
    }

    void learn(Records records) {
        hashes.reserve(hashes.size() + records.shape(0));
        for (std::size_t at = 0; at < records.shape(0); ++at) {
            walk.learn(records(at, 0), records(at, 1), static_cast<std::uint64_t>(records(at, 2)));
            hashes.push_back(records(at, 3));
        }
    }

    std::vector<std::int64_t> alike(nb::handle given) const {
        const std::vector<Place> places = places_of(given);
        std::vector<std::int64_t> ordered;
        for (const Place one : places) ordered.push_back(hashes[one]);
        std::sort(ordered.begin(), ordered.end());
        std::vector<std::int64_t> made;
        for (const Place one : places) {
            const auto same = std::lower_bound(ordered.begin(), ordered.end(), hashes[one]);
            if (same + 1 != ordered.end() && same[1] == *same) made.push_back(walk.places().rows()[one]);
        }
        return made;
    }

    void start(const nb::list &rankings, const std::vector<std::vector<std::size_t>> &said, const std::pair<Numbers, Cosines> &near,
               const nb::list &subjects, const nb::dict &naming) {
        const auto &[held, cosines] = near;
        if (cosines.shape(0) != said.size() || cosines.shape(1) != held.size())
            throw std::invalid_argument("give a row of cosines for each clause, and one for each chunk that has a vector");
        std::vector<Ranking> fused;
        for (nb::handle one : rankings) {
            const Values parts(one), rows(parts[0]), scores(parts[1]);
            if (rows.size() != scores.size()) throw std::invalid_argument("give each row a score");
            Ranking ranking{{}, {}, real(parts[2])};
            for (std::size_t at = 0; at < rows.size(); ++at) {
                ranking.places.push_back(place(rows[at]));
                ranking.scores.push_back(real(scores[at]));
            }
            fused.push_back(std::move(ranking));
        }
        std::vector<Clause> clauses;
        for (std::size_t at = 0; at < said.size(); ++at) {
            // A clause without words counts as a clause with all words.
            std::uint64_t words = said[at].empty() ? ~std::uint64_t{0} : 0;
            for (const std::size_t word : said[at]) {
                if (word >= walk.words()) throw std::invalid_argument("the question has fewer words");
                words |= std::uint64_t{1} << word;
            }
            clauses.push_back({words, cosines.data() + at * held.size()});
        }
        std::vector<Place> with_vector;
        for (std::size_t at = 0; at < held.size(); ++at) with_vector.push_back(place(held(at)));
        std::vector<Named> named(walk.places().size());
        for (const auto [row, share] : naming) named[place(row.ptr())].naming = real(share.ptr());
        for (nb::handle one : subjects) {
            const Values parts(one);
            Named &chunk = named[place(parts[0])];
            if (truth(parts[1])) {
                chunk.by_title = 1.0, chunk.share = real(parts[2]), chunk.fit = real(parts[3]), chunk.rarity = real(parts[4]);
            } else {
                chunk.by_beginning = 1.0;
            }
        }
        walk.start(fused, clauses, with_vector, named);
    }

    std::vector<std::int64_t> begin(nb::handle given, const nb::list &texts, const nb::list &tells) {
        const Values some(given);
        if (texts.size() != some.size() || tells.size() != some.size())
            throw std::invalid_argument("give the text of each start, and what there is to tell of its names");
        const Attribute named("names"), places("sentences"), owns("own");
        std::vector<Edge> edges;
        begun.clear();
        for (std::size_t at = 0; at < some.size(); ++at) {
            const Place start = place(some[at]);
            begun.push_back(number(some[at]));
            const nb::object text = texts[at];
            const Values names = named.of(text), sentences = places.of(text), own = owns.of(text), told(tells[at]);
            if (sentences.size() != names.size() || own.size() != names.size() || told.size() != names.size())
                throw std::invalid_argument("give the sentences of each name, and what there is to tell of it");
            for (std::size_t name = 0; name < names.size(); ++name) {
                // `row` is a NameRow: row, key, uses, head.
                const Values row(names[name]), where(sentences[name]), tell(told[name]);
                bool first = false;
                for (std::size_t one = 0; one < where.size(); ++one) first |= number(where[one]) == 0;
                const std::int64_t head = number(row[3]);
                edges.push_back({at, start, head, number(row[0]), std::log1p(std::max(real(row[2]), 0.0)), is_asked(head) ? 1.0 : 0.0,
                                 truth(own[name]) ? 1.0 : 0.0, first ? 1.0 : 0.0, real(tell[0]) / 4.0, real(tell[1])});
            }
        }
        return walk.begin(some.size(), std::move(edges));
    }

    std::vector<std::int64_t> lead(const nb::list &given) {
        const Attribute documents("documents"), others("others"), by_beginnings("by_beginning"), rarities("rarity");
        std::vector<ChunkLinks> leads;
        leads.reserve(given.size());
        for (nb::handle one : given) {
            ChunkLinks to{numbers(documents.of(one)), numbers(others.of(one)), {}, {}};
            if (!to.documents.empty()) { // Most entities have no documents.
                const Values by_beginning = by_beginnings.of(one), rarity = rarities.of(one);
                if (by_beginning.size() != to.documents.size() || rarity.size() != to.documents.size())
                    throw std::invalid_argument("give what there is to tell of each document");
                for (std::size_t at = 0; at < rarity.size(); ++at) {
                    to.by_beginning.push_back(truth(by_beginning[at]) ? 1.0 : 0.0);
                    to.rarity.push_back(real(rarity[at]));
                }
            }
            leads.push_back(std::move(to));
        }
        return walk.lead(std::move(leads));
    }

    void follow() {
        if (!walk.follow()) throw nb::key_error("a chunk that an entity leads to is not known");
        starts.insert(starts.end(), begun.begin(), begun.end());
        begun.clear();
    }

    std::pair<nb::dict, nb::dict> to(std::int64_t row) const {
        nb::dict led, through;
        if (const Place target = walk.places().of(row); target != Places::NONE)
            for (const Link &one : walk.to(target)) {
                led[nb::int_(starts[one.start])] = one.chance;
                through[nb::int_(starts[one.start])] = one.name;
            }
        return {led, through};
    }

    double own(std::int64_t row) const {
        const Place found = walk.places().of(row);
        return found == Places::NONE ? 0.0 : walk.own(found);
    }

    double chance(std::int64_t row) const {
        const Place found = walk.places().of(row);
        return found == Places::NONE ? 0.0 : walk.total(found);
    }

    nb::dict chances() const {
        nb::dict made;
        for (const Place one : walk.found()) made[nb::int_(walk.places().rows()[one])] = walk.total(one);
        return made;
    }

    std::tuple<std::vector<std::int64_t>, std::vector<double>, std::vector<std::int64_t>> highest(std::optional<std::size_t> most) const {
        const Best best = walk.highest(most);
        std::vector<double> chances;
        for (const Place one : best.places) chances.push_back(walk.total(one));
        return {rows_of(best.places), std::move(chances), rows_of(best.tied)};
    }

    std::vector<std::pair<std::int64_t, double>> in_order(nb::handle given, const std::vector<double> &logarithms,
                                                          std::optional<std::size_t> most) const {
        const std::vector<Place> places = places_of(given);
        if (logarithms.size() != places.size()) throw std::invalid_argument("give the logarithm of each chunk");
        std::vector<std::pair<std::int64_t, double>> made;
        for (const auto &[at, value] : walk.in_order(places, logarithms, most.value_or(places.size())))
            made.emplace_back(walk.places().rows()[places[at]], value);
        return made;
    }

    std::vector<double> logarithms(nb::handle rows) const {
        std::vector<double> made;
        for (const Place one : places_of(rows)) made.push_back(std::log(std::max(walk.total(one), LEAST)));
        return made;
    }

  private:
    Place place(PyObject *row) const { return place(number(row)); }
    Place place(std::int64_t row) const {
        const Place found = walk.places().of(row);
        if (found == Places::NONE) throw nb::key_error(std::to_string(row).c_str());
        return found;
    }

    bool is_asked(std::int64_t head) const { return std::binary_search(heads.begin(), heads.end(), head); }

    std::vector<Place> places_of(nb::handle given) const {
        const Values rows(given);
        std::vector<Place> made(rows.size());
        for (std::size_t at = 0; at < rows.size(); ++at) made[at] = place(rows[at]);
        return made;
    }

    std::vector<std::int64_t> rows_of(const std::vector<Place> &places) const {
        std::vector<std::int64_t> made(places.size());
        std::transform(places.begin(), places.end(), made.begin(), [&](Place one) { return walk.places().rows()[one]; });
        return made;
    }

    Walk walk;
    std::vector<std::int64_t> hashes;        // Hash of all words of each learnt chunk, by place.
    std::vector<std::int64_t> heads;         // Rows of the heads of the entities that the question names, ascending.
    std::vector<std::int64_t> starts, begun; // Rows of the starts of earlier hops, and of this hop.
};

} // namespace

} // namespace monograph

NB_MODULE(_scoring, module) {
    using namespace monograph;
    module.doc() = "Scores of a walk along the graph.";
    nb::set_leak_warnings(false);
    module.def("evidence", &evidence);
    nb::class_<WalkScores>(module, "WalkScores")
        .def(nb::init<std::vector<double>, std::vector<std::int64_t>, const std::tuple<Given<8>, Given<8>, Given<7>> &, double>())
        .def("unknown", &WalkScores::unknown)
        .def("learn", &WalkScores::learn)
        .def("alike", &WalkScores::alike)
        .def("start", &WalkScores::start)
        .def("begin", &WalkScores::begin)
        .def("lead", &WalkScores::lead)
        .def("follow", &WalkScores::follow)
        .def("to", &WalkScores::to)
        .def("own", &WalkScores::own)
        .def("chance", &WalkScores::chance)
        .def("chances", &WalkScores::chances)
        .def("highest", &WalkScores::highest, nb::arg("most") = nb::none())
        .def("logarithms", &WalkScores::logarithms)
        .def("in_order", &WalkScores::in_order, nb::arg("rows"), nb::arg("logarithms"), nb::arg("most") = nb::none());
}
