// Search of one query in the clusters of an arena, nearest first, until a rule stops it.
#pragma once
#include "arena.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

namespace monograph {

constexpr std::size_t FIRST = 48; // Number of centroids that are sorted at first.

// Stop when each of the last `window` loads had a utility of at most `epsilon`, or after `most` loads. The utility of a
// load is the sum of the weights of its new results.
struct Rule {
    std::vector<double> weights; // By rank. The weight of further ranks is 0.
    double epsilon;
    std::int64_t window, most;
};

// Stored bytes of the parts of a cluster: (address, size).
using Parts = std::vector<std::pair<const void *, std::size_t>>;

// See Course in _kernel.pyi.
class Course {
  public:
    enum : std::int64_t { ENOUGH = -1, ALL = -2, PAUSED = -3 };

    Course(const Arena &arena, const float *query, Pool &given, std::size_t k, Rule rule, const Bitmap &allowed)
        : pool(given), arena_(arena), k_(k), rule_(std::move(rule)), allowed_(allowed), query_(query, arena.centroids().d) {}

    // Continues for at most `most` loads. Returns ENOUGH, ALL, PAUSED, or the number of a cluster without bytes.
    std::int64_t run(std::int64_t most) {
        // Not in the constructor, which holds the interpreter lock.
        if (!query_.tables) query_.tables.emplace(query_.floats.data(), query_.floats.size(), arena_.rotation());
        for (;;) {
            if (enough_) return ENOUGH;
            const auto at = static_cast<std::size_t>(loads);
            if (at >= arena_.centroids().n) return ALL;
            if (most-- <= 0) return PAUSED;
            order(at + 2);
            const auto place = static_cast<std::size_t>(order_[at].row);
            if (const Held *held = arena_.cluster(place)) {
                load(*held, at + 1 < order_.size() ? arena_.cluster(static_cast<std::size_t>(order_[at + 1].row)) : nullptr);
                continue;
            }
            const auto brought = brought_.find(place);
            if (brought == brought_.end()) return arena_.centroids().id(place);
            load(Held(brought->second, arena_.centroids().d), nullptr); // Throws Damaged if the bytes are damaged.
            spent.push_back(arena_.centroids().id(place));
        }
    }

    // Provides the bytes of clusters, by place, instead of those of earlier calls.
    void bring(std::unordered_map<std::size_t, Parts> clusters) {
        brought_ = std::move(clusters);
        spent.clear();
    }

    // Returns the numbers of the clusters among the next `count` that the arena does not have.
    std::vector<std::int64_t> ahead(std::size_t count) {
        std::vector<std::int64_t> names;
        const auto first = static_cast<std::size_t>(loads);
        order(first + count);
        for (std::size_t at = first; at < std::min(order_.size(), first + count); ++at) {
            const auto place = static_cast<std::size_t>(order_[at].row);
            if (!arena_.cluster(place)) names.push_back(arena_.centroids().id(place));
        }
        return names;
    }

    // Returns the least number of further loads before the rule can stop the search.
    std::int64_t sure() const {
        if (enough_) return 0;
        return std::max<std::int64_t>(1, std::min(rule_.window - idle_, rule_.most - loads));
    }

    // Ranks the pool by 8-bit codes, and keeps the best `most`. Returns the ids whose codes are neither cached nor in
    // `bodies`; if there are any, nothing changes.
    std::vector<std::int64_t> rank_by_value(std::size_t most, const Parts &bodies) {
        std::vector<float> scores(pool.filled);
        std::vector<std::uint8_t> known(pool.filled);
        std::size_t count = arena_.by_value(query_, pool.ids.data(), pool.filled, scores.data(), known.data());
        for (const auto &[data, size] : bodies) {
            const Body body(data, size, true);
            if (body.kind != BYTES || body.n != 1 || body.d != arena_.centroids().d) damaged("not the code of a vector");
            const auto at = pool.place_of(body.id(0));
            if (at == pool.filled || known[at]) continue;
            scores[at] = score_one(body, query_, 0);
            known[at] = 1;
            ++count;
        }
        std::vector<std::int64_t> missing;
        if (count < pool.filled) {
            for (std::size_t at = 0; at < pool.filled; ++at)
                if (!known[at]) missing.push_back(pool.ids[at]);
            return missing;
        }
        std::vector<Scored> ranked(pool.filled);
        for (std::size_t at = 0; at < pool.filled; ++at) ranked[at] = {ordered(scores[at]), pool.ids[at]};
        std::sort(ranked.begin(), ranked.end(), before);
        pool.filled = std::min(pool.filled, most);
        for (std::size_t at = 0; at < pool.filled; ++at) {
            pool.scores[at] = ranked[at].score;
            pool.ids[at] = ranked[at].row;
        }
        return missing;
    }

    std::size_t k() const { return k_; }

    std::int64_t loads = 0;
    std::size_t compared = 0;
    Pool &pool;
    std::vector<std::int64_t> spent; // Numbers of the clusters of the last bring() that have been searched.

  private:
    // Returns the `count` nearest centroids in order. It collects candidates at least as good as the worst one kept,
    // and cuts them to `count` when there are four times as many.
    std::vector<Scored> nearest(std::size_t count) const {
        std::vector<Scored> best;
        best.reserve(4 * count);
        float least = -std::numeric_limits<float>::infinity();
        const auto cut = [&] {
            const auto end = best.begin() + static_cast<std::ptrdiff_t>(std::min(count, best.size()));
            if (end < best.end()) std::nth_element(best.begin(), end, best.end(), before);
            best.erase(end, best.end());
        };
        for (std::size_t at = 0; at < scores_.size(); ++at) {
            if (scores_[at] < least) continue;
            best.push_back({scores_[at], static_cast<std::int64_t>(at)});
            if (best.size() < 4 * count) continue;
            cut();
            least = std::min_element(best.begin(), best.end(), [](const Scored &a, const Scored &b) { return a.score < b.score; })->score;
        }
        cut();
        std::sort(best.begin(), best.end(), before);
        return best;
    }

    // Extends order_ to at least `count` centroids, or all.
    void order(std::size_t count) {
        const Body &body = arena_.centroids();
        if (scores_.empty() && body.n) {
            scores_.resize(body.n);
            std::vector<std::int32_t> whole(body.n);
            score(body, query_, 0, body.n, scores_.data(), whole.data());
            std::transform(scores_.begin(), scores_.end(), scores_.begin(), ordered);
        }
        while (order_.size() < std::min(count, body.n)) order_ = nearest(std::min(body.n, std::max(FIRST, 4 * order_.size())));
    }

    // Searches a cluster, and updates the state of the rule.
    void load(const Held &held, const Held *next) {
        std::fill(pool.fresh.begin(), pool.fresh.end(), std::uint8_t{0});
        held.scan(query_, allowed_, pool, next);
        compared += held.entries();
        ++loads;
        bool any = false;
        double worth = 0;
        const std::size_t seen = std::min({k_, pool.filled, rule_.weights.size()});
        for (std::size_t rank = 0; rank < seen; ++rank)
            if (pool.fresh[rank]) {
                any = true;
                worth += rule_.weights[rank];
            }
        idle_ = any && worth > rule_.epsilon ? 0 : idle_ + 1;
        enough_ = pool.filled >= k_ && (idle_ >= rule_.window || loads >= rule_.most);
    }

    const Arena &arena_;
    std::size_t k_;
    Rule rule_;
    Bitmap allowed_;
    Query query_;
    std::vector<float> scores_; // Of all centroids, by place.
    std::vector<Scored> order_; // Places of the nearest centroids, as far as they are sorted.
    std::unordered_map<std::size_t, Parts> brought_;
    std::int64_t idle_ = 0; // Number of last loads in a row with a utility of at most epsilon.
    bool enough_ = false;   // Whether the rule has stopped the search.
};

} // namespace monograph
