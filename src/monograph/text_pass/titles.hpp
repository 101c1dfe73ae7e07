// Phrases of a text that may be a document's title.
#pragma once
#include "text.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace monograph {

struct TitleLimits {
    std::size_t words;       // Of a title.
    std::size_t small;       // Words without a capital that follow each other in one.
    std::size_t longest_key; // Characters of a word's key.
};

struct Phrase {
    std::size_t begin, end; // Of its key, among the keys of all words.
    std::size_t offset;     // In the text.
};

// The phrases of one sentence that begin with a capital or digit, and the keys of the words in them one after the other,
// in place of what ``keys`` and ``out`` held.
void title_phrases(const Text &text, const TitleLimits &limits, std::u32string &keys, std::vector<Phrase> &out);

} // namespace monograph
