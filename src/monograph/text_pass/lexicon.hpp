// Sets of words by name, and the words of a text with the sets that they are in.
#pragma once
#include "text.hpp"
#include "unicode.hpp"
#include "word_map.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace monograph {

// Sets of words as they are written, or as small letters: see monograph.derive.extract.clues, and monograph.graph.
enum Set : std::uint32_t {
    INSIDE = 1,
    LOOSE = 2,
    FIRM = 4,
    SHORTENED = 8,
    TAILS = 16,
    TITLES = 32,
    NO_SPEAKERS = 64,
    ALSO_NAMES = 128,
    LINKS = 256,
    GERMAN_LOOSE = 512,
    GERMAN_PARTS = 1024,
    COURTESY = 2048,
    NO_PERSON = 4096,
    SMALL_WORDS = 8192,
    JOINED = 16384,
    TELLING = 32768,
};

class Lexicon {
  public:
    // Words of each set, by its name in lower case; function words of each language.
    Lexicon(const nb::dict &sets, const nb::dict &languages);

    // The sets that a word is in, and the bits of the languages of which it is a function word.
    template <class Written> std::pair<std::uint32_t, std::uint32_t> find(Written word) const {
        const auto *found = words_.find(word);
        return found ? std::pair{found->first, found->second} : std::pair{0u, 0u};
    }
    std::uint32_t sets_of(View word) const { return find(word).first; }
    std::uint32_t language(std::string_view name) const;
    const std::vector<std::string> &languages() const { return languages_; }

  private:
    WordMap words_;
    std::vector<std::string> languages_;
};

// A word in small letters, without the signs around it.
inline std::u32string bare(View word) {
    constexpr View SIGNS = U".,'’";
    const std::size_t first = word.find_first_not_of(SIGNS);
    if (first == View::npos) return {};
    std::u32string small(word.substr(first, word.find_last_not_of(SIGNS) - first + 1));
    for (char32_t &code : small) code = static_cast<char32_t>(Unicode::tables().lower(code));
    return small;
}

// A word of a run, and what is known of it.
struct Word {
    View text;
    std::u32string small; // In small letters, without the signs around it.
    std::uint32_t sets, bare_sets;
    bool is_function, is_lower, is_upper, has_digit, is_number;

    Word(View text, const Lexicon &lexicon, std::uint32_t language);

    bool in(std::uint32_t some) const { return sets & some; }
    bool ends_with(char32_t code) const { return text.ends_with(code); }
};

} // namespace monograph
