// Folded texts, for comparison: without case and accents, and in pairs of characters if a script has no spaces.
#pragma once
#include "text.hpp"
#include "unicode.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace monograph {

// Replace ``out`` by the text without case and accents.
void fold(const Text &text, std::u32string &out);

// Replace ``out`` by a folded text in which scripts without spaces are split into overlapping pairs of characters.
// Return false if there are no such scripts; ``out`` is then unchanged.
bool pair_unspaced(const std::u32string &folded, std::u32string &out);

// Return a text in the form of the inverted index: folded and in pairs. The result is one of the two given buffers.
inline const std::u32string &index_form(const Text &text, std::u32string &folded, std::u32string &paired) {
    fold(text, folded);
    return pair_unspaced(folded, paired) ? paired : folded;
}

// Call ``with`` for each word of a folded text, in order.
template <class Do> void each_word(View text, Do with) {
    const Unicode &unicode = Unicode::tables();
    const auto in_word = [&](char32_t code) { return unicode.is(code, WORD); };
    for (auto first = std::find_if(text.begin(), text.end(), in_word); first != text.end();) {
        const auto last = std::find_if_not(first, text.end(), in_word);
        with(View(first, last));
        first = std::find_if(last, text.end(), in_word);
    }
}

// Return a folded word without its last suffix.
View stem(View word);

// Replace ``out`` by CRC-32 of the stems of the words of a folded text in pairs, ascending, without repeats.
void hash_words(const std::u32string &paired, std::vector<std::uint32_t> &out);

} // namespace monograph
