// Lexicon of named sets of words, and words of a text with the sets that contain them.
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

// Bits of the sets. Words are as written or in lower case: see monograph.derive.extract.clues and monograph.graph.
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
    // ``sets``: words of each set, by its name in lower case. ``languages``: function words of each language.
    Lexicon(const nb::dict &sets, const nb::dict &languages);

    // Return the bits of the sets that contain a word, and of the languages of which it is a function word.
    template <class Written> std::pair<std::uint32_t, std::uint32_t> find(Written word) const {
        const auto *found = words_.find(word);
        return found ? std::pair{found->first, found->second} : std::pair{0u, 0u};
    }
    std::uint32_t sets_of(View word) const { return find(word).first; }
    // Return the bit of a language. Throws invalid_argument if it is missing.
    std::uint32_t language(std::string_view name) const;
    const std::vector<std::string> &languages() const { return languages_; }

  private:
    WordMap words_;
    std::vector<std::string> languages_;
};

// Return a word in lower case, without dots, commas and apostrophes around it.
inline std::u32string bare(View word) {
    constexpr View SIGNS = U".,'’";
    const std::size_t first = word.find_first_not_of(SIGNS);
    if (first == View::npos) return {};
    std::u32string small(word.substr(first, word.find_last_not_of(SIGNS) - first + 1));
    for (char32_t &code : small) code = static_cast<char32_t>(Unicode::tables().lower(code));
    return small;
}

// A word of a run, and its properties.
struct Word {
    View text;
    std::u32string small;          // The result of bare().
    std::uint32_t sets, bare_sets; // Sets that contain ``text``, and ``small``.
    bool is_function, is_lower, is_upper, has_digit, is_number;

    Word(View text, const Lexicon &lexicon, std::uint32_t language);

    bool in(std::uint32_t some) const { return sets & some; }
    bool ends_with(char32_t code) const { return text.ends_with(code); }
};

} // namespace monograph
