// Texts as they are compared: without case and accents, what is written without blanks in pairs of characters.
#pragma once
#include "text.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace monograph {

// Fold a text into ``out``.
void fold(const Text &text, std::u32string &out);

// Whether ``out``, in place of what it held, is another text than the folded one.
bool pair_unspaced(const std::u32string &folded, std::u32string &out);

// A folded word without its last suffix.
std::u32string_view stem(std::u32string_view word);

// CRC-32 of the stems of the words of a folded text in pairs, ascending, each once.
void hash_words(const std::u32string &paired, std::vector<std::uint32_t> &out);

} // namespace monograph
