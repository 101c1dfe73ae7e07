#include "walk.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace monograph {

namespace {

constexpr double HALF = 0.5; // What a cosine counts beside the words of a clause.
constexpr double LOWEST = -std::numeric_limits<double>::infinity();

// Scores, standardised and weighted, added up; a chunk that a ranking lacks counts there as its lowest.
std::vector<double> fused(const std::vector<Ranking> &rankings, std::size_t count) {
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

} // namespace

Walk::Walk(std::vector<double> weights, Models models) : weights_(std::move(weights)), models_(models) {
    if (weights_.size() > AskedWords::MOST) throw std::invalid_argument("a question has 64 words at most");
}

void Walk::learn(std::int64_t row, std::int64_t document, std::uint64_t held) {
    if (!places_.add(row)) throw std::invalid_argument("a chunk that is known is not learnt again");
    documents_.push_back(std::max<std::int64_t>(document, 0));
    held_.push_back(document < 0 ? 0 : held & every_word());
    own_.push_back(0.0);
    total_.push_back(0.0);
    clause_.push_back(0.0);
    found_.push_back(0);
}

void Walk::start(const std::vector<Ranking> &rankings, const std::vector<Clause> &clauses, const std::vector<Place> &held,
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
        own_[at] = total_[at] = models_.found.probability({scores[at], clause_[at], by_title, share, fit, rarity, by_beginning, naming});
        found_[at] = 1;
    }
}

const std::vector<std::int64_t> &Walk::begin(std::size_t starts, std::vector<Edge> edges) {
    starts_ = starts;
    edges_ = std::move(edges);
    leads_.clear();
    heads_.clear();
    for (const Edge &one : edges_) heads_.push_back(one.head);
    std::sort(heads_.begin(), heads_.end());
    heads_.erase(std::unique(heads_.begin(), heads_.end()), heads_.end());
    return heads_;
}

std::vector<std::int64_t> Walk::lead(std::vector<Leads> leads) {
    if (leads.size() != heads_.size()) throw std::invalid_argument("give where each of the entities leads");
    leads_ = std::move(leads);
    Places missing;
    const auto look = [&](const std::vector<std::int64_t> &rows) {
        for (const std::int64_t row : rows)
            if (places_.of(row) == Places::NONE) missing.add(row);
    };
    for (const Leads &one : leads_) {
        look(one.documents);
        look(one.others);
    }
    return missing.rows();
}

bool Walk::follow() {
    std::vector<Targets> targets(leads_.size());
    for (std::size_t at = 0; at < leads_.size(); ++at)
        if (!find(leads_[at].documents, targets[at].documents) || !find(leads_[at].others, targets[at].others)) return false;
    std::vector<std::size_t> heads; // Of each edge, its number.
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
    begin(0, {}); // Nothing is left to follow.
    return true;
}

bool Walk::find(const std::vector<std::int64_t> &rows, std::vector<Place> &places) const {
    places.reserve(rows.size());
    for (const std::int64_t row : rows) {
        places.push_back(places_.of(row));
        if (places.back() == Places::NONE) return false;
    }
    return true;
}

void Walk::define(const Edge &edge, const Leads &leads, const std::vector<Place> &targets) {
    if (edge.own > 0.0) return; // A document that is about the name itself leads to no other.
    for (std::size_t at = 0; at < targets.size(); ++at) {
        const Place target = targets[at];
        if (documents_[target] == documents_[edge.start]) continue;
        const double chance = models_.defines.probability(
            {leads.by_beginning[at], leads.rarity[at], edge.uses, edge.asked, added(edge, target), edge.first, edge.words, edge.beside});
        links_.add(edge.number, target, edge.name, total_[edge.start] * chance);
    }
}

void Walk::mention(const Edge &edge, const std::vector<Place> &targets) {
    for (const Place target : targets) {
        if (documents_[target] == documents_[edge.start]) continue;
        const double chance =
            models_.mentions.probability({edge.uses, edge.own, edge.asked, added(edge, target), edge.words, edge.beside, clause_[target]});
        links_.add(edge.number, target, edge.name, total_[edge.start] * chance);
    }
}

std::vector<Place> Walk::found() const {
    std::vector<Place> made;
    for (std::size_t at = 0; at < found_.size(); ++at)
        if (found_[at]) made.push_back(static_cast<Place>(at));
    return made;
}

Best Walk::highest(std::optional<std::size_t> most) const {
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

std::vector<std::pair<std::size_t, double>> Walk::in_order(const std::vector<Place> &places, const std::vector<double> &logarithms,
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

} // namespace monograph
