#include "speakers.hpp"

#include <algorithm>

namespace monograph {

namespace {

constexpr std::size_t MOST_WORDS = 4, MOST_BEFORE = 4, MOST_WITHIN = 38, MOST_IN_BRACKETS = 30;
constexpr View FOLDED_TO_ASCII = U"ßẞſ\u212Aﬀﬁﬂﬃﬄﬅﬆ";

// Where brackets end that open at a place; 0 where they do not.
std::size_t bracketed(const Signs &signs, std::size_t open, char32_t close) {
    std::size_t at = open + 1;
    while (at < signs.size() && at - open - 1 <= MOST_IN_BRACKETS && signs[at] != close && signs[at] != U'\n') ++at;
    return signs[at] == close && at - open - 1 >= 1 && at - open - 1 <= MOST_IN_BRACKETS ? at + 1 : 0;
}

// Whether something is said from a place on: behind a colon, which brackets may stand before.
bool speaks(const Signs &signs, std::size_t at) {
    const auto says = [&](std::size_t colon) {
        return signs[colon] == U':' && signs[colon + 1] == U' ' && colon + 2 < signs.size() && !signs.is(colon + 2, SPACE);
    };
    if (says(at)) return true;
    const std::size_t open = signs[at] == U' ' ? at + 1 : at;
    const std::size_t after = signs[open] == U'(' ? bracketed(signs, open, U')') : 0;
    return after && says(after);
}

// The name at the head of a line; an empty one where none speaks.
Span speaker(const Signs &signs, std::size_t line) {
    std::size_t start = line;
    while (start - line < MOST_BEFORE && signs.is_one_of(start, U" \t>*-")) ++start;
    if (signs[start] == U'[') {
        start = bracketed(signs, start, U']');
        if (!start) return {};
        if (signs[start] == U' ') ++start;
    }
    if (!signs.is(start, WORD) || signs.is(start, DECIMAL) || signs[start] == U'_') return {};
    std::size_t end = start + 1;
    while (end - start <= MOST_WITHIN + 1 && (signs.is(end, WORD) || signs.is_one_of(end, U" .'’-"))) ++end;
    // As much as may be: its last sign is none that stands within alone.
    for (; end > start + 1; --end)
        if ((signs.is(end - 1, WORD) || signs[end - 1] == U'.') && speaks(signs, end)) return {start, end};
    return {};
}

} // namespace

bool speakers(View text, const Lexicon &lexicon, std::vector<Span> &out) {
    const Signs signs(text);
    for (std::size_t line = 0; line < signs.size();) {
        const auto [start, end] = speaker(signs, line);
        line = std::min(text.find(U'\n', std::max(line, end)), text.size() - 1) + 1;
        if (start == end || !signs.is(start, UPPER)) continue;
        const View who = signs.part(start, end);
        if (who.find_first_of(FOLDED_TO_ASCII) != View::npos) return false;
        std::u32string small(who);
        for (char32_t &code : small) code = static_cast<char32_t>(Unicode::tables().lower(code));
        std::size_t words = 0;
        for (std::size_t at = 0; at < who.size(); ++at) words += who[at] != U' ' && (at == 0 || who[at - 1] == U' ');
        if (words > MOST_WORDS || who.find(U"http") != View::npos || (lexicon.sets_of(small) & NO_SPEAKERS)) continue;
        out.emplace_back(start, end);
    }
    return true;
}

} // namespace monograph
