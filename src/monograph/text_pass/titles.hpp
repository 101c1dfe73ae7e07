// Phrases of a text that may be a document's title.
#pragma once
#include "keys.hpp"
#include "text.hpp"
#include "unicode.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace monograph {

struct TitleLimits {
    std::size_t words;       // Most words of a title.
    std::size_t small;       // Most consecutive words of a title without a capital or digit.
    std::size_t longest_key; // Most characters of a word's key.
};

// A phrase that may be a title.
struct Phrase {
    std::size_t begin, end; // Span of its key in ``keys``.
    std::size_t offset;     // Offset of the phrase in the text.
};

// A word: the span of its key in ``keys``, its offset in the text, and whether it begins with a capital or digit.
struct TitleWord {
    std::size_t begin, end, offset;
    bool is_large;
};

// Return whether the character at an offset ends a title.
inline bool is_stop(const Text &text, std::size_t at) {
    const Unicode &unicode = Unicode::tables();
    switch (text[at]) {
    case '?':
    case '!':
    case ';':
    case '(':
    case ')':
    case '\n':
    case '"': return true;
    case '.': // Not after an initial or a short word.
        return at >= 3 && unicode.is(text[at - 1], WORD) && unicode.is(text[at - 2], WORD) && unicode.is(text[at - 3], WORD) &&
               at + 1 < text.size() && unicode.is(text[at + 1], SPACE);
    default: return false;
    }
}

// Append the phrases of one sentence.
inline void append_phrases(const std::vector<TitleWord> &words, const TitleLimits &limits, std::vector<Phrase> &out) {
    std::size_t small = 0; // Consecutive words without a capital or digit.
    for (std::size_t first = 0; first < words.size(); ++first) {
        if (!words[first].is_large) continue;
        small = 0;
        const std::size_t most = std::min(words.size(), first + limits.words);
        for (std::size_t last = first; last < most; ++last) {
            small = words[last].is_large ? 0 : small + 1;
            if (small > limits.small) break;
            out.push_back({words[first].begin, words[last].end, words[first].offset});
        }
    }
}

// Replace ``out`` by the phrases of a text that begin with a capital or digit and lie in one sentence. Replace ``keys``
// by the keys of their words, with spaces between them.
inline void title_phrases(const Text &text, const TitleLimits &limits, std::u32string &keys, std::vector<Phrase> &out) {
    const Unicode &unicode = Unicode::tables();
    std::vector<TitleWord> words;
    std::u32string key;
    std::size_t small = limits.small + 1; // Consecutive words without a capital or digit.
    keys.clear();
    out.clear();
    for (std::size_t at = 0; at < text.size();) {
        if (!unicode.is(text[at], WORD)) {
            if (is_stop(text, at)) {
                append_phrases(words, limits, out);
                words.clear();
                small = limits.small + 1;
            }
            ++at;
            continue;
        }
        const std::size_t first = at;
        while (at < text.size() && unicode.is(text[at], WORD)) ++at;
        const bool is_large = unicode.is(text[first], UPPER | DIGIT);
        if (!is_large && small > limits.small) continue; // No phrase extends to it.
        key_of(text.part(first, at).head(2 * limits.longest_key), limits.longest_key, key);
        if (key.empty()) continue;
        if (!words.empty()) keys += U' ';
        const std::size_t begin = keys.size();
        keys += key;
        words.push_back({begin, keys.size(), first, is_large});
        small = is_large ? 0 : small + 1;
    }
    append_phrases(words, limits, out);
}

} // namespace monograph
