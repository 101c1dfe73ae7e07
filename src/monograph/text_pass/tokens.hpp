// Tokens of texts by byte-pair encoding with fallback to bytes, as Llama 2's tokenizer has it.
#pragma once
#include "byte_map.hpp"
#include "sentences.hpp"
#include "text.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace monograph {

class Tokenizer {
  public:
    // The pieces with their numbers; the merges as "left right", of which the first ranks highest.
    Tokenizer(const std::unordered_map<std::string_view, std::uint32_t> &vocabulary, const std::vector<std::string_view> &merges,
              std::size_t most_words, std::size_t longest_word);

    // Append the tokens of a text; false, and nothing appended, where it has half a surrogate pair.
    bool encode(const Text &text, std::vector<std::uint32_t> &ids);

    // How many they are; -1 where encode would give false.
    std::int64_t count(const Text &text);

    // Where each of a text's tokens begins and ends, by its characters; false as encode.
    bool spans(const Text &text, std::vector<Span> &out);

    std::size_t known() const;

  private:
    // Small, for of all that is looked up these are the most: in an eighth of the place they are found in half the time.
    struct Merge {
        std::uint32_t pair;
        std::uint16_t rank, made;
    };

    const Merge *merge_of(std::uint32_t left, std::uint32_t right) const;
    void encode_word(std::string_view word, std::vector<std::uint32_t> &ids) const;
    void encode_part(std::string_view part, std::vector<std::uint32_t> &ids);
    void learn(const std::vector<std::pair<std::string_view, std::size_t>> &words, const std::vector<std::uint32_t> &ids);

    ByteMap pieces_;
    std::vector<Merge> merges_; // Open addressing; a pair of NO_PAIR marks a free place.
    std::uint32_t bytes_[256] = {}, blank_ = 0;
    std::uint32_t ascii_[128];        // Of a sign its token, or NO_TOKEN.
    std::vector<std::uint8_t> begun_; // Of each token, how many characters begin in it.
    std::size_t most_words_, longest_word_;
    mutable std::shared_mutex lock_; // Of what is known of words, which threads share.
    ByteMap words_;
    std::vector<std::uint16_t> ids_of_words_;
};

inline float as_float(float value) { return value; }

// Of a number of 16 bits, as IEEE 754 has it; without branches, so that several are made at once.
inline float as_float(std::uint16_t half) {
    const std::uint32_t bits = (half & 0x7FFFu) << 13;
    // Those below 2^-14 have no leading one: they are given one, which is then taken off.
    const std::uint32_t small = -static_cast<std::uint32_t>(bits < 0x00800000u), endless = -static_cast<std::uint32_t>(bits >= 0x0F800000u);
    const float value = std::bit_cast<float>(bits + (112u << 23) + (small & 1u << 23)) - std::bit_cast<float>(small & 113u << 23);
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) | (endless & 0x7F800000u) | (half & 0x8000u) << 16);
}

// Made twice, for processors that have wide registers and for others; what is added up rounds alike in both.
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define CLONED __attribute__((target_clones("avx2", "default")))
#else
#define CLONED
#endif

inline void prefetch(const void *address) {
#if defined(__GNUC__)
    __builtin_prefetch(address);
#else
    (void)address;
#endif
}

// The sum of so many rows of a table, added up one after the other as numpy does, ``at_once`` rows at a time.
template <class Value> CLONED void sum_rows(const Value *table, std::size_t dimension, const std::uint32_t *rows, std::size_t count,
                                            std::size_t at_once, float *part, float *total) {
    std::fill(total, total + dimension, 0.0f);
    for (std::size_t first = 0; first < count; first += at_once) {
        const std::size_t last = std::min(count, first + at_once);
        std::fill(part, part + dimension, -0.0f); // Which changes nothing that is added to it.
        for (std::size_t row = first; row < last; ++row) {
            const Value *vector = table + rows[row] * dimension;
            for (std::size_t at = 0; at < dimension; ++at) part[at] += as_float(vector[at]);
        }
        for (std::size_t at = 0; at < dimension; ++at) total[at] += part[at];
    }
}

} // namespace monograph
