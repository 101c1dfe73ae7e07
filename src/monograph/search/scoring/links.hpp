// The best link from every start of a walk to every chunk.
#pragma once
#include "places.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace monograph {

struct Link {
    std::size_t start; // Its number among all starts.
    std::int64_t name;
    double chance;
    std::size_t before; // The link to the same chunk that came before; NONE.
};

class Links {
  public:
    static constexpr std::size_t NONE = static_cast<std::size_t>(-1);

    // Begin with the links out of so many starts, to any of so many chunks.
    void begin(std::size_t starts, std::size_t chunks) {
        first_ = starts_;
        starts_ += starts;
        last_.resize(chunks, NONE);
        index_.assign(starts * chunks, NONE);
        targets_.clear();
    }

    // Keep a link from one of these starts, by its number among them, where it is better than the one that is there.
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

    // Once all were added, multiply how probable it is of each chunk that it is no evidence by that of each new link to it, in the order in
    // which the starts came to the chunk: a product's last bits hang on it. The chunks that are led to now, some several times.
    const std::vector<Place> &add_up(std::vector<double> &missed) {
        const std::size_t first = all_.size() - targets_.size();
        for (std::size_t at = 0; at < targets_.size(); ++at) missed[targets_[at]] *= 1.0 - all_[first + at].chance;
        return targets_;
    }

    // Those to a chunk, by their starts.
    std::vector<Link> to(Place target) const {
        std::vector<Link> found;
        for (std::size_t at = target < last_.size() ? last_[target] : NONE; at != NONE; at = all_[at].before) found.push_back(all_[at]);
        std::sort(found.begin(), found.end(), [](const Link &left, const Link &right) { return left.start < right.start; });
        return found;
    }

  private:
    std::vector<Link> all_;
    std::vector<std::size_t> last_;  // By chunk.
    std::vector<std::size_t> index_; // Of the starts that are followed now, and all chunks.
    std::vector<Place> targets_;     // Of the links that are new.
    std::size_t first_ = 0, starts_ = 0;
};

} // namespace monograph
