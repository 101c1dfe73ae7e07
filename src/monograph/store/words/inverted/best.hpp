// BM25 over postings. Scores are equal to those of FTS5's bm25(), to the bit.
#pragma once
#include "by_block.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace monograph {

// Lengths of chunks in words, by block of rows.
class Lengths {
  public:
    static constexpr std::size_t ROWS = BLOCK_ROWS;   // Rows of a block.
    static constexpr std::uint16_t NOT_TOLD = 0xffff; // Stored for this length or more.

    struct Block {
        std::int64_t number;
        Page each;           // Length of each row, two bytes, little-endian; 0 if it is not indexed.
        std::uint16_t least; // The result of shortest().
    };

    // Return the shortest length of a block that is not 0; 0 if there is none.
    static std::uint16_t shortest(Page two_bytes_each);

    void add(Block one) { blocks.push_back(one); }
    // Sort the blocks by number, as of_block() requires.
    void sort();
    // Return a block by number; nullptr if it is missing or incomplete.
    const Block *of_block(std::int64_t block) const;
    // Prefetch the lengths of the block after ``one``.
    void fetch_after(const Block *one) const;

  private:
    std::vector<Block> blocks;
};

// A query: chunks and words of the corpus, weights of a word in title and text, and number of results.
struct Asked {
    double rows, words, in_title, in_text;
    std::size_t k;
};

// A chunk with its score.
struct Scored {
    double score;
    std::int64_t row;
};

// Return the k chunks with the highest scores, and all that tie with the last, highest first; nullopt if a length is
// unknown. ``with`` has the number of chunks with each word, for its IDF. ``among`` has the allowed rows, ascending;
// nullopt allows all. Fastest if the rarest words come first.
std::optional<std::vector<Scored>> best(const std::vector<const ByBlock *> &words, const std::vector<double> &with, const Lengths &lengths,
                                        const Asked &asked, std::optional<std::span<const std::int64_t>> among);

} // namespace monograph
