// One query's way through the clusters of an arena: nearest first, until its rule says that it is enough.
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

constexpr std::size_t FIRST = 48;

// Stop when the last ``window`` loads brought at most ``epsilon`` each, the sum of the weights of the ranks at which new
// results stand, or after ``most``.
struct Rule {
    std::vector<double> weights; // By rank; what stands behind counts nothing.
    double epsilon;
    std::int64_t window, most;
};

// A cluster as it is stored, part by part.
using Parts = std::vector<std::pair<const void *, std::size_t>>;

class Course {
  public:
    enum : std::int64_t { ENOUGH = -1, ALL = -2, PAUSED = -3 };

    Course(const Arena &arena, const float *query, Pool &given, std::size_t k, Rule rule, const Bitmap &allowed)
        : pool(given), arena_(arena), k_(k), rule_(std::move(rule)), allowed_(allowed), query_(query, arena.centroids().d) {}

    // Goes on for so many loads; returns why it came to an end, or which cluster it wants that is neither in the arena nor was brought.
    std::int64_t run(std::int64_t most) {
        // Not where a course is made: other threads wait for that.
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
            load(Held(brought->second, arena_.centroids().d), nullptr); // Which may find it damaged.
            spent.push_back(arena_.centroids().id(place));
        }
    }

    // Clusters by their places, to be searched when their turn comes. Those that were brought before are let go.
    void bring(std::unordered_map<std::size_t, Parts> clusters) {
        brought_ = std::move(clusters);
        spent.clear();
    }

    // Which clusters that the arena does not hold come next.
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

    // So many loads follow at least, whatever they bring, if there are so many clusters.
    std::int64_t sure() const {
        if (enough_) return 0;
        return std::max<std::int64_t>(1, std::min(rule_.window - idle_, rule_.most - loads));
    }

    // Brings the pool into the order of scores by value, of which as many stay as are asked for; what is neither
    // remembered nor among the bodies is told, and nothing is changed then.
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
    std::vector<std::int64_t> spent;  // Names of what was searched of the clusters that were brought last.
    std::vector<std::int64_t> firsts; // The best rank at which each load brought a new result; k where it brought none.

  private:
    // The nearest few of all, in order: what passes the last of those so far is gathered, and cut down when there is much.
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

    // Centroids are put in order as far as they are asked for.
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

    void load(const Held &held, const Held *next) {
        std::fill(pool.fresh.begin(), pool.fresh.end(), std::uint8_t{0});
        held.scan(query_, allowed_, pool, next);
        compared += held.entries();
        ++loads;
        const std::size_t shown = std::min(k_, pool.filled);
        const auto first = static_cast<std::size_t>(
            std::find(pool.fresh.begin(), pool.fresh.begin() + static_cast<std::ptrdiff_t>(shown), 1) - pool.fresh.begin());
        firsts.push_back(static_cast<std::int64_t>(first < shown ? first : k_));
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
    std::vector<float> scores_; // Of all centroids.
    std::vector<Scored> order_; // Places of the nearest centroids, as far as they were asked for.
    std::unordered_map<std::size_t, Parts> brought_;
    std::int64_t idle_ = 0;
    bool enough_ = false;
};

} // namespace monograph
