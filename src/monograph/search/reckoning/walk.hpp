// What a walk along the graph knows of chunks, and what it reckons of them.
#pragma once
#include "links.hpp"
#include "places.hpp"
#include "sums.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace monograph {

// The models of monograph.graph.evidence, and what covering a question's words counts.
struct Models {
    Model<8> found, defines;
    Model<7> mentions;
    double coverage;
};

// A question's words: hashes, ascending, 64 at most; and what each weighs.
class Words {
  public:
    static constexpr std::size_t MOST = 64;

    Words(std::vector<std::uint32_t> hashes, std::vector<double> weights);

    std::size_t size() const { return hashes_.size(); }

    // Which of them stand among so many words of a chunk, four bytes each, the lowest first; as bits by their places.
    std::uint64_t held(const unsigned char *packed, std::size_t count) const;

    // What those at some places weigh, added up by their places.
    double weight(std::uint64_t places) const {
        double sum = 0.0;
        for (std::size_t at = 0; places; ++at, places >>= 1)
            if (places & 1) sum += weights_[at];
        return sum;
    }

  private:
    static constexpr std::uint32_t LAST_BITS = 0xFFF;

    std::vector<std::uint32_t> hashes_;
    std::vector<double> weights_;
    std::array<bool, LAST_BITS + 1> may_be_{}; // By the last bits of a hash: all words but few are told by them not to be asked for.
};

struct Ranking {
    std::vector<Place> places;
    std::vector<double> scores;
    double weight;
};

// Of a clause: which words of the question it has, and the cosines of the chunks that have a vector.
struct Clause {
    std::uint64_t words;
    const float *cosines;
};

// Of a chunk that is found by itself: the features that come from names of the question.
struct Named {
    double by_title, share, fit, rarity, by_beginning, naming;
};

// A name in a start that leads on: see monograph.search.reckoning.outlinks.
struct Edge {
    std::size_t number; // Of the start among those that are followed at once.
    Place start;
    std::int64_t head, name;
    double uses, asked, own, first, words, beside;
};

// Where an entity leads, by row: see monograph.search.leads.
struct Leads {
    std::vector<std::int64_t> documents, others;
    std::vector<double> by_beginning, rarity; // Of the documents.
};

struct Best {
    std::vector<Place> places; // Highest first.
    std::vector<Place> tied;   // Those of them whose chance another has.
};

class Walk {
  public:
    Walk(Words words, Models models) : words_(std::move(words)), models_(models) {}

    const Places &places() const { return places_; }
    const Words &words() const { return words_; }
    double own(Place place) const { return own_[place]; }
    double total(Place place) const { return total_[place]; }

    // A chunk that is not known yet; ``document`` below 0 where it is not there.
    void learn(std::int64_t row, std::int64_t document, std::uint64_t held);

    // All that is known is found by itself. ``held`` are the places of the chunks that have a vector, ``named`` is by place.
    void start(const std::vector<Ranking> &rankings, const std::vector<Clause> &clauses, const std::vector<Place> &held, const std::vector<Named> &named);

    // The names in so many starts, start by start; the entities that they lead to, ascending.
    const std::vector<std::int64_t> &begin(std::size_t starts, std::vector<Edge> edges);

    // Where these entities lead; the chunks that are not known, which are to be learnt.
    std::vector<std::int64_t> lead(std::vector<Leads> leads);

    // Add the links to where they lead, and make the chances of chunks anew. False, and nothing is done, where one is not known.
    bool follow();

    std::vector<Link> to(Place target) const { return links_.to(target); }
    std::vector<Place> found() const;

    // The most probable chunks, at most so many, and all that tie with the last.
    Best highest(std::optional<std::size_t> most) const;

    // (place among those given, value) so that each adds most to those before it, the first ones; values never rise.
    std::vector<std::pair<std::size_t, double>> in_order(const std::vector<Place> &places, const std::vector<double> &logarithms, std::size_t most) const;

  private:
    // Of an entity: the places of the chunks that it leads to.
    struct Targets {
        std::vector<Place> documents, others;
    };

    bool find(const std::vector<std::int64_t> &rows, std::vector<Place> &places) const;
    void define(const Edge &edge, const Leads &leads, const std::vector<Place> &targets);
    void mention(const Edge &edge, const std::vector<Place> &targets);
    // The share of the question's words that only the target has.
    double added(const Edge &edge, Place target) const { return words_.weight(held_[target] & ~held_[edge.start]); }

    Words words_;
    Models models_;
    Places places_;
    // By place.
    std::vector<std::int64_t> documents_;
    std::vector<std::uint64_t> held_;
    std::vector<double> own_, total_, clause_, missed_;
    std::vector<char> found_;
    Links links_;
    std::vector<Edge> edges_;
    std::vector<std::int64_t> heads_;
    std::vector<Leads> leads_; // Of each of the heads.
    std::size_t starts_ = 0;
};

} // namespace monograph
