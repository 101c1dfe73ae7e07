// The language of a text, by its function words, and its key phrases, by RAKE.
#pragma once
#include "byte_map.hpp"
#include "lexicon.hpp"
#include "sentences.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace monograph {

constexpr std::size_t SHORTEST_WORD = 4, LONGEST_PHRASE = 3; // In characters, and in words.

// Runs of words in lower case.
class SmallWords {
  public:
    explicit SmallWords(View text) : text_(text) {}

    // Call ``with`` for each run of two words or more, with one space or hyphen between them.
    template <class Do> void each(Do with) const {
        std::vector<Span> words;
        char32_t before = U' ';
        for (std::size_t at = 0; at < text_.size(); before = text_[at - 1]) {
            words.clear();
            if (before != U'-' && !unicode_.is(before, WORD) && is_small(text_[at])) words_at(at, words);
            if (words.empty()) {
                // No run begins here, or later in the word.
                const bool is_word = unicode_.is(text_[at++], WORD);
                while (is_word && at < text_.size() && unicode_.is(text_[at], WORD)) ++at;
            } else {
                with(words);
                at = words.back().second;
            }
        }
    }

  private:
    bool is_small(char32_t code) const {
        if (code < 0x80) return code >= U'a' && code <= U'z';
        return code < 0x10000 && unicode_.is(code, LOWER);
    }

    void words_at(std::size_t at, std::vector<Span> &words) const {
        for (;;) {
            const std::size_t begin = at;
            while (at < text_.size() && is_small(text_[at])) ++at;
            if (at - begin < SHORTEST_WORD) break;
            words.emplace_back(begin, at);
            if (at == text_.size() || (text_[at] != U' ' && text_[at] != U'-')) break;
            ++at;
        }
        if (!words.empty() && words.back().second < text_.size() && unicode_.is(text_[words.back().second], WORD)) words.pop_back();
        if (words.size() < 2) words.clear();
    }

    View text_;
    const Unicode &unicode_ = Unicode::tables();
};

// Call ``with`` for each word of a phrase.
template <class Do> void for_each_part(View phrase, Do with) {
    for (std::size_t begin = 0, at = 0;; ++at)
        if (at == phrase.size() || phrase[at] == U' ' || phrase[at] == U'-') {
            with(phrase.substr(begin, at - begin));
            if (at == phrase.size()) return;
            begin = at + 1;
        }
}

// A distinct phrase.
struct KeyPhrase {
    View text;
    std::size_t often = 0;  // Number of occurrences.
    std::int64_t worth = 0; // 100 times RAKE's score: degree / frequency, summed over its words.
    bool chosen = false;
};

struct PhraseWord {
    std::int64_t degree = 0, frequency = 0;
};

// Return the language with the most function words in the first ``characters`` and ``words``; of equals, the first.
inline const std::string &language_of(const Lexicon &lexicon, const Text &text, std::size_t characters, std::size_t words) {
    const std::vector<std::string> &names = lexicon.languages();
    if (names.empty()) throw std::invalid_argument("give one language at least");
    const Unicode &unicode = Unicode::tables();
    std::size_t counts[32] = {}, seen = 0, size = 0;
    char word[WordMap::LONGEST + 4]; // Of longer words, which are in no lexicon, only the beginning is stored.
    const auto count = [&] {
        if (!size) return;
        ++seen;
        const std::uint32_t bits = size > WordMap::LONGEST ? 0 : lexicon.find(std::string_view(word, size)).second;
        for (std::size_t at = 0; bits >> at; ++at) counts[at] += bits >> at & 1;
        size = 0;
    };
    text.visit([&](const auto *signs) {
        for (std::size_t at = 0; at < std::min(characters, text.size()) && seen < words; ++at) {
            const std::uint32_t code = signs[at];
            if (unicode.is(code, SPACE))
                count();
            else if (size <= WordMap::LONGEST)
                size += write_utf8(word + size, code < 0x80 ? (code >= 'A' && code <= 'Z' ? code + 32 : code) : unicode.lower(code));
        }
    });
    if (seen < words) count();
    return names[static_cast<std::size_t>(std::max_element(counts, counts + names.size()) - counts)];
}

// Return the spans of the best phrases in order: of the most frequent ones, then of those with the highest score. At
// most ``most`` distinct phrases are chosen, and at most one for each ``words_a_phrase`` words, but at least one.
inline std::vector<Span> key_phrases(const Lexicon &lexicon, View text, std::string_view language, std::size_t most,
                                     std::size_t words_a_phrase) {
    const std::uint32_t own = lexicon.language(language);
    std::vector<Span> spans;
    const auto add = [&](std::size_t length, std::size_t first, std::size_t last) {
        if (length >= 2 && length <= LONGEST_PHRASE) spans.emplace_back(first, last);
    };
    SmallWords(text).each([&](const std::vector<Span> &words) {
        std::size_t length = 0, begin = words.front().first;
        for (const auto &[first, last] : words) {
            if (lexicon.find(text.substr(first, last - first)).second & own) {
                add(length, begin, first - 1);
                length = 0;
                begin = last + 1;
            } else {
                ++length;
            }
        }
        add(length, begin, words.back().second);
    });
    if (spans.empty()) return spans;

    ByteMap known(std::bit_ceil(2 * spans.size())), words(std::bit_ceil(2 * LONGEST_PHRASE * spans.size()));
    std::vector<KeyPhrase> phrases;
    std::vector<PhraseWord> beside;
    std::vector<std::size_t> in_order;
    for (const auto &[first, last] : spans) {
        const View phrase = text.substr(first, last - first);
        in_order.push_back(known.number(bytes_of(phrase)));
        if (in_order.back() == phrases.size()) phrases.push_back({phrase});
        ++phrases[in_order.back()].often;
        const auto length = 1 + std::count_if(phrase.begin(), phrase.end(), [](char32_t code) { return code == U' ' || code == U'-'; });
        for_each_part(phrase, [&](View word) {
            const std::size_t number = words.number(bytes_of(word));
            beside.resize(words.size());
            beside[number].degree += length;
            ++beside[number].frequency;
        });
    }
    std::vector<KeyPhrase *> different;
    for (KeyPhrase &one : phrases) {
        for_each_part(one.text, [&](View word) {
            const PhraseWord &its = beside[words.number(bytes_of(word))];
            one.worth += 100 * its.degree / its.frequency;
        });
        different.push_back(&one);
    }
    const auto blanks = static_cast<std::size_t>(std::count(text.begin(), text.end(), U' '));
    const std::size_t room = std::min({most, std::max<std::size_t>(1, blanks / words_a_phrase), different.size()});
    std::partial_sort(different.begin(), different.begin() + static_cast<std::ptrdiff_t>(room), different.end(),
                      [](const auto *one, const auto *other) {
                          if (one->often != other->often) return one->often > other->often;
                          if (one->worth != other->worth) return one->worth > other->worth;
                          return one->text < other->text;
                      });
    for (std::size_t at = 0; at < room; ++at) different[at]->chosen = true;
    std::vector<Span> chosen;
    for (std::size_t at = 0; at < spans.size(); ++at)
        if (phrases[in_order[at]].chosen) chosen.push_back(spans[at]);
    return chosen;
}

} // namespace monograph
