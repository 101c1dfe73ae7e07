// Proper names, known by their capitals. Twin: monograph.derive.extract.names, and of kinds .typed.
#pragma once
#include "lexicon.hpp"
#include "sentences.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace monograph {

struct Name {
    std::size_t start, end;
    std::int32_t kind; // Counted from 1 among those given to the lexicon; 0 for none; NameKinds::ASK where the twin must tell.
    bool unless_number; // Whether it is no name where its kind is none, and it is a number written as a word.
};

// The names in a text, in order of start. ``taken`` are the spans, ascending, that hold no part of one.
std::vector<Name> proper_names(View text, const Lexicon &lexicon, std::string_view language, const std::vector<Span> &taken);

} // namespace monograph
