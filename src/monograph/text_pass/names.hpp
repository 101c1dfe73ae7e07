// Proper names, recognised by their capitals.
#pragma once
#include "lexicon.hpp"
#include "readings.hpp"
#include "runs.hpp"
#include "sentences.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

namespace monograph {

constexpr std::size_t NEAR = 2000, MOST_HEAD = 4, OPENS_WITHIN = 4, LONGEST_TELLING = 16;

// The span of a name, in characters.
struct Name {
    std::size_t start, end;
    bool opens;       // Whether it is a single word that begins a sentence.
    bool may_be_told; // Whether a word in it or next to it may show its kind.
};

// Return whether text[first:last] is a number word.
using IsNumber = std::function<bool(std::size_t first, std::size_t last)>;

// Return whether the fold of a character is known to be its lower case. Words with other characters are left to Python.
inline bool folds_simply(char32_t code) {
    if (code < 0x80 || (code >= 0xC0 && code <= 0xFF && code != U'ß') || (code >= 0x400 && code <= 0x45F)) return true;
    return code != 0x345 && !Unicode::tables().is(code, WORD | UPPER | TITLE | LOWER);
}

// Finds the names in one text.
class Finder {
  public:
    Finder(View text, const Lexicon &lexicon, std::string_view language, const IsNumber &is_number)
        : text_(text), lexicon_(lexicon), language_(lexicon.language(language)), runs_(text, lexicon), is_number_(is_number),
          elides_(language == "french" || language == "italian"), is_german_(language == "german") {}

    std::vector<Name> find(const std::vector<Span> &taken) {
        std::size_t at = 0;
        for (const auto &[stop, after] : taken) {
            within(at, stop);
            at = after;
        }
        within(at, text_.size());
        return std::move(found_);
    }

  private:
    bool is(std::size_t at, std::uint32_t flags) const { return at < text_.size() && unicode_.is(text_[at], flags); }
    bool is_sign(std::size_t at, View signs) const { return at < text_.size() && signs.find(text_[at]) != View::npos; }
    View part(std::size_t first, std::size_t last) const { return text_.substr(first, last - first); }

    // Append the names in text[first:stop].
    void within(std::size_t first, std::size_t stop) {
        for (std::size_t at = first;;) {
            const auto [begin, end] = runs_.next(at, stop);
            if (begin == end) return;
            at = end;
            std::size_t start = head(begin, first);
            bool opens = this->opens(start);
            if (elides_ && opens)
                if (const std::size_t after = runs_.after_article(start)) start = after;
            if (opens && is_german_) {
                // Every noun has a capital, so a number word and the noun after it are not one name.
                const std::size_t blank = text_.find(U' ', start);
                if (blank < end && is_number_(start, blank)) {
                    start = blank + 1;
                    opens = false;
                }
            }
            if (start >= end) continue; // The name after the article has no letters with case.
            if (part(start, end).find(U' ') == View::npos)
                single(Word(part(start, end), lexicon_, language_), start, end, opens);
            else
                several(start, end, opens);
        }
    }

    // Return the offset where the first word begins: some names begin with lower case or a digit (iPhone, eBay, 3Com).
    std::size_t head(std::size_t start, std::size_t least) const {
        std::size_t at = start;
        while (at > least && start - at < MOST_HEAD && text_[at - 1] < 0x80 && text_[at - 1] != U'_' && is(at - 1, WORD)) --at;
        return start - at < MOST_HEAD ? at : start;
    }

    // Return whether a sentence may begin after the character: a stop, a bullet, or a symbol such as an emoji.
    bool is_opener(char32_t code) const {
        return View(U".!?:;\n。！？>*•-\ufe0f").find(code) != View::npos || (code >= 0x2600 && code <= 0x27BF) ||
               (code >= 0x1F000 && code <= 0x1FFFF);
    }

    // Return whether a sentence begins at a word, so that its capital does not show a name.
    bool opens(std::size_t at) const {
        if (at > 1 && text_[at - 1] == U' ' && (is_alnum(at - 2) || text_[at - 2] == U',')) return false;
        const std::size_t least = at > OPENS_WITHIN ? at - OPENS_WITHIN : 0;
        // From ``between`` to ``at``, there are only spaces, opening quotation marks and opening brackets.
        std::size_t between = at;
        for (; between > least; --between) {
            const char32_t code = text_[between - 1];
            if (code == U'\n') return true;
            if (!unicode_.is(code, SPACE) && View(U"\"'“„«(").find(code) == View::npos) break;
        }
        if (between == 0) return true;
        if (between == least) return false;
        const char32_t code = text_[between - 1];
        if (is_opener(code)) return true;
        // One closing quotation mark or bracket after a stop.
        return between >= least + 2 && View(U"”’)").find(code) != View::npos && is_sign(between - 2, U".!?");
    }

    bool is_alnum(std::size_t at) const { return is(at, WORD) && text_[at] != U'_'; }

    // Append the names in a run of several words.
    void several(std::size_t start, std::size_t end, bool opens) {
        std::vector<Word> words;
        std::vector<std::size_t> places{start};
        while (places.back() <= end) {
            const std::size_t stop = std::min(text_.find(U' ', places.back()), end);
            words.emplace_back(part(places.back(), stop), lexicon_, language_);
            places.push_back(stop + 1);
        }
        if (is_shouted(words)) return;
        for (const auto &[first, last] : readings(words, opens, is_german_)) {
            const std::size_t stop = places[last] - 1;
            std::size_t begin = places[first];
            if (unicode_.is(words[first].text[0], LOWER))
                if (const std::size_t after = runs_.after_article(begin)) begin = after;
            if (begin >= stop) continue;
            if (last - first == 1) {
                if (begin == places[first])
                    single(words[first], begin, stop, false);
                else
                    single(Word(part(begin, stop), lexicon_, language_), begin, stop, false);
            } else {
                add(begin, stop, false);
            }
        }
    }

    // Append a single word with a capital if it may be a name.
    void single(const Word &word, std::size_t start, std::size_t end, bool opens) {
        const View small = word.small;
        if (word.is_function) return;
        if (std::all_of(small.begin(), small.end(), [&](char32_t code) { return unicode_.is(code, DIGIT); })) return;
        if (opens && (is_written_small(small, start, end) || is_exclaimed(end))) return;
        if ((word.bare_sets & NO_SPEAKERS) && is_sign(end, U":")) return;
        add(start, end, opens);
    }

    // Return whether a word also occurs in lower case, between spaces, within NEAR characters.
    bool is_written_small(View small, std::size_t start, std::size_t end) const {
        const View near = part(start > NEAR ? start - NEAR : 0, std::min(text_.size(), end + NEAR));
        for (std::size_t at = 1; at + small.size() < near.size(); ++at)
            if (near[at] == small[0] && near[at - 1] == U' ' && near[at + small.size()] == U' ' && near.substr(at, small.size()) == small)
                return true;
        return false;
    }

    // Return whether an exclamation mark is at ``at``, and no lower-case letter of ASCII follows it.
    bool is_exclaimed(std::size_t at) const {
        if (!is_sign(at, U"!")) return false;
        const std::size_t next = is_sign(at + 1, U" ") ? at + 2 : at + 1;
        return !(next < text_.size() && text_[next] >= U'a' && text_[next] <= U'z');
    }

    void add(std::size_t start, std::size_t end, bool opens) {
        if (end - start > 3 && text_[end - 1] == U's' && is_sign(end - 2, U"'’")) end -= 2; // Genitive.
        found_.push_back({start, end, opens, is_told_within(start, end) || is_told_before(start) || is_told_behind(end)});
    }

    // Return whether a word may show the kind of a name: it is in TELLING, or its fold is left to Python.
    bool may_tell(View word) const {
        if (word.size() > LONGEST_TELLING) return !std::all_of(word.begin(), word.end(), folds_simply);
        std::u32string small;
        for (const char32_t code : word) {
            if (!folds_simply(code)) return true;
            small += static_cast<char32_t>(unicode_.lower(code));
        }
        return lexicon_.sets_of(small) & TELLING;
    }

    bool is_told_within(std::size_t start, std::size_t end) const {
        if (part(start, end).find(U' ') == View::npos) return false;
        for (std::size_t at = start; at < end;) {
            std::size_t stop = at;
            while (stop < end && is(stop, WORD)) ++stop;
            if (stop > at && may_tell(part(at, stop))) return true;
            at = stop + 1;
        }
        return false;
    }

    bool is_told_before(std::size_t start) const {
        if (start < 2 || text_[start - 1] != U' ') return false;
        std::size_t last = start - 1, at = last;
        while (at > 0 && last - at < LONGEST_TELLING && text_[at - 1] != U' ') --at;
        if (text_[last - 1] == U'.' && at > 0 && text_[at - 1] != U' ') return true; // The word is cut off.
        while (last > at && text_[last - 1] == U'.') --last;
        return may_tell(part(at, last));
    }

    bool is_told_behind(std::size_t end) const {
        std::size_t at = end + 1;
        if (is_sign(end, U" ")) {
            if (is_sign(at, U"(")) return true;
        } else if (is_sign(end, U",") && is_sign(at, U" ")) {
            while (is(at, SPACE)) ++at;
        } else {
            return false;
        }
        std::size_t stop = at;
        while (is(stop, WORD)) ++stop;
        return may_tell(part(at, stop));
    }

    View text_;
    const Lexicon &lexicon_;
    std::uint32_t language_;
    Runs runs_;
    const IsNumber &is_number_;
    bool elides_, is_german_;
    const Unicode &unicode_ = Unicode::tables();
    std::vector<Name> found_;
};

// Return the names in a text, in order of start. No name overlaps ``taken``, spans in ascending order. ``is_number`` is
// called only for German, where every noun has a capital.
inline std::vector<Name> proper_names(View text, const Lexicon &lexicon, std::string_view language, const std::vector<Span> &taken,
                                      const IsNumber &is_number) {
    return Finder(text, lexicon, language, is_number).find(taken);
}

} // namespace monograph
