// Names of a chunk that the graph stores, from its mentions.
#pragma once
#include "full_names.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace monograph {

constexpr std::size_t MOST_NAMES = 512;

// A mention: the number of its key, the index of its kind, and its span in the chunk, in characters.
struct Occurrence {
    std::uint32_t key;
    std::uint8_t kind;
    std::size_t start, end;
};

// A name of a chunk, and its first two sentences by number, at most LAST_SENTENCE; NO_SENTENCE for no second.
struct NameOfChunk {
    static constexpr std::uint8_t LAST_SENTENCE = 254, NO_SENTENCE = 255;

    std::uint32_t key;
    std::uint8_t kind, first, second;
};

// Finds the names of the chunks of one document.
class ChunkNames {
  public:
    // ``full`` is the result of full_names(). ``persons`` has a bit for each kind whose short forms mean full names.
    ChunkNames(const Keys &keys, const std::vector<std::uint32_t> &full, const Lexicon &lexicon, std::uint64_t persons)
        : keys_(keys), meant_(keys.size()), place_(keys.size()), persons_(persons) {
        for (std::uint32_t one = 0; one < keys.size(); ++one) {
            const View bare = without_courtesy(keys[one], lexicon);
            const std::uint32_t number = bare.size() == keys[one].size() ? one : keys.find(bare);
            meant_[one] = number == Keys::NONE || full[number] == Keys::NONE ? one : full[number];
        }
    }

    // Return the names of a chunk in order of first mention. Sentences begin at ``starts``.
    std::vector<NameOfChunk> of(const std::vector<Occurrence> &mentions, const std::vector<std::size_t> &starts) {
        std::vector<NameOfChunk> names;
        for (const Occurrence &one : mentions) {
            const View written = keys_[one.key];
            if (written.empty() || (written.size() == 1 && written[0] < 0x80)) continue;
            const std::uint32_t key = persons_ >> one.kind & 1 ? meant_[one.key] : one.key;
            const auto before = std::upper_bound(starts.begin(), starts.end(), one.start) - starts.begin() - 1;
            const auto sentence = static_cast<std::uint8_t>(std::min<std::ptrdiff_t>(before, NameOfChunk::LAST_SENTENCE));
            if (place_[key] == 0) {
                if (names.size() == MOST_NAMES) continue;
                names.push_back({key, one.kind, sentence, NameOfChunk::NO_SENTENCE});
                place_[key] = static_cast<std::uint32_t>(names.size());
                continue;
            }
            NameOfChunk &known = names[place_[key] - 1];
            if (known.second == NameOfChunk::NO_SENTENCE && known.first != sentence) known.second = sentence;
            known.kind = std::min(known.kind, one.kind); // The first kind takes precedence.
        }
        for (const NameOfChunk &one : names) place_[one.key] = 0;
        return names;
    }

  private:
    const Keys &keys_;
    std::vector<std::uint32_t> meant_; // For each key, the key that it means.
    std::vector<std::uint32_t> place_; // For each key, its index among the names of this chunk, from 1; 0 for none.
    std::uint64_t persons_;
};

} // namespace monograph
