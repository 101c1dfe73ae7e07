// Who speaks in a chat. Twin: monograph.derive.extract.speakers.
#pragma once
#include "lexicon.hpp"
#include "sentences.hpp"

#include <vector>

namespace monograph {

// Append where speakers are named, in order; false where the twin is to tell whether a word is none of theirs.
bool speakers(View text, const Lexicon &lexicon, std::vector<Span> &out);

} // namespace monograph
