#include "quotes.hpp"

#include <algorithm>

namespace monograph {

namespace {

constexpr View OPENING = U"\"“„‘«»「『《";
constexpr std::size_t SHORTEST = 2, LONGEST = 80, LONGEST_HAN = 40;

// Where the first of some signs stands behind a place, with so many signs between; 0 where none does.
std::size_t closing(const Signs &signs, std::size_t open, View ends, View none_of, std::size_t least, std::size_t most) {
    for (std::size_t at = open + 1; at < signs.size() && at - open - 1 <= most; ++at) {
        if (signs.is_one_of(at, ends)) return at - open - 1 >= least ? at : 0;
        if (signs[at] == U'\n' || signs.is_one_of(at, none_of)) return 0;
    }
    return 0;
}

// Apostrophes may stand in it: it ends at the first that no letter follows.
std::size_t closing_single(const Signs &signs, std::size_t open) {
    for (std::size_t at = open + 1; at < signs.size() && at - open - 1 <= LONGEST; ++at) {
        if (at - open - 1 >= SHORTEST && signs[at] == U'’' && !signs.is(at + 1, WORD)) return at;
        if (signs.is_one_of(at, U"‘\n")) return 0;
    }
    return 0;
}

// Where the quotation that opens at a place closes; 0 where it does not.
std::size_t closes(const Signs &signs, std::size_t open) {
    const bool is_tight = open + 1 < signs.size() && !signs.is(open + 1, SPACE);
    std::size_t at = 0;
    switch (signs[open]) {
    case U'"':
        if (!is_tight || (open > 0 && signs.is(open - 1, WORD))) return 0;
        at = closing(signs, open, U"\"", U"", SHORTEST, LONGEST);
        return at && !signs.is(at + 1, WORD) ? at : 0;
    case U'“': return closing(signs, open, U"”", U"“", SHORTEST, LONGEST);
    case U'„': return closing(signs, open, U"“”", U"„", SHORTEST, LONGEST);
    case U'‘': return closing_single(signs, open);
    case U'«': return closing(signs, open, U"»", U"«", SHORTEST, LONGEST);
    case U'»':
        at = is_tight ? closing(signs, open, U"«", U"»", SHORTEST, LONGEST) : 0;
        return at && !signs.is(at - 1, SPACE) ? at : 0;
    case U'「': return closing(signs, open, U"」", U"「", 1, LONGEST_HAN);
    case U'『': return closing(signs, open, U"』", U"『", 1, LONGEST_HAN);
    default: return closing(signs, open, U"》", U"《", 1, LONGEST_HAN);
    }
}

} // namespace

std::vector<Shaped> quotes(View text) {
    const Signs signs(text);
    std::vector<Shaped> found;
    for (std::size_t open = 0; open < signs.size(); ++open) {
        if (!signs.is_one_of(open, OPENING)) continue;
        const std::size_t close = closes(signs, open);
        if (!close) continue;
        std::size_t start = open + 1, end = close;
        while (start < end && signs.is(start, SPACE)) ++start;
        while (start < end && signs.is(end - 1, SPACE)) --end;
        while (start < end && signs.is_one_of(end - 1, U",.;，。；")) --end;
        while (start < end && signs.is(end - 1, SPACE)) --end;
        if (end > start + 1 || (end > start && signs[start] >= 0x80)) found.push_back({start, end, signs[open] == U'《' ? Shape::WORK : Shape::QUOTE});
        open = close;
    }
    return found;
}

} // namespace monograph
