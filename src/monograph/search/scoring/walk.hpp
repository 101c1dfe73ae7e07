// Chances of chunks that a walk along the graph finds.
#pragma once
#include "links.hpp"
#include "places.hpp"
#include "sums.hpp"
#include "words.hpp"

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

// A name in a start that leads on: see monograph.search.walk.
struct Edge {
    std::size_t number; // Of the start among those that are followed at once.
    Place start;
    std::int64_t head, name;
    double uses, asked, own, first, words, beside;
};

// Where an entity leads, by row: see monograph.search.names.
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
    // With the weight of each of the question's words, 64 at most.
    Walk(std::vector<double> weights, Models models);

    const Places &places() const { return places_; }
    std::size_t words() const { return weights_.size(); }
    double own(Place place) const { return own_[place]; }
    double total(Place place) const { return total_[place]; }

    // A chunk that is not known yet, with the question's words in it as bits; ``document`` below 0 where it is not there.
    void learn(std::int64_t row, std::int64_t document, std::uint64_t held);

    // All that is known is found by itself. ``held`` are the places of the chunks that have a vector, ``named`` is by place.
    void start(const std::vector<Ranking> &rankings, const std::vector<Clause> &clauses, const std::vector<Place> &held,
               const std::vector<Named> &named);

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
    std::vector<std::pair<std::size_t, double>> in_order(const std::vector<Place> &places, const std::vector<double> &logarithms,
                                                         std::size_t most) const;

  private:
    // Of an entity: the places of the chunks that it leads to.
    struct Targets {
        std::vector<Place> documents, others;
    };

    bool find(const std::vector<std::int64_t> &rows, std::vector<Place> &places) const;
    void define(const Edge &edge, const Leads &leads, const std::vector<Place> &targets);
    void mention(const Edge &edge, const std::vector<Place> &targets);
    // The share of the question's words that only the target has.
    double added(const Edge &edge, Place target) const { return weight(held_[target] & ~held_[edge.start]); }
    // What words weigh, added up by their places.
    double weight(std::uint64_t words) const {
        double sum = 0.0;
        for (std::size_t at = 0; words; ++at, words >>= 1)
            if (words & 1) sum += weights_[at];
        return sum;
    }
    std::uint64_t every_word() const {
        return weights_.size() == AskedWords::MOST ? ~std::uint64_t{0} : (std::uint64_t{1} << weights_.size()) - 1;
    }

    std::vector<double> weights_;
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
