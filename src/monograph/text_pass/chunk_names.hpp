// What the graph keeps of a chunk's names, from their mentions.
#pragma once
#include "full_names.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace monograph {

// A name where it stands in a chunk: the numbers of its key and of its kind, and where.
struct Occurrence {
    std::uint32_t key;
    std::uint8_t kind;
    std::size_t start, end;
};

// A name of a chunk: its key, its kind, and the first two sentences it stands in; NO_SENTENCE for no second.
struct NameOfChunk {
    static constexpr std::uint8_t LAST_SENTENCE = 254, NO_SENTENCE = 255;

    std::uint32_t key;
    std::uint8_t kind, first, second;
};

class ChunkNames {
  public:
    // ``persons`` has a bit for each kind whose short forms stand for full ones.
    ChunkNames(const Keys &keys, const std::vector<std::uint32_t> &full, const Lexicon &lexicon, std::uint64_t persons);

    // The names of a chunk whose sentences begin at ``starts``, in order of first mention.
    std::vector<NameOfChunk> of(const std::vector<Occurrence> &mentions, const std::vector<std::size_t> &starts);

  private:
    const Keys &keys_;
    std::vector<std::uint32_t> meant_; // Of each key the one that it stands for.
    std::vector<std::uint32_t> place_; // Of each key its place among the names of this chunk, counted from 1.
    std::uint64_t persons_;
};

} // namespace monograph
