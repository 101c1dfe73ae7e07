// Proper names, known by their capitals.
#pragma once
#include "lexicon.hpp"
#include "sentences.hpp"

#include <cstddef>
#include <functional>
#include <string_view>
#include <vector>

namespace monograph {

struct Name {
    std::size_t start, end;
    bool opens;       // Whether it is a single word at the head of a sentence.
    bool may_be_told; // Whether a word in it or beside it may tell its kind.
};

// Whether the word at a place is a number.
using IsNumber = std::function<bool(std::size_t first, std::size_t last)>;

// The names in a text, in order of start. ``taken`` are the spans, ascending, that hold no part of one. ``is_number`` is
// asked in German only, whose nouns have capitals too.
std::vector<Name> proper_names(View text, const Lexicon &lexicon, std::string_view language, const std::vector<Span> &taken,
                               const IsNumber &is_number);

} // namespace monograph
