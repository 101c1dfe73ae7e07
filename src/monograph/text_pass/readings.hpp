// What a run of words with capitals may name: all of it, or its parts.
#pragma once
#include "lexicon.hpp"

#include <cstddef>
#include <utility>
#include <vector>

namespace monograph {

using Reading = std::pair<std::size_t, std::size_t>; // First word, and the one behind the last.

bool is_shouted(const std::vector<Word> &words);
std::vector<Reading> readings(const std::vector<Word> &words, bool opens, bool is_german);

} // namespace monograph
