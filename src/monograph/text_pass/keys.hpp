// Keys of names. Spellings with the same key are the same name.
#pragma once
#include "fold.hpp"
#include "text.hpp"
#include "unicode.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace monograph {

// Characters that are left out of keys.
constexpr View KEYLESS_SIGNS = U"'’.`´\u00ad\u200c\u200d\u2060";

// Return whether a name begins with the initial A., which is not an article: A. Lee.
inline bool begins_with_initial(const Text &name) {
    const Unicode &unicode = Unicode::tables();
    std::size_t at = 0;
    while (at < name.size() && unicode.is(name[at], SPACE)) ++at;
    return at + 1 < name.size() && (name[at] == 'A' || name[at] == 'a') && name[at + 1] == '.';
}

// Replace ``out`` by the key of a name: its folded words with one space between them, at most ``longest`` characters.
// Possessives, dots and a leading article are left out.
inline void key_of(const Text &name, std::size_t longest, std::u32string &out) {
    const Unicode &unicode = Unicode::tables();
    const auto in_word = [&](const std::u32string &text, std::size_t at) { return at < text.size() && unicode.is(text[at], WORD); };
    thread_local std::u32string folded;
    fold(name, folded);
    out.clear();
    std::size_t words = 0, first_word = 0;
    bool open = false;
    for (std::size_t at = 0; at < folded.size(); ++at) {
        const char32_t code = folded[at];
        if ((code == U'\'' || code == U'’') && at + 1 < folded.size() && folded[at + 1] == U's' && !in_word(folded, at + 2)) {
            ++at; // A possessive.
            continue;
        }
        if (KEYLESS_SIGNS.find(code) != View::npos) continue;
        if (code == U'_' || !in_word(folded, at)) {
            open = false;
            continue;
        }
        if (!open) {
            if (words == 1) first_word = out.size();
            if (words) out += U' ';
            ++words;
            open = true;
        }
        out += code;
    }
    if (words > 1) {
        const View first(out.data(), first_word);
        if ((first == U"the" || first == U"a" || first == U"an") && !begins_with_initial(name)) out.erase(0, first_word + 1);
    }
    if (out.size() > longest) out.resize(longest);
    while (!out.empty() && unicode.is(out.back(), SPACE)) out.pop_back();
}

} // namespace monograph
