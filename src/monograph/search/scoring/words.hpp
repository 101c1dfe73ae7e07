// Which of a question's words the words of a chunk contain.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace monograph {

// Hashes of a question's words, ascending, 64 at most.
class AskedWords {
  public:
    static constexpr std::size_t MOST = 64;

    AskedWords(const std::uint32_t *hashes, std::size_t count);

    // Bits, by their places, of those that stand among so many words of a chunk, four bytes each, the lowest first; and a hash of all of
    // these.
    struct Held {
        std::uint64_t bits, hash;
    };
    Held of(const unsigned char *packed, std::size_t count) const;

  private:
    static constexpr std::uint32_t LAST_BITS = 0xFFF;

    std::vector<std::uint32_t> hashes_;
    std::array<bool, LAST_BITS + 1> may_be_{}; // By the last bits of a hash, which rule out nearly all words of a chunk.
};

} // namespace monograph
