// The language of a text by its function words, and its key phrases, as RAKE finds them.
#pragma once
#include "lexicon.hpp"
#include "sentences.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace monograph {

// The language that so many characters and words at the head of a text tell; the first of all where none stands out.
const std::string &language_of(const Lexicon &lexicon, const Text &text, std::size_t characters, std::size_t words);

// Spans of the phrases that tell most, in order: at most ``most``, one for every ``words_a_phrase`` words.
std::vector<Span> key_phrases(const Lexicon &lexicon, View text, std::string_view language, std::size_t most, std::size_t words_a_phrase);

} // namespace monograph
