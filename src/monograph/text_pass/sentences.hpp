// Where sentences begin, roughly, as the graph counts them.
#pragma once
#include "text.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace monograph {

using Span = std::pair<std::size_t, std::size_t>;

// Where the sentences of a chunk begin, ascending, the first at 0: abbreviations end sentences too.
std::vector<std::size_t> sentence_starts(const Text &text);

} // namespace monograph
