// Probabilities that the chunks of a walk along the graph are evidence.
#pragma once
#include "links.hpp"
#include "places.hpp"
#include "sums.hpp"
#include "words.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

namespace monograph {

constexpr double HALF = 0.5; // Weight of the cosine in a clause's score; its words have weight 1.
constexpr double LOWEST = -std::numeric_limits<double>::infinity();

// FOUND, DEFINES, MENTIONS and COVERAGE of monograph.graph.evidence.
struct Models {
    Model<8> found, defines;
    Model<7> mentions;
    double coverage;
};

// Chunks that a retriever found, with their scores, and the weight of the ranking.
struct Ranking {
    std::vector<Place> places;
    std::vector<double> scores;
    double weight;
};

// Returns for each of `count` chunks the weighted sum of its standardised scores. A chunk that a ranking lacks counts
// with the ranking's lowest score.
inline std::vector<double> fused(const std::vector<Ranking> &rankings, std::size_t count) {
    std::vector<double> totals(count), shares;
    for (const Ranking &one : rankings) {
        if (one.scores.empty()) continue;
        std::vector<double> scores = one.scores;
        standardise(scores);
        shares.assign(count, *std::min_element(scores.begin(), scores.end()));
        for (std::size_t at = 0; at < scores.size(); ++at) shares[one.places[at]] = scores[at];
        for (std::size_t at = 0; at < count; ++at) totals[at] += one.weight * shares[at];
    }
    return totals;
}

// A clause of the question.
struct Clause {
    std::uint64_t words;  // Bit i is 1 if the clause has word i of the question.
    const float *cosines; // Cosines of the chunks that have a vector.
};

// Features 3 to 8 of monograph.graph.evidence.FOUND: how a chunk matches names of the question.
struct Named {
    double by_title, share, fit, rarity, by_beginning, naming;
};

// A name in a start whose links are followed. The doubles are features of evidence.DEFINES and evidence.MENTIONS;
// `own` is 1 if the start's document is about the name.
struct Edge {
    std::size_t number; // Index of the start in this hop.
    Place start;
    std::int64_t head, name; // Rows of the head of the name's entity, and of the name.
    double uses, asked, own, first, words, beside;
};

// Links of an entity to chunks, as rows: see monograph.search.names.ChunkLinks.
struct ChunkLinks {
    std::vector<std::int64_t> documents, others;
    std::vector<double> by_beginning, rarity; // For each of `documents`.
};

// The most probable chunks.
struct Best {
    std::vector<Place> places; // Highest first.
    std::vector<Place> tied;   // The chunks among them whose probability another one has.
};

// State of a walk. Call learn() and start() first, then begin(), lead(), learn() and follow() for each hop.
class Walk {
  public:
    // `weights` has the weight of each word of the question, at most 64.
    Walk(std::vector<double> weights, Models models) : weights_(std::move(weights)), models_(models) {
        if (weights_.size() > AskedWords::MOST) throw std::invalid_argument("a question has 64 words at most");
    }

    const Places &places() const { return places_; }
    std::size_t words() const { return weights_.size(); }
    double own(Place place) const { return own_[place]; }
    double total(Place place) const { return total_[place]; }

    // Adds a chunk. Bit i of `held` is 1 if it contains word i of the question. A `document` below 0 means that the
    // chunk is not in the graph.
    void learn(std::int64_t row, std::int64_t document, std::uint64_t held) {
        if (!places_.add(row)) throw std::invalid_argument("a chunk that is known is not learnt again");
        documents_.push_back(std::max<std::int64_t>(document, 0));
        held_.push_back(document < 0 ? 0 : held & every_word());
        own_.push_back(0.0);
        total_.push_back(0.0);
        clause_.push_back(0.0);
        found_.push_back(0);
    }

    // Computes the probability of every learnt chunk without links. `held` are the places of the chunks that have a
    // vector; `named` is indexed by place.
    void start(const std::vector<Ranking> &rankings, const std::vector<Clause> &clauses, const std::vector<Place> &held,
               const std::vector<Named> &named) {
        const std::size_t count = places_.size();
        const std::vector<double> scores = fused(rankings, count);
        std::vector<double> covered(count), cosines(count);
        clause_.assign(count, LOWEST);
        for (const Clause &one : clauses) {
            for (std::size_t at = 0; at < count; ++at) covered[at] = weight(held_[at] & one.words);
            std::fill(cosines.begin(), cosines.end(), 0.0);
            for (std::size_t at = 0; at < held.size(); ++at) cosines[held[at]] = one.cosines[at];
            standardise(covered);
            standardise(cosines);
            for (std::size_t at = 0; at < count; ++at) clause_[at] = std::max(clause_[at], covered[at] + HALF * cosines[at]);
        }
        for (std::size_t at = 0; at < count; ++at) {
            const auto &[by_title, share, fit, rarity, by_beginning, naming] = named[at];
            own_[at] = total_[at] =
                models_.found.probability({scores[at], clause_[at], by_title, share, fit, rarity, by_beginning, naming});
            found_[at] = 1;
        }
    }

    // Begins a hop. `edges` are in order of start. Returns the heads of their entities, ascending.
    const std::vector<std::int64_t> &begin(std::size_t starts, std::vector<Edge> edges) {
        starts_ = starts;
        edges_ = std::move(edges);
        leads_.clear();
        heads_.clear();
        for (const Edge &one : edges_) heads_.push_back(one.head);
        std::sort(heads_.begin(), heads_.end());
        heads_.erase(std::unique(heads_.begin(), heads_.end()), heads_.end());
        return heads_;
    }

    // Takes the links of these entities, in the order of begin(). Returns the rows of linked chunks to be learnt.
    std::vector<std::int64_t> lead(std::vector<ChunkLinks> leads) {
        if (leads.size() != heads_.size()) throw std::invalid_argument("give where each of the entities leads");
        leads_ = std::move(leads);
        Places missing;
        const auto look = [&](const std::vector<std::int64_t> &rows) {
            for (const std::int64_t row : rows)
                if (places_.of(row) == Places::NONE) missing.add(row);
        };
        for (const ChunkLinks &one : leads_) {
            look(one.documents);
            look(one.others);
        }
        return missing.rows();
    }

    // Adds the links of the hop, and updates the probabilities. Returns false, without a change, if a linked chunk is
    // not learnt or lead() was not called.
    bool follow() {
        std::vector<Targets> targets(leads_.size());
        for (std::size_t at = 0; at < leads_.size(); ++at)
            if (!find(leads_[at].documents, targets[at].documents) || !find(leads_[at].others, targets[at].others)) return false;
        std::vector<std::size_t> heads; // For each edge, the index of its head in heads_.
        for (const Edge &one : edges_)
            heads.push_back(static_cast<std::size_t>(std::lower_bound(heads_.begin(), heads_.end(), one.head) - heads_.begin()));
        if (leads_.size() != heads_.size()) return false;
        links_.begin(starts_, places_.size());
        for (std::size_t at = 0; at < edges_.size(); ++at) define(edges_[at], leads_[heads[at]], targets[heads[at]].documents);
        for (std::size_t at = 0; at < edges_.size(); ++at) mention(edges_[at], targets[heads[at]].others);
        while (missed_.size() < places_.size()) missed_.push_back(1.0 - own_[missed_.size()]);
        for (const Place target : links_.add_up(missed_)) {
            total_[target] = 1.0 - missed_[target];
            found_[target] = 1;
        }
        begin(0, {}); // The hop is done.
        return true;
    }

    std::vector<Link> to(Place target) const { return links_.to(target); }

    // Returns the chunks that start() scored or that links reached.
    std::vector<Place> found() const {
        std::vector<Place> made;
        for (std::size_t at = 0; at < found_.size(); ++at)
            if (found_[at]) made.push_back(static_cast<Place>(at));
        return made;
    }

    // Returns the `most` most probable chunks, and all that tie with the last of them.
    Best highest(std::optional<std::size_t> most) const {
        Best best{found(), {}};
        auto &places = best.places;
        const auto is_better = [&](Place left, Place right) {
            return total_[left] != total_[right] ? total_[left] > total_[right] : left < right;
        };
        if (most && *most > 0 && *most < places.size()) {
            std::nth_element(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(*most - 1), places.end(), is_better);
            const double least = total_[places[*most - 1]];
            std::erase_if(places, [&](Place one) { return total_[one] < least; });
        }
        std::sort(places.begin(), places.end(), is_better);
        for (std::size_t at = 0; at < places.size(); ++at) {
            const bool as_before = at && total_[places[at - 1]] == total_[places[at]];
            const bool as_behind = at + 1 < places.size() && total_[places[at + 1]] == total_[places[at]];
            if (as_before || as_behind) best.tied.push_back(places[at]);
        }
        return best;
    }

    // Orders chunks so that each adds most to those before it. Returns (index in `places`, value) of the first `most`.
    // Values never rise.
    std::vector<std::pair<std::size_t, double>> in_order(const std::vector<Place> &places, const std::vector<double> &logarithms,
                                                         std::size_t most) const {
        std::vector<std::pair<std::size_t, double>> ordered;
        std::vector<char> taken(places.size());
        std::uint64_t covered = 0;
        while (ordered.size() < std::min(most, places.size())) {
            std::size_t best = places.size();
            double highest = LOWEST;
            for (std::size_t at = 0; at < places.size(); ++at) {
                if (taken[at]) continue;
                const double value = logarithms[at] + models_.coverage * weight(held_[places[at]] & ~covered);
                if (best == places.size() || value > highest) best = at, highest = value;
            }
            ordered.emplace_back(best, highest);
            taken[best] = 1;
            covered |= held_[places[best]];
        }
        return ordered;
    }

  private:
    // Links of an entity, as places.
    struct Targets {
        std::vector<Place> documents, others;
    };

    // Appends the places of rows; returns false if a row is not learnt.
    bool find(const std::vector<std::int64_t> &rows, std::vector<Place> &places) const {
        places.reserve(rows.size());
        for (const std::int64_t row : rows) {
            places.push_back(places_.of(row));
            if (places.back() == Places::NONE) return false;
        }
        return true;
    }

    // Adds the links of an edge to chunks of documents about its entity.
    void define(const Edge &edge, const ChunkLinks &leads, const std::vector<Place> &targets) {
        if (edge.own > 0.0) return; // From a document about the name itself, no link leads to another such document.
        for (std::size_t at = 0; at < targets.size(); ++at) {
            const Place target = targets[at];
            if (documents_[target] == documents_[edge.start]) continue;
            const double chance = models_.defines.probability({leads.by_beginning[at], leads.rarity[at], edge.uses, edge.asked,
                                                               added(edge, target), edge.first, edge.words, edge.beside});
            links_.add(edge.number, target, edge.name, total_[edge.start] * chance);
        }
    }

    // Adds the links of an edge to chunks that only mention its entity.
    void mention(const Edge &edge, const std::vector<Place> &targets) {
        for (const Place target : targets) {
            if (documents_[target] == documents_[edge.start]) continue;
            const double chance = models_.mentions.probability(
                {edge.uses, edge.own, edge.asked, added(edge, target), edge.words, edge.beside, clause_[target]});
            links_.add(edge.number, target, edge.name, total_[edge.start] * chance);
        }
    }

    // Returns the weight of the question's words that the target contains and the start does not.
    double added(const Edge &edge, Place target) const { return weight(held_[target] & ~held_[edge.start]); }
    // Returns the sum of the weights of words, given as bits.
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
    // documents_ to found_ are indexed by place. missed_ is the probability that a chunk is no evidence.
    std::vector<std::int64_t> documents_;
    std::vector<std::uint64_t> held_;
    std::vector<double> own_, total_, clause_, missed_;
    std::vector<char> found_;
    Links links_;
    std::vector<Edge> edges_;
    std::vector<std::int64_t> heads_;
    std::vector<ChunkLinks> leads_; // For each of heads_.
    std::size_t starts_ = 0;        // Number of starts in this hop.
};

} // namespace monograph
