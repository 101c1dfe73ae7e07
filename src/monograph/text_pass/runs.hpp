// Runs of words with capitals, equal to those of the regular expression in tests/support/oracles/names.py. A function
// for a part of it returns the end of the match, or 0 for no match, because no match ends at 0.
#pragma once
#include "lexicon.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace monograph {

constexpr std::size_t LONGEST_TAIL = 16, LONGEST_SHORTENED = 4, LONGEST_LINK = 16, MOST_LINKS = 3;

class Runs {
  public:
    Runs(View text, const Lexicon &lexicon) : text_(text), lexicon_(lexicon) {}

    // Return (start, end) of the first run in text[at:stop]; (stop, stop) if there is none.
    std::pair<std::size_t, std::size_t> next(std::size_t at, std::size_t stop) const {
        stop_ = stop;
        for (; at < stop; ++at) {
            if (!unicode_.is(text_[at], UPPER | TITLE | DECIMAL)) continue;
            const std::size_t after = ordinal(at);
            std::size_t end = word(after ? after : at);
            if (end == 0) continue;
            for (;;) {
                std::size_t longer = linked(end);
                if (!longer) longer = number(end);
                if (!longer) longer = year(end);
                if (!longer) return {at, end};
                end = longer;
            }
        }
        return {stop, stop};
    }

    // Return the offset after an elided article (L'Aquila); 0 if there is none at ``at``.
    std::size_t after_article(std::size_t at) const {
        for (const View article : {U"C",  U"D",   U"J",    U"L",    U"M",    U"N",    U"S", U"T", U"Qu",   U"Un",
                                   U"Al", U"All", U"Dall", U"Dell", U"Nell", U"Sull", U"d", U"l", U"dell", U"nell"}) {
            const std::size_t mark = at + article.size();
            if (mark + 1 >= text_.size() || text_.substr(at, article.size()) != article || View(U"'’").find(text_[mark]) == View::npos)
                continue;
            const char32_t next = text_[mark + 1];
            const bool is_letter = unicode_.is(next, WORD) && !unicode_.is(next, DECIMAL) && next != U'_';
            if (is_letter && !(next >= U'a' && next <= U'z')) return mark + 1;
        }
        return 0;
    }

  private:
    bool is(std::size_t at, std::uint32_t flags) const { return at < stop_ && unicode_.is(text_[at], flags); }
    bool is_sign(std::size_t at, View signs) const { return at < stop_ && signs.find(text_[at]) != View::npos; }
    bool is_capital(std::size_t at) const { return is(at, UPPER | TITLE) && text_[at] < 0x10000; }

    bool is_letter(std::size_t at) const {
        if (at >= stop_) return false;
        const char32_t code = text_[at];
        return code < 0x10000 && (unicode_.is(code, UPPER | LOWER | DIGIT) || code == U'_' || (code >= 0x300 && code < 0x370));
    }

    // \b in the expression. The character before ``at`` may be before the searched part.
    bool is_border(std::size_t at) const {
        const bool before = at > 0 && unicode_.is(text_[at - 1], WORD);
        return before != is(at, WORD);
    }

    // Return whether a word of the set begins at ``at`` and ends at a border.
    bool follows_set(std::size_t at, std::uint32_t set, std::size_t longest) const {
        std::size_t end = at;
        while (end - at < longest && is(end, WORD)) ++end;
        return end > at && is_border(end) && (lexicon_.sets_of(text_.substr(at, end - at)) & set);
    }

    std::size_t letters(std::size_t at) const {
        while (is_letter(at)) ++at;
        return at;
    }

    std::size_t digits(std::size_t at, std::size_t most) const {
        const std::size_t end = at + most;
        while (at < end && is(at, DECIMAL)) ++at;
        return at;
    }

    // A character between two parts of a word: O'Brien, AT&T, Jean-Paul.
    std::size_t joint(std::size_t at) const {
        if (is_sign(at, U".'’ʻʼ&\u00ad\u200b\u200c\u200d\u2060")) return at + 1;
        return is_sign(at, U"-") && !follows_set(at + 1, TAILS, LONGEST_TAIL) ? at + 1 : 0;
    }

    // Return whether the dot at ``at`` belongs to the word before it, which is an initial or an abbreviation.
    bool has_dot(std::size_t at) const {
        if (!is_sign(at, U".") || at == 0) return false;
        if (is_capital(at - 1) && is_border(at - 1)) return true;
        for (std::size_t length = 1; length <= std::min(at, LONGEST_SHORTENED); ++length)
            if (is_border(at - length) && (lexicon_.sets_of(text_.substr(at - length, length)) & SHORTENED)) return true;
        return false;
    }

    std::size_t word(std::size_t at) const {
        if (!is_capital(at)) return 0;
        at = letters(at + 1);
        while (const std::size_t after = joint(at)) {
            const std::size_t end = letters(after);
            if (end == after) break;
            at = end;
        }
        return has_dot(at) ? at + 1 : at;
    }

    // A number before a name, and the space after it: 5th Avenue.
    std::size_t ordinal(std::size_t at) const {
        if (!is(at, DECIMAL)) return 0;
        if (at > 0 && (unicode_.is(text_[at - 1], WORD) || View(U".,:/-").find(text_[at - 1]) != View::npos)) return 0;
        std::size_t end = digits(at, 4);
        if (end + 1 < stop_)
            for (const View suffix : {U"st", U"nd", U"rd", U"th"})
                if (text_.substr(end, 2) == suffix) {
                    end += 2;
                    break;
                }
        return is_sign(end, U" ") && is_capital(end + 1) ? end + 1 : 0;
    }

    // The next word of a run, after a space and words that continue a name.
    std::size_t linked(std::size_t at) const {
        const std::size_t blank = is_sign(at, U",") ? at + 1 : at;
        if (!is_sign(blank, U" ")) return 0;
        for (const View younger : {U"Jr", U"Sr"})
            if (blank + 2 < stop_ && text_.substr(blank + 1, 2) == younger && is_border(blank + 3)) return word(blank + 1);
        if (blank != at) return 0;
        std::size_t places[MOST_LINKS + 1] = {at + 1}, count = 1;
        while (count <= MOST_LINKS) {
            const std::size_t first = places[count - 1];
            std::size_t end = first;
            while (end < stop_ && end - first < LONGEST_LINK && text_[end] != U' ') ++end;
            if (!is_sign(end, U" ") || !(lexicon_.sets_of(text_.substr(first, end - first)) & LINKS)) break;
            places[count++] = end + 1;
        }
        while (count-- > 0) {
            if (const std::size_t after = elided(places[count]))
                if (const std::size_t end = word(after)) return end;
            if (const std::size_t end = word(places[count])) return end;
        }
        return 0;
    }

    // A number after a name, unless it continues as a word, range, percentage or longer number.
    std::size_t number(std::size_t at) const {
        if (!is_sign(at, U" ")) return 0;
        std::size_t end = digits(at + 1, 4);
        if (end == at + 1) return 0;
        if (is_sign(end, U".") && is(end + 1, DECIMAL)) end = digits(end + 1, 2);
        if (is(end, WORD) || is_sign(end, U"–%-")) return 0;
        return is_sign(end, U".,:/") && is(end + 1, DECIMAL) ? 0 : end;
    }

    // A short year: Summer of '69.
    std::size_t year(std::size_t at) const {
        const std::size_t mark = is_sign(at, U" ") ? at + 1 : at;
        const bool is_year = is_sign(mark, U"'’") && is(mark + 1, DECIMAL) && is(mark + 2, DECIMAL) && !is(mark + 3, WORD);
        return is_year ? mark + 3 : 0;
    }

    // An elided article in lower case, with its apostrophe.
    std::size_t elided(std::size_t at) const {
        for (const View article : {U"d", U"l", U"dell", U"nell"})
            if (at + article.size() < stop_ && text_.substr(at, article.size()) == article && is_sign(at + article.size(), U"'’"))
                return at + article.size() + 1;
        return 0;
    }

    View text_;
    const Lexicon &lexicon_;
    const Unicode &unicode_ = Unicode::tables();
    mutable std::size_t stop_ = 0; // End of the searched part.
};

} // namespace monograph
