// The keys under which names are known.
#pragma once
#include "text.hpp"

#include <cstddef>
#include <string>

namespace monograph {

// Write the key of a name into ``out``: folded words, one blank between them, without possessives, dots and the article
// before them; at most ``longest`` characters.
void key_of(const Text &name, std::size_t longest, std::u32string &out);

} // namespace monograph
