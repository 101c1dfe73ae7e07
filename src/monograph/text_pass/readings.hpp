// Readings of a run of words with capitals: the names that the run or its parts may be.
#pragma once
#include "lexicon.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace monograph {

using Reading = std::pair<std::size_t, std::size_t>; // Indexes of the first word, and of the one after the last.

constexpr std::size_t LONGEST_WORDS = 12, MOST_LOOSE = 2, MOST_SHOUTED = 3;

// Finds the readings of words of one sentence, which are a run or a part of it.
class Reader {
  public:
    Reader(const std::vector<Word> &words, std::size_t begin, std::size_t end, bool is_german, std::vector<Reading> &out)
        : words_(words.data() + begin), count_(end - begin), begin_(begin), is_german_(is_german),
          loose_(is_german ? LOOSE | GERMAN_LOOSE : LOOSE), out_(out) {}

    // Append the readings. ``opens``: the first word begins the sentence.
    void read(bool opens) {
        std::size_t first = 0, last = count_;
        while (last > 1 && words_[last - 1].in(INSIDE | loose_)) --last;
        if (opens && last > 1 && words_[0].is_function) {
            first = 1;
            const bool both = words_[1].is_function ? last > 2 && Unicode::tables().is(words_[1].text[0], UPPER)
                                                    : (words_[0].bare_sets & ALSO_NAMES) != 0;
            if (both) add(0, last);
            while (first < last - 1 && (words_[first].is_lower || words_[first].in(INSIDE))) ++first;
        }
        if (last - first > 1 && words_[first].text.size() == 4 && words_[first].is_number) {
            std::size_t begin = first + 1;
            while (begin < last - 1 && words_[begin].in(INSIDE)) ++begin;
            if (first > 0 && !(words_[0].bare_sets & INSIDE))
                first = begin;
            else
                add(begin, last);
        }
        around_loose(first, last);
    }

  private:
    void add(std::size_t first, std::size_t last) {
        if (last - first > LONGEST_WORDS) return;
        if (std::all_of(words_ + first, words_ + last, [](const Word &word) { return word.has_digit; })) return;
        out_.emplace_back(begin_ + first, begin_ + last);
    }

    std::vector<std::size_t> places(std::size_t first, std::size_t last, std::uint32_t sets) const {
        std::vector<std::size_t> found;
        for (std::size_t at = first; at < last; ++at)
            if (words_[at].in(sets)) found.push_back(at);
        return found;
    }

    // Append the readings of words that loose words (and, in) may separate.
    void around_loose(std::size_t first, std::size_t last) {
        const auto cuts = places(first, last, loose_);
        if (cuts.empty()) {
            add(first, last);
            around_genitive(first, last);
            return;
        }
        // The last word counts as the one before the first.
        const auto gaps = static_cast<std::size_t>(
            std::count_if(cuts.begin(), cuts.end(), [&](std::size_t at) { return !words_[at ? at - 1 : count_ - 1].in(loose_); }));
        if (is_german_ || gaps > MOST_LOOSE) {
            std::vector<std::size_t> firm;
            for (const std::size_t at : cuts)
                if (words_[at].in(is_german_ ? GERMAN_PARTS : FIRM)) firm.push_back(at);
            if (!firm.empty()) {
                for (const auto &[head, tail] : parts(first, last, firm)) around_loose(head, tail);
                return;
            }
        }
        if (gaps <= MOST_LOOSE) add(first, last);
        for (const auto &[head, tail] : parts(first, last, cuts)) {
            add(head, tail);
            around_genitive(head, tail);
        }
    }

    // Append both sides of a genitive of several words: Bram Stoker's Dracula, but not Schindler's List.
    void around_genitive(std::size_t first, std::size_t last) {
        for (std::size_t at = first + 1; at + 1 < std::min(last, first + LONGEST_WORDS); ++at)
            if (words_[at].text.ends_with(U"'s") || words_[at].text.ends_with(U"’s")) {
                add(first, at + 1);
                add(at + 1, last);
            }
    }

    // Return the parts between ``cuts``, without INSIDE words at their ends.
    std::vector<Reading> parts(std::size_t first, std::size_t last, const std::vector<std::size_t> &cuts) const {
        std::vector<Reading> found;
        std::size_t begin = first;
        for (std::size_t at = 0; at <= cuts.size(); ++at) {
            const std::size_t cut = at < cuts.size() ? cuts[at] : last;
            std::size_t head = begin, tail = cut;
            while (head < tail && words_[head].in(INSIDE)) ++head;
            while (tail > head && words_[tail - 1].in(INSIDE)) --tail;
            if (head < tail) found.emplace_back(head, tail);
            begin = cut + 1;
        }
        return found;
    }

    const Word *words_;
    std::size_t count_, begin_;
    bool is_german_;
    std::uint32_t loose_;
    std::vector<Reading> &out_;
};

// Return whether a sentence ends between two words: a function word with a capital follows a dot.
inline bool ends_sentence(const Word &one, const Word &two) {
    if (!one.ends_with(U'.') || two.ends_with(U'.') || two.is_lower || (one.bare_sets & TITLES)) return false;
    return two.is_function;
}

// Return whether a run is a line in capitals: all words, and more than MOST_SHOUTED of three characters or more.
inline bool is_shouted(const std::vector<Word> &words) {
    const auto is_long = [](const Word &word) { return word.text.size() > 2; };
    const auto is_upper = [](const Word &word) { return word.is_upper; };
    return static_cast<std::size_t>(std::count_if(words.begin(), words.end(), is_long)) > MOST_SHOUTED &&
           std::all_of(words.begin(), words.end(), is_upper);
}

// Return the readings of a run. ``opens``: the run begins a sentence.
inline std::vector<Reading> readings(const std::vector<Word> &words, bool opens, bool is_german) {
    std::vector<Reading> found;
    std::size_t first = 0;
    for (std::size_t at = 1; at <= words.size(); ++at)
        if (at == words.size() || ends_sentence(words[at - 1], words[at])) {
            Reader(words, first, at, is_german, found).read(opens || first > 0);
            first = at;
        }
    return found;
}

} // namespace monograph
