// The keys under which names are known. Twin: monograph.graph.names.
#pragma once
#include "text.hpp"

#include <cstddef>
#include <string>

namespace monograph {

// Folded words, one blank between them, without possessives, dots and the article before them; at most ``longest``
// characters, in place of what ``out`` held. False where the text holds a character that the tables do not know.
bool key_of(const Text &name, std::size_t longest, std::u32string &out);

} // namespace monograph
