// BM25 over postings, as FTS5's function of that name computes it, to the bit.
#pragma once
#include "by_block.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace monograph {

// Words of chunks, by row: those of a block one after the other.
class Lengths {
  public:
    static constexpr std::size_t ROWS = BLOCK_ROWS;   // Of a block.
    static constexpr std::uint16_t NOT_TOLD = 0xffff; // So many, or more.

    struct Block {
        std::int64_t number;
        Page each;           // Two bytes.
        std::uint16_t least; // No chunk has fewer words, but those of which none are told.
    };

    // Of a block's lengths, the least that is told.
    static std::uint16_t shortest(Page two_bytes_each);

    void add(Block one) { blocks.push_back(one); }
    void sort();
    // Those of a block; nullptr where they are not there.
    const Block *of_block(std::int64_t block) const;
    // Brings those of the block after one nearer.
    void fetch_after(const Block *one) const;

  private:
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

// The k chunks of highest score, and all that tie with the last of them, highest first. Nothing where a length that is needed is not known.
// among: the rows that may be found, ascending, unless it is empty. It takes least time where the rarest words come first.
// with: of how many chunks it is taken that they have each word.
std::optional<std::vector<Scored>> best(const std::vector<const ByBlock *> &words, const std::vector<double> &with, const Lengths &lengths,
                                        const Asked &asked, std::optional<std::span<const std::int64_t>> among);

} // namespace monograph
