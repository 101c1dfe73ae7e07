// Byte-pair encoding with fallback to bytes, as in Llama 2's tokenizer.
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

// Tokenizer with a cache of the tokens of words, which threads share.
class Tokenizer {
  public:
    // ``vocabulary`` has the token of each piece. ``merges`` are "left right"; the first one is applied first. Words of
    // more than ``longest_word`` bytes are not cached. A cache of more than ``most_words`` words is emptied.
    Tokenizer(const std::unordered_map<std::string_view, std::uint32_t> &vocabulary, const std::vector<std::string_view> &merges,
              std::size_t most_words, std::size_t longest_word);

    // Append the tokens of a text. Return false, and append nothing, if it has an unpaired surrogate.
    bool encode(const Text &text, std::vector<std::uint32_t> &ids);

    // Return the number of tokens; -1 if the text has an unpaired surrogate.
    std::int64_t count(const Text &text);

    // Append (start, end) of each token, in characters. Return false if the text has an unpaired surrogate.
    bool spans(const Text &text, std::vector<Span> &out);

    // Return the number of cached words; 0 while another thread changes the cache.
    std::size_t known() const;

  private:
    // A merge: left << 16 | right, rank, and resulting token. It is small, because merges are looked up most often: an
    // eighth of the memory halves the time.
    struct Merge {
        std::uint32_t pair;
        std::uint16_t rank, made;
    };

    const Merge *merge_of(std::uint32_t left, std::uint32_t right) const;
    void encode_word(std::string_view word, std::vector<std::uint32_t> &ids) const;
    void encode_part(std::string_view part, std::vector<std::uint32_t> &ids);
    // Cache words. ``words`` alternates between (word, its first index in ids) and (empty, the index after its last).
    void learn(const std::vector<std::pair<std::string_view, std::size_t>> &words, const std::vector<std::uint32_t> &ids);

    ByteMap pieces_;
    std::vector<Merge> merges_;                 // Open addressing; the pair NO_PAIR marks a free slot.
    std::uint32_t bytes_[256] = {}, blank_ = 0; // Tokens of the bytes, and of U+2581.
    std::uint32_t ascii_[128];                  // Token of each character, or NO_TOKEN.
    std::vector<std::uint8_t> begun_;           // Number of characters that begin in each token.
    std::size_t most_words_, longest_word_;
    mutable std::shared_mutex lock_; // Guards words_ and ids_of_words_.
    ByteMap words_;                  // (index of the first token in ids_of_words_, number of tokens) of a word.
    std::vector<std::uint16_t> ids_of_words_;
};

inline float as_float(float value) { return value; }

// Convert a half-precision number (IEEE 754). Without branches, so that it can be vectorised.
inline float as_float(std::uint16_t half) {
    const std::uint32_t bits = (half & 0x7FFFu) << 13;
    // Numbers below 2^-14 have no implicit leading one. One is added to them, and then subtracted.
    const std::uint32_t small = -static_cast<std::uint32_t>(bits < 0x00800000u), endless = -static_cast<std::uint32_t>(bits >= 0x0F800000u);
    const float value = std::bit_cast<float>(bits + (112u << 23) + (small & 1u << 23)) - std::bit_cast<float>(small & 113u << 23);
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) | (endless & 0x7F800000u) | (half & 0x8000u) << 16);
}

// Compile a function for AVX2 and for other processors. Sums round alike in both versions.
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

// Write the sum of ``count`` rows of a table to ``total``. As in numpy, rows are added one by one, in parts of
// ``at_once`` rows. ``part`` is a buffer for such a part.
template <class Value> CLONED void sum_rows(const Value *table, std::size_t dimension, const std::uint32_t *rows, std::size_t count,
                                            std::size_t at_once, float *part, float *total) {
    std::fill(total, total + dimension, 0.0f);
    for (std::size_t first = 0; first < count; first += at_once) {
        const std::size_t last = std::min(count, first + at_once);
        std::fill(part, part + dimension, -0.0f); // x + -0.0 is x, also for -0.0.
        for (std::size_t row = first; row < last; ++row) {
            const Value *vector = table + rows[row] * dimension;
            for (std::size_t at = 0; at < dimension; ++at) part[at] += as_float(vector[at]);
        }
        for (std::size_t at = 0; at < dimension; ++at) total[at] += part[at];
    }
}

} // namespace monograph
