// Links of a walk: the most probable one from each start to each chunk.
#pragma once
#include "places.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace monograph {

struct Link {
    std::size_t start;  // Index among all starts of the walk.
    std::int64_t name;  // Row of the name that is followed.
    double chance;      // Probability that the target is evidence, by this link alone.
    std::size_t before; // Index of the previous link to the same chunk, or NONE.
};

class Links {
  public:
    static constexpr std::size_t NONE = static_cast<std::size_t>(-1);

    // Begins a hop with new starts. `chunks` is the number of all chunks that may be targets.
    void begin(std::size_t starts, std::size_t chunks) {
        first_ = starts_;
        starts_ += starts;
        last_.resize(chunks, NONE);
        index_.assign(starts * chunks, NONE);
        targets_.clear();
    }

    // Adds a link, or replaces a less probable one from the same start. `number` is the start's index in this hop.
    void add(std::size_t number, Place target, std::int64_t name, double chance) {
        std::size_t &at = index_[number * last_.size() + target];
        if (at == NONE) {
            at = all_.size();
            all_.push_back({first_ + number, name, chance, last_[target]});
            targets_.push_back(target);
            last_[target] = at;
        } else if (chance > all_[at].chance) {
            all_[at].name = name;
            all_[at].chance = chance;
        }
    }

    // Call once after all links of a hop are added. Multiplies each target's probability of being no evidence by
    // 1 - chance of each new link to it. The order of insertion is kept, because the last bits of the product depend
    // on it. Returns the targets of the new links, with repetitions.
    const std::vector<Place> &add_up(std::vector<double> &missed) {
        const std::size_t first = all_.size() - targets_.size();
        for (std::size_t at = 0; at < targets_.size(); ++at) missed[targets_[at]] *= 1.0 - all_[first + at].chance;
        return targets_;
    }

    // Returns the links to a chunk, in order of start.
    std::vector<Link> to(Place target) const {
        std::vector<Link> found;
        for (std::size_t at = target < last_.size() ? last_[target] : NONE; at != NONE; at = all_[at].before) found.push_back(all_[at]);
        std::sort(found.begin(), found.end(), [](const Link &left, const Link &right) { return left.start < right.start; });
        return found;
    }

  private:
    std::vector<Link> all_;
    std::vector<std::size_t> last_;      // For each chunk, the index in all_ of the last link to it, or NONE.
    std::vector<std::size_t> index_;     // (starts of this hop, chunks): the index in all_ of the link, or NONE.
    std::vector<Place> targets_;         // Targets of the links of this hop.
    std::size_t first_ = 0, starts_ = 0; // Number of starts before this hop, and up to now.
};

} // namespace monograph
