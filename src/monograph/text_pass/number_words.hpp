// Numbers written as words. Twin: monograph.derive.extract.number_words.
#pragma once
#include "lexicon.hpp"

namespace monograph {

// Whether a word is a number, in whichever of the languages whose function words are known.
bool is_number_word(View word, const Lexicon &lexicon);

} // namespace monograph
