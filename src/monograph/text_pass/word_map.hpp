// Small set of words, each with two numbers. Most lookups find nothing, so words that are too long are rejected first.
#pragma once
#include "byte_map.hpp"
#include "text.hpp"

#include <algorithm>
#include <stdexcept>
#include <string_view>

namespace monograph {

class WordMap {
  public:
    static constexpr std::size_t LONGEST = 64; // Bytes in UTF-8.

    const ByteMap::Entry *find(std::string_view word) const { return word.size() > longest_ ? nullptr : words_.find(word); }

    const ByteMap::Entry *find(std::u32string_view word) const {
        if (word.size() > longest_) return nullptr;
        char written[4 * LONGEST];
        std::size_t size = 0;
        for (const char32_t code : word) size += write_utf8(written + size, code);
        return find(std::string_view(written, size));
    }

    // Insert a word that the map does not contain. Throws invalid_argument if it has more than 64 bytes.
    void put(std::string_view word, std::uint32_t first, std::uint32_t second) {
        if (word.size() > LONGEST) throw std::invalid_argument("a word has more than 64 bytes");
        words_.put(word, first, second);
        longest_ = std::max(longest_, word.size());
    }

    std::size_t longest() const { return longest_; } // In bytes.

  private:
    ByteMap words_;
    std::size_t longest_ = 0;
};

} // namespace monograph
