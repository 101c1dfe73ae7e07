#include "words.hpp"

#include <algorithm>
#include <stdexcept>

namespace monograph {

namespace {

std::uint32_t word_at(const unsigned char *packed) {
    return static_cast<std::uint32_t>(packed[0]) | static_cast<std::uint32_t>(packed[1]) << 8 |
           static_cast<std::uint32_t>(packed[2]) << 16 | static_cast<std::uint32_t>(packed[3]) << 24;
}

} // namespace

AskedWords::AskedWords(const std::uint32_t *hashes, std::size_t count) : hashes_(hashes, hashes + count) {
    if (count > MOST || !std::is_sorted(hashes_.begin(), hashes_.end())) throw std::invalid_argument("words ascend, 64 at most");
    for (const std::uint32_t hash : hashes_) may_be_[hash & LAST_BITS] = true;
}

AskedWords::Held AskedWords::of(const unsigned char *packed, std::size_t count) const {
    Held held{0, count + 1}; // Else a word whose hash is 0 would count as none.
    for (std::size_t at = 0; at < count; ++at) {
        const std::uint32_t word = word_at(packed + 4 * at);
        held.hash = (held.hash ^ word) * 0x9E3779B97F4A7C15u;
        held.hash ^= held.hash >> 29;
        if (!may_be_[word & LAST_BITS]) continue;
        const auto place = std::lower_bound(hashes_.begin(), hashes_.end(), word);
        if (place != hashes_.end() && *place == word) held.bits |= std::uint64_t{1} << (place - hashes_.begin());
    }
    return held;
}

} // namespace monograph
