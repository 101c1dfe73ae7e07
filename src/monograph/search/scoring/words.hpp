// Which of a question's words the words of a chunk contain.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

namespace monograph {

inline std::uint32_t word_at(const unsigned char *packed) {
    return static_cast<std::uint32_t>(packed[0]) | static_cast<std::uint32_t>(packed[1]) << 8 |
           static_cast<std::uint32_t>(packed[2]) << 16 | static_cast<std::uint32_t>(packed[3]) << 24;
}

// Hashes of a question's words, ascending, 64 at most.
class AskedWords {
  public:
    static constexpr std::size_t MOST = 64;

    AskedWords(const std::uint32_t *hashes, std::size_t count) : hashes_(hashes, hashes + count) {
        if (count > MOST || !std::is_sorted(hashes_.begin(), hashes_.end())) throw std::invalid_argument("words ascend, 64 at most");
        for (const std::uint32_t hash : hashes_) may_be_[hash & LAST_BITS] = true;
    }

    // Bits, by their places, of those that stand among so many words of a chunk, four bytes each, the lowest first; and a hash of all of
    // these.
    struct Held {
        std::uint64_t bits, hash;
    };

    Held of(const unsigned char *packed, std::size_t count) const {
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

  private:
    static constexpr std::uint32_t LAST_BITS = 0xFFF;

    std::vector<std::uint32_t> hashes_;
    std::array<bool, LAST_BITS + 1> may_be_{}; // By the last bits of a hash, which rule out nearly all words of a chunk.
};

} // namespace monograph
