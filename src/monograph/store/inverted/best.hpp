// BM25 over postings, as FTS5's function of that name computes it, to the bit.
#pragma once
#include "segments.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace monograph {

// Words of chunks, by row: those of a block one after the other.
class Lengths {
  public:
    static constexpr std::size_t ROWS = 2'000;          // Of a block.
    static constexpr std::uint16_t NOT_TOLD = 0xffff;   // So many, or more.

    void add(std::int64_t block, Page two_bytes_each) { blocks.push_back({block, two_bytes_each}); }
    void sort();
    // Where those of a block are; nullptr where they are not.
    const unsigned char *of_block(std::int64_t block) const;

  private:
    struct Block {
        std::int64_t number;
        Page each;
    };
    std::vector<Block> blocks;
};

// What is counted of all chunks, what a word in a title and in a text counts, and how many chunks are asked for.
struct Asked {
    double rows, words, in_title, in_text;
    std::size_t k;
};

struct Scored {
    double score;
    std::int64_t row;
};

// The k chunks of highest score, and all that tie with the last of them, highest first. Nothing where a length is not known.
// among: the rows that may be found, ascending, unless it is empty.
std::optional<std::vector<Scored>> best(const std::vector<const std::vector<Posting> *> &words, const Lengths &lengths, const Asked &asked,
                                        std::optional<std::span<const std::int64_t>> among);

} // namespace monograph
