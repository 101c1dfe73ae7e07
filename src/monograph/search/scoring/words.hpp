// Finds the words of a question in the words of a chunk. Words are 32-bit hashes.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

namespace monograph {

// Returns the little-endian word at an address.
inline std::uint32_t word_at(const unsigned char *packed) {
    return static_cast<std::uint32_t>(packed[0]) | static_cast<std::uint32_t>(packed[1]) << 8 |
           static_cast<std::uint32_t>(packed[2]) << 16 | static_cast<std::uint32_t>(packed[3]) << 24;
}

// Hashes of a question's words, ascending, at most 64.
class AskedWords {
  public:
    static constexpr std::size_t MOST = 64;

    AskedWords(const std::uint32_t *hashes, std::size_t count) : hashes_(hashes, hashes + count) {
        if (count > MOST || !std::is_sorted(hashes_.begin(), hashes_.end())) throw std::invalid_argument("words ascend, 64 at most");
        for (const std::uint32_t hash : hashes_) may_be_[hash & LAST_BITS] = true;
    }

    // Bit i of `bits` is 1 if a chunk contains word i of the question. `hash` is a hash of all words of the chunk.
    struct Held {
        std::uint64_t bits, hash;
    };

    // `packed` has the `count` words of the chunk, 4 bytes each, little-endian.
    Held of(const unsigned char *packed, std::size_t count) const {
        Held held{0, count + 1}; // Above 0, because a word of 0 would leave a hash of 0 unchanged.
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

  private:
    static constexpr std::uint32_t LAST_BITS = 0xFFF;

    std::vector<std::uint32_t> hashes_;
    std::array<bool, LAST_BITS + 1> may_be_{}; // Whether any of hashes_ has these last bits: a fast first test.
};

} // namespace monograph
