#include "typed.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace monograph {

namespace {

constexpr std::int32_t PERSON = 1; // Persons are the first of the kinds that a lexicon is given.
constexpr std::size_t LONGEST_WORD = 16, LONGEST_BRACKET = 200, LONGEST_BEFORE_BIRTH = 60, SHORTEST_DEFINITION = 3,
                      LONGEST_DEFINITION = 160, MOST_WORDS = 14;
constexpr View SMALL_IN_OTHERS = U"\u017f\u212a\u0130\u0131"; // Where case is of no account these are s, k and i.

// Whether a sign is folded to its small form alone; others, few, are left to the twin.
bool folds_simply(char32_t code) {
    if (code < 0x80 || (code >= 0xC0 && code <= 0xFF && code != U'ß') || (code >= 0x400 && code <= 0x45F)) return true;
    return code != 0x345 && !Unicode::tables().is(code, WORD | UPPER | TITLE | LOWER);
}

// The words of a part in small letters, at most so many; false where the twin must tell what they are.
bool small_words(const Signs &signs, std::size_t first, std::size_t last, std::size_t most, std::vector<std::u32string> &out) {
    for (std::size_t at = first; at < last && out.size() < most;) {
        if (!folds_simply(signs[at])) return false;
        if (!signs.is(at, WORD)) {
            ++at;
            continue;
        }
        std::u32string &word = out.emplace_back();
        for (; at < last && signs.is(at, WORD); ++at) {
            if (!folds_simply(signs[at])) return false;
            word += static_cast<char32_t>(Unicode::tables().lower(signs[at]));
        }
    }
    return true;
}

} // namespace

std::int32_t NameKinds::kind(std::size_t start, std::size_t end) const {
    bool is_loose = false;
    if (signs_.part(start, end).find(U' ') != View::npos) {
        std::vector<std::u32string> words;
        if (!small_words(signs_, start, end, SIZE_MAX, words)) return ASK;
        for (const auto &word : words) is_loose = is_loose || (lexicon_.sets_of(word) & LOOSE);
        if (words.size() > 1) {
            const std::uint32_t first = lexicon_.sets_of(words[0]);
            const bool titled = (first & TITLES) && words[1] != U"of" && words[1] != U"the" && !is_loose;
            if (titled && (first & ADDRESSES)) return PERSON;
            if (const std::uint32_t of_last = lexicon_.kind_of(words.back())) return static_cast<std::int32_t>(of_last);
            if (titled) return PERSON;
        }
    }
    if (signs_.starts_with(end, U" (") && is_born(end + 1)) return PERSON;
    if (const std::int32_t of_definition = defined(end)) return of_definition;
    return is_loose ? 0 : before(start);
}

// Whether brackets tell when or where somebody was born.
bool NameKinds::is_born(std::size_t bracket) const {
    const std::size_t first = bracket + 1;
    if (is_birth(first)) return true;
    for (std::size_t at = first; at < signs_.size() && at - first <= LONGEST_BEFORE_BIRTH && !signs_.is_one_of(at, U"()"); ++at)
        if (signs_.is_one_of(at, U";,") && (is_birth(at + 1) || (signs_[at + 1] == U' ' && is_birth(at + 2)))) return true;
    return false;
}

bool NameKinds::is_birth(std::size_t at) const {
    for (const View told : {U"born", U"b.", U"geb.", U"geboren", U"nacido", U"nacida"})
        if (signs_.starts_with(at, told)) return true;
    for (const View told : {U"né", U"née", U"nato", U"nata"})
        if (signs_.starts_with(at, told) && !signs_.is(at + told.size(), WORD)) return true;
    if (signs_[at] == U'*' && (signs_.is(at + 1, DECIMAL) || (signs_[at + 1] == U' ' && signs_.is(at + 2, DECIMAL)))) return true;
    if (is_life(at)) return true;
    if (signs_.starts_with(at, U"c.") && is_life(signs_[at + 2] == U' ' ? at + 3 : at + 2)) return true;
    if (signs_.digits(at, 4) != 4) return false;
    at += 4; // A year to a year.
    if (signs_[at] == U' ') ++at;
    if (!signs_.is_one_of(at++, U"–-")) return false;
    if (signs_[at] == U' ') ++at;
    return signs_.digits(at, 4) == 4 && signs_[at + 4] == U')';
}

// A day, as 3 de mayo de 1950, to something.
bool NameKinds::is_life(std::size_t at) const {
    const std::size_t digits = signs_.digits(at, 3);
    if (digits != 1 && digits != 2) return false;
    at += digits;
    if (signs_[at] == U'.') ++at;
    if (signs_[at++] != U' ') return false;
    const auto goes_on = [&](std::size_t month) {
        std::size_t end = signs_.run(month, WORD);
        if (end == month || signs_[end++] != U' ') return false;
        for (const std::size_t year : {signs_.starts_with(end, U"de ") ? end + 3 : end, end})
            if (signs_.digits(year, 4) == 4 && signs_.is_one_of(signs_[year + 4] == U' ' ? year + 5 : year + 4, U"–-")) return true;
        return false;
    };
    return (signs_.starts_with(at, U"de ") && goes_on(at + 3)) || goes_on(at);
}

// What a verb and an article behind a name tell of it: a German film director.
std::int32_t NameKinds::defined(std::size_t at) const {
    const bool is_parted = signs_.starts_with(at, U" (") || signs_.starts_with(at, U", ");
    if (!is_parted && signs_[at] != U' ') return 0;
    std::size_t verb = signs_.run(at, SPACE);
    if (signs_[verb] == U'(') {
        std::size_t close = verb + 1;
        while (close < signs_.size() && close - verb - 1 <= LONGEST_BRACKET && signs_[close] != U')') ++close;
        if (signs_[close] != U')' || close - verb - 1 > LONGEST_BRACKET) return 0;
        verb = signs_.run(close + 1, SPACE);
    }
    if (signs_[verb] == U',') verb = signs_.run(verb + 1, SPACE);
    std::u32string written;
    std::size_t end = verb;
    for (; end < signs_.size() && !signs_.is(end, SPACE); ++end) {
        if (end - verb > LONGEST_WORD) return 0;
        if (!folds_simply(signs_[end]) || SMALL_IN_OTHERS.find(signs_[end]) != View::npos) return ASK;
        written += static_cast<char32_t>(Unicode::tables().lower(signs_[end]));
    }
    if (end == signs_.size() || !(lexicon_.sets_of(written) & VERBS)) return 0;
    // Alone it opens a definition as it is written, and with one blank on either side.
    if (!is_parted && (signs_[end] != U' ' || verb != at + 1 || signs_.part(verb, end) != written)) return 0;
    std::vector<std::u32string> words;
    std::size_t article = signs_.run(end, SPACE);
    for (int tries = 0; tries < 2; ++tries) {
        end = signs_.run(article, WORD, LONGEST_WORD);
        if (signs_.part(article, end).find_first_of(SMALL_IN_OTHERS) != View::npos) return ASK;
        words.clear();
        if (end == article || signs_.is(end, WORD) || !small_words(signs_, article, end, 1, words)) return 0;
        const bool is_been = words[0] == U"stato" || words[0] == U"stata";
        if (tries || !is_been || !signs_.is(end, SPACE)) break;
        article = signs_.run(end, SPACE);
    }
    if (!(lexicon_.sets_of(words[0]) & ARTICLES)) return 0;
    std::size_t last = end;
    while (last < signs_.size() && last - end < LONGEST_DEFINITION && !signs_.is_one_of(last, U".\n;")) ++last;
    if (last - end < SHORTEST_DEFINITION) return 0;
    words.clear();
    if (!small_words(signs_, end, last, MOST_WORDS, words)) return ASK;
    for (const auto &word : words)
        if (const std::uint32_t kind = lexicon_.kind_by_definition(word)) return static_cast<std::int32_t>(kind);
    return 0;
}

// A person after a title or a profession: Queen Victoria, the director Agnès Varda.
std::int32_t NameKinds::before(std::size_t start) const {
    if (start == 0 || signs_[start - 1] != U' ') return 0;
    const std::size_t least = start > LONGEST_WORD ? start - LONGEST_WORD : 0;
    std::size_t at = start - 1;
    while (at > least && signs_[at - 1] != U' ') --at;
    if (at == least) at = 0; // No blank is near: as in the twin, from the beginning of the text.
    const View word = signs_.part(at, start - 1);
    if (word.size() > LONGEST_WORD && word[word.size() - 1] != U'.') return 0;
    if (!std::all_of(word.begin(), word.end(), folds_simply)) return ASK;
    if (lexicon_.sets_of(word) & PROFESSIONS) return PERSON;
    std::u32string small(word.substr(0, word.find_last_not_of(U'.') + 1));
    for (char32_t &code : small) code = static_cast<char32_t>(Unicode::tables().lower(code));
    return lexicon_.sets_of(small) & TITLES ? PERSON : 0;
}

} // namespace monograph
