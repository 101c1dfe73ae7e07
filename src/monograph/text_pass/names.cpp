#include "names.hpp"

#include "number_words.hpp"
#include "readings.hpp"
#include "runs.hpp"
#include "typed.hpp"

#include <algorithm>
#include <utility>

namespace monograph {

namespace {

constexpr std::size_t NEAR = 2000, MOST_HEAD = 4, OPENS_WITHIN = 4;

class Finder {
  public:
    Finder(View text, const Lexicon &lexicon, std::string_view language)
        : text_(text), lexicon_(lexicon), language_(lexicon.language(language)), runs_(text, lexicon), kinds_(text, lexicon),
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
                // Every noun has a capital: the one that follows a number does not make a name of it.
                const std::size_t blank = text_.find(U' ', start);
                if (blank < end && is_number_word(part(start, blank), lexicon_)) {
                    start = blank + 1;
                    opens = false;
                }
            }
            if (start >= end) continue; // Only the article was written in letters that have case.
            if (part(start, end).find(U' ') == View::npos)
                single(Word(part(start, end), lexicon_, language_), start, end, opens);
            else
                several(start, end, opens);
        }
    }

    // Where a first word begins: some names open with a small letter or two (iPhone, eBay, 3Com).
    std::size_t head(std::size_t start, std::size_t least) const {
        std::size_t at = start;
        while (at > least && start - at < MOST_HEAD && text_[at - 1] < 0x80 && text_[at - 1] != U'_' && is(at - 1, WORD)) --at;
        return start - at < MOST_HEAD ? at : start;
    }

    bool is_opener(char32_t code) const {
        return View(U".!?:;\n。！？>*•-\ufe0f").find(code) != View::npos || (code >= 0x2600 && code <= 0x27BF) ||
               (code >= 0x1F000 && code <= 0x1FFFF);
    }

    // Whether a sentence begins at a word, which then has its capital from there.
    bool opens(std::size_t at) const {
        if (at > 1 && text_[at - 1] == U' ' && (is_alnum(at - 2) || text_[at - 2] == U',')) return false;
        const std::size_t least = at > OPENS_WITHIN ? at - OPENS_WITHIN : 0;
        std::size_t between = at; // From here on stand only blanks and signs that open a quotation or a bracket.
        for (; between > least; --between) {
            const char32_t code = text_[between - 1];
            if (code == U'\n') return true;
            if (!unicode_.is(code, SPACE) && View(U"\"'“„«(").find(code) == View::npos) break;
        }
        if (between == 0) return true;
        if (between == least) return false;
        const char32_t code = text_[between - 1];
        if (is_opener(code)) return true;
        // A quotation or bracket that is closed behind a stop; of the signs between only the first may be one of these.
        return between >= least + 2 && View(U"”’)").find(code) != View::npos && is_sign(between - 2, U".!?");
    }

    bool is_alnum(std::size_t at) const { return is(at, WORD) && text_[at] != U'_'; }

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
            std::size_t begin = places[first], stop = places[last] - 1;
            if (unicode_.is(words[first].text[0], LOWER))
                if (const std::size_t after = runs_.after_article(begin)) begin = after;
            if (begin >= stop) continue;
            if (last - first == 1) {
                if (begin == places[first])
                    single(words[first], begin, stop, false);
                else
                    single(Word(part(begin, stop), lexicon_, language_), begin, stop, false);
            } else {
                stop = without_genitive(begin, stop);
                found_.push_back({begin, stop, kinds_.kind(begin, stop), false});
            }
        }
    }

    // A single word with a capital, if it may name something.
    void single(const Word &word, std::size_t start, std::size_t end, bool opens) {
        const View small = word.small;
        if (small.size() < 2 || word.is_function) return;
        if (std::all_of(small.begin(), small.end(), [&](char32_t code) { return unicode_.is(code, DIGIT); })) return;
        if (opens && (is_written_small(small, start, end) || is_exclaimed(end))) return;
        if ((word.bare_sets & NO_SPEAKERS) && is_sign(end, U":")) return;
        end = without_genitive(start, end);
        const bool hangs = start > 1 && text_[start - 1] == U'-' && is_alnum(start - 2); // 7-Eleven
        found_.push_back({start, end, kinds_.kind(start, end), opens && !hangs});
    }

    // Whether a word stands near in small letters, between blanks.
    bool is_written_small(View small, std::size_t start, std::size_t end) const {
        const View near = part(start > NEAR ? start - NEAR : 0, std::min(text_.size(), end + NEAR));
        for (std::size_t at = 1; at + small.size() < near.size(); ++at)
            if (near[at] == small[0] && near[at - 1] == U' ' && near[at + small.size()] == U' ' && near.substr(at, small.size()) == small) return true;
        return false;
    }

    bool is_exclaimed(std::size_t at) const {
        if (!is_sign(at, U"!")) return false;
        const std::size_t next = is_sign(at + 1, U" ") ? at + 2 : at + 1;
        return !(next < text_.size() && text_[next] >= U'a' && text_[next] <= U'z');
    }

    std::size_t without_genitive(std::size_t start, std::size_t end) const {
        return end - start > 3 && text_[end - 1] == U's' && is_sign(end - 2, U"'’") ? end - 2 : end;
    }

    View text_;
    const Lexicon &lexicon_;
    std::uint32_t language_;
    Runs runs_;
    NameKinds kinds_;
    bool elides_, is_german_;
    const Unicode &unicode_ = Unicode::tables();
    std::vector<Name> found_;
};

} // namespace

std::vector<Name> proper_names(View text, const Lexicon &lexicon, std::string_view language, const std::vector<Span> &taken) {
    return Finder(text, lexicon, language).find(taken);
}

} // namespace monograph
