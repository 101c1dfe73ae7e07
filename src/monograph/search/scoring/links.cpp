#include "links.hpp"

#include <algorithm>

namespace monograph {

void Links::begin(std::size_t starts, std::size_t chunks) {
    first_ = starts_;
    starts_ += starts;
    last_.resize(chunks, NONE);
    index_.assign(starts * chunks, NONE);
    targets_.clear();
}

const std::vector<Place> &Links::add_up(std::vector<double> &missed) {
    const std::size_t first = all_.size() - targets_.size();
    for (std::size_t at = 0; at < targets_.size(); ++at) missed[targets_[at]] *= 1.0 - all_[first + at].chance;
    return targets_;
}

std::vector<Link> Links::to(Place target) const {
    std::vector<Link> found;
    for (std::size_t at = target < last_.size() ? last_[target] : NONE; at != NONE; at = all_[at].before) found.push_back(all_[at]);
    std::sort(found.begin(), found.end(), [](const Link &left, const Link &right) { return left.start < right.start; });
    return found;
}

} // namespace monograph
