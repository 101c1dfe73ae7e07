// The language of a text by its function words, and its key phrases, as RAKE finds them.
#pragma once
#include "sentences.hpp"
#include "signs.hpp"
#include "text.hpp"
#include "word_map.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace monograph {

class FunctionWords {
  public:
    // Words of each language by its name; the first language is that of a text in which none stands out.
    explicit FunctionWords(const nb::dict &languages);

    const std::string &language_of(const Text &text, std::size_t characters, std::size_t words) const;

    // Spans of the phrases that tell most, in order: at most ``most``, one for every ``words_a_phrase`` words.
    std::vector<Span> key_phrases(View text, std::string_view language, std::size_t most, std::size_t words_a_phrase) const;

  private:
    template <class Word> std::uint32_t languages_of(Word word) const {
        const auto *found = words_.find(word);
        return found ? found->first : 0;
    }

    std::vector<std::string> names_;
    WordMap words_; // Word to the bits of its languages.
};

} // namespace monograph
