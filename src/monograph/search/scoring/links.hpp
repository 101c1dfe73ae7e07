// The best link from every start of a walk to every chunk.
#pragma once
#include "places.hpp"

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
    void begin(std::size_t starts, std::size_t chunks);

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
    const std::vector<Place> &add_up(std::vector<double> &missed);

    // Those to a chunk, by their starts.
    std::vector<Link> to(Place target) const;

  private:
    std::vector<Link> all_;
    std::vector<std::size_t> last_;  // By chunk.
    std::vector<std::size_t> index_; // Of the starts that are followed now, and all chunks.
    std::vector<Place> targets_;     // Of the links that are new.
    std::size_t first_ = 0, starts_ = 0;
};

} // namespace monograph
