// One query's way through the clusters of an arena: nearest first, until its rule says that it is enough.
#pragma once
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "arena.hpp"

namespace monograph {

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

    Course(const Arena &arena, const float *query, Pool &pool, std::size_t k, Rule rule, const Bitmap &allowed);

    // Goes on for so many loads; returns why it came to an end, or which cluster it wants that is neither in the arena nor was brought.
    std::int64_t run(std::int64_t loads);
    // Clusters by their places, to be searched when their turn comes. Those that were brought before are let go.
    void bring(std::unordered_map<std::size_t, Parts> clusters);
    // Which clusters that the arena does not hold come next.
    std::vector<std::int64_t> ahead(std::size_t count);
    // So many loads follow at least, whatever they bring, if there are so many clusters.
    std::int64_t sure() const;
    // Brings the pool into the order of scores by value, of which as many stay as are asked for; what is neither
    // remembered nor among the bodies is told, and nothing is changed then.
    std::vector<std::int64_t> rank_by_value(std::size_t most, const Parts &bodies);

    std::size_t k() const { return k_; }

    std::int64_t loads = 0;
    std::size_t compared = 0;
    Pool &pool;
    std::vector<std::int64_t> spent;  // Names of what was searched of the clusters that were brought last.
    std::vector<std::int64_t> firsts; // The best rank at which each load brought a new result; k where it brought none.

  private:
    std::vector<Scored> nearest(std::size_t count) const;
    void order(std::size_t count);
    void load(const Held &held, const Held *next);

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
