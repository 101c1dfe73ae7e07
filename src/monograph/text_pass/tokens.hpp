// Tokens of texts by byte-pair encoding with fallback to bytes, as Llama 2's tokenizer has it.
#pragma once
#include "byte_map.hpp"
#include "text.hpp"

#include <cstdint>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace monograph {

class Tokenizer {
  public:
    // Pieces with their numbers; merges as "left right", the first ranks highest.
    Tokenizer(const nb::dict &vocabulary, const nb::list &merges, std::size_t most_words, std::size_t longest_word);

    // Append the tokens of a text; false, and nothing told, where it is one that is left to the twin.
    bool encode(const Text &text, std::vector<std::uint32_t> &ids);

    // How many they are; -1 where it is left to the twin.
    std::int64_t count(const Text &text);

    std::size_t known() const;

  private:
    // Small, for of all that is looked up these are the most: in an eighth of the place they are found in half the time.
    struct Merge {
        std::uint32_t pair;
        std::uint16_t rank, made;
    };

    const Merge *merge_of(std::uint32_t left, std::uint32_t right) const;
    void encode_word(std::string_view word, std::vector<std::uint32_t> &ids) const;
    void learn(const std::vector<std::pair<std::string_view, std::size_t>> &words, const std::vector<std::uint32_t> &ids);

    ByteMap pieces_;
    std::vector<Merge> merges_; // Open addressing; a pair of NO_PAIR marks a free place.
    std::uint32_t bytes_[256] = {}, blank_ = 0;
    std::uint32_t ascii_[128]; // Of a sign its token, or NO_TOKEN.
    std::size_t most_words_, longest_word_;
    mutable std::shared_mutex lock_; // Of what is known of words, which threads share.
    ByteMap words_;
    std::vector<std::uint16_t> ids_of_words_;
};

// The sum of rows of a table, added up one after the other as numpy does, ``at_once`` rows at a time.
void sum_rows(const float *table, std::size_t dimension, const std::vector<std::uint32_t> &rows, std::size_t at_once,
              float *part, float *total);

} // namespace monograph
