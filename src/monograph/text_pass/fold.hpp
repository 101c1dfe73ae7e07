// Texts as they are compared: without case and accents, what is written without blanks in pairs of characters.
#pragma once
#include "text.hpp"
#include "unicode.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace monograph {

// Fold a text into ``out``.
void fold(const Text &text, std::u32string &out);

// Whether ``out``, in place of what it held, is another text than the folded one.
bool pair_unspaced(const std::u32string &folded, std::u32string &out);

// A text as the inverted index has it: folded, and in pairs. It is in one of the two that are given.
inline const std::u32string &index_form(const Text &text, std::u32string &folded, std::u32string &paired) {
    fold(text, folded);
    return pair_unspaced(folded, paired) ? paired : folded;
}

// Do something with each word of a folded text, in order.
template <class Do> void each_word(View text, Do with) {
    const Unicode &unicode = Unicode::tables();
    const auto in_word = [&](char32_t code) { return unicode.is(code, WORD); };
    for (auto first = std::find_if(text.begin(), text.end(), in_word); first != text.end();) {
        const auto last = std::find_if_not(first, text.end(), in_word);
        with(View(first, last));
        first = std::find_if(last, text.end(), in_word);
    }
}

// A folded word without its last suffix.
View stem(View word);

// CRC-32 of the stems of the words of a folded text in pairs, ascending, each once.
void hash_words(const std::u32string &paired, std::vector<std::uint32_t> &out);

} // namespace monograph
