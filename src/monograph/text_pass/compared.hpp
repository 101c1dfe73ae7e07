// Comparison of texts with a question: which of its words a stretch of text has or resembles, and clues of its words.
#pragma once
#include "byte_map.hpp"
#include "fold.hpp"
#include "sentences.hpp"
#include "text.hpp"
#include "tokens.hpp"
#include "unicode.hpp"
#include "word_map.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace monograph {

// Number of partial sums of a product. Dimensions must be multiples of it.
constexpr std::size_t LANES = 16;
constexpr std::size_t AT_ONCE = 8192; // Token vectors per partial sum, as in monograph.derive.embed.static.
constexpr std::size_t AHEAD = 3;      // Words whose vectors are prefetched while others are summed.

// Return whether a character may be part of a word: a word character or a combining accent.
inline bool in_form(char32_t code) { return Unicode::tables().is(code, WORD) || (code >= 0x300 && code <= 0x36F); }

// In a text of only such characters, a word folds to one word, and folds alone as it does in the text.
inline bool folds_alone(std::uint32_t code) {
    return code <= 0xBB || (code >= 0xBF && code <= 0x13E) || (code >= 0x141 && code <= 0x17F) || (code >= 0x2010 && code <= 0x2027) ||
           (code >= 0x2030 && code <= 0x205E);
}

inline bool is_digit(char32_t code) { return code >= U'0' && code <= U'9'; }

// Return the inner product, in partial sums, so that it is vectorised and rounds alike on all machines.
CLONED inline float product(const float *one, const float *other, std::size_t dimension) {
    float lanes[LANES] = {};
    for (std::size_t at = 0; at < dimension; at += LANES)
        for (std::size_t lane = 0; lane < LANES; ++lane) lanes[lane] += one[at + lane] * other[at + lane];
    for (std::size_t half = LANES / 2; half; half /= 2)
        for (std::size_t lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
    return lanes[0];
}

// Return whether a word in lower case is a year or a decade: 1963, 2010, 1960s.
inline bool is_year(View word) {
    const auto digits = static_cast<std::size_t>(
        std::count_if(word.begin(), word.end(), [](char32_t code) { return Unicode::tables().is(code, DECIMAL); }));
    if (word.size() == 4 && digits == 4 && (word.starts_with(U'1') ? is_digit(word[1]) : word.starts_with(U"20"))) return true;
    return word.size() > 1 && digits + 1 == word.size() && word.back() == U's';
}

// Bits of the clues that a word may give.
enum Clue : std::uint32_t { CAPITAL = 1, DATE = 2, AMOUNT = 4 };

// Clues of words, by word in lower case.
struct Clues {
    WordMap words;
};

// A table of token vectors in half precision, which the caller holds.
struct TokenVectors {
    const std::uint16_t *data;
    std::size_t rows, dimension;
};

// The words of a question, for comparison with texts.
class AskedTerms {
  public:
    static constexpr std::size_t MOST = 64;

    // ``words`` are the content words, ``every`` all words in order. The other arguments must outlive this object.
    AskedTerms(Tokenizer &tokenizer, TokenVectors table, const std::vector<std::u32string> &words, const std::vector<std::u32string> &every,
               const Clues &clues)
        : tokenizer_(tokenizer), table_(table), size_(words.size()), clues_(clues) {
        if (words.size() > MOST) throw std::invalid_argument("a question has 64 telling words at most");
        if (table.rows == 0 || table.dimension == 0 || table.dimension % LANES)
            throw std::invalid_argument("token vectors have a multiple of 16 dimensions");
        std::vector<float> sum(table.dimension);
        std::vector<std::uint32_t> tokens;
        std::size_t place = 0;
        for (const std::u32string &word : words) {
            tokens.clear();
            append_tokens(word, tokens);
            const float length = add_up(tokens.data(), tokens.size(), sum);
            for (const float one : sum) targets_.push_back(one / length);
            Stem &own = stems_[static_cast<std::size_t>(numbered(stem(word)))];
            own.has = std::uint64_t{1} << place++;
            own.stands |= own.has;
        }
        std::vector<std::int32_t> numbers;
        for (const std::u32string &word : every) {
            every_.number(bytes_of(word));
            numbers.push_back(numbered(stem(word)));
        }
        for (std::size_t at = 0; at + 1 < numbers.size(); ++at) {
            pairs_.push_back({numbers[at], numbers[at + 1], -1});
            if (at + 2 < numbers.size()) triples_.push_back({numbers[at], numbers[at + 1], numbers[at + 2]});
        }
        for (auto *runs : {&pairs_, &triples_}) {
            std::sort(runs->begin(), runs->end());
            runs->erase(std::unique(runs->begin(), runs->end()), runs->end());
        }
    }

    std::size_t size() const { return size_; }

  private:
    friend class Compared;
    using Run = std::array<std::int32_t, 3>; // Numbers of stems; the last of a pair is -1.
    struct Stem {
        std::uint64_t has = 0, stands = 0; // Bits of the content words with the stem: the last one; all.
    };

    // Return the number of a stem of the question; -1 for other stems.
    std::int32_t number_of(View stemmed) const {
        const auto *found = numbers_.find(bytes_of(stemmed));
        return found ? static_cast<std::int32_t>(found->first) : -1;
    }

    // Return the number of a stem, which becomes a stem of the question.
    std::int32_t numbered(View stemmed) {
        const std::uint32_t number = numbers_.number(bytes_of(stemmed));
        stems_.resize(numbers_.size());
        return static_cast<std::int32_t>(number);
    }

    // Append the tokens of a word; the token of unknown words if it has none.
    void append_tokens(View word, std::vector<std::uint32_t> &tokens) const {
        const std::size_t before = tokens.size();
        if (!tokenizer_.encode(Text(word), tokens) || tokens.size() == before) tokens.push_back(0);
        for (std::size_t at = before; at < tokens.size(); ++at)
            if (tokens[at] >= table_.rows) throw std::invalid_argument("the table lacks a token's row");
    }

    // Write the sum of the vectors of one or more tokens to ``sum``; return its length, or 1 if that is 0.
    float add_up(const std::uint32_t *tokens, std::size_t count, std::vector<float> &sum) const {
        thread_local std::vector<float> part;
        part.resize(table_.dimension);
        sum_rows(table_.data, table_.dimension, tokens, count, AT_ONCE, part.data(), sum.data());
        const float length = std::sqrt(product(sum.data(), sum.data(), table_.dimension));
        return length > 0 ? length : 1;
    }

    Tokenizer &tokenizer_;
    TokenVectors table_;
    std::size_t size_;
    std::vector<float> targets_;      // Vector of each content word, of unit length.
    ByteMap every_{64}, numbers_{64}; // All words; numbers of their stems.
    std::vector<Stem> stems_;
    std::vector<Run> pairs_, triples_; // Consecutive stems, sorted, without repeats.
    const Clues &clues_;
};

// Compares stretches of texts with a question. Each distinct word is compared once.
class Compared {
  public:
    // Columns of a stretch's and of a text's row, after two for each content word.
    static constexpr std::size_t FEATURES = 4, TEXT_FEATURES = 1;

    explicit Compared(const AskedTerms &asked) : asked_(asked), sum_(asked.table_.dimension) {
        // Form 0 is empty; nearest() begins with it.
        form(View());
        settle();
    }

    // Fill a row for each stretch of a text. Columns, with one for each content word in the first two lines:
    // - highest cosine of the content word and any word of the stretch;
    // - 1 if the stretch has the word (of words with one stem, only the last);
    // - number of capitalised words that the question lacks, without the first word: divided by 3, at most 1;
    // - 1 for a time; 1 for an amount;
    // - number of distinct pairs of consecutive words of the question.
    // Fill a row for the text: cosines as above; 1 for each word that occurs in any form; number of distinct triples.
    // Only white space may be between stretches.
    void text(const Text &text, const std::vector<Span> &stretches, double *rows, double *whole) {
        const std::size_t size = asked_.size();
        std::vector<std::int32_t> numbers;
        std::vector<std::size_t> ends; // End of each stretch's forms in read_.
        bool touch = stretches.empty();
        Row all, own;
        read_.clear();
        for (std::size_t at = 0; at < stretches.size(); ++at) {
            own = Row();
            stretch(text, stretches[at], own);
            touch = touch || (at && stretches[at - 1].second == stretches[at].first);
            double *features = rows + at * (2 * size + FEATURES) + size;
            for (std::size_t one = 0; one < size; ++one) features[one] = own.has >> one & 1;
            features += size;
            features[0] = static_cast<double>(std::min<std::size_t>(own.names, 3)) / 3.0;
            features[1] = own.is_dated;
            features[2] = own.is_counted;
            features[3] = static_cast<double>(different(numbers_, asked_.pairs_, 2));
            all.stands |= own.stands;
            numbers.insert(numbers.end(), numbers_.begin(), numbers_.end());
            ends.push_back(read_.size());
        }
        if (touch) { // A word may be divided.
            all = Row();
            stretch(text, {0, text.size()}, all);
            numbers = numbers_;
        }
        settle();
        for (std::size_t at = 0; at < stretches.size(); ++at) nearest(at ? ends[at - 1] : 0, ends[at], rows + at * (2 * size + FEATURES));
        nearest(touch && !ends.empty() ? ends.back() : 0, read_.size(), whole);
        for (std::size_t one = 0; one < size; ++one) whole[size + one] = all.stands >> one & 1;
        whole[2 * size] = static_cast<double>(different(numbers, asked_.triples_, 3));
    }

  private:
    // A distinct word in the form of the index.
    struct Word {
        std::int32_t number; // Of its stem; -1 if the question lacks it.
        bool is_asked;
        std::size_t tokens; // Index of its first token in tokens_.
    };
    // Contents of a stretch, except cosines.
    struct Row {
        std::uint64_t has = 0, stands = 0;
        std::size_t names = 0;
        bool is_dated = false, is_counted = false;
    };
    // A distinct word as written. In the form of the index it may be several words.
    struct Form {
        std::uint64_t has, stands;
        std::int32_t number; // Of the stem of its first word.
        std::uint32_t clues;
        std::size_t words; // Index of its first word in words_of_forms_.
    };

    // Read a stretch into read_, numbers_ and ``row``. Cosines follow in settle().
    void stretch(const Text &text, Span span, Row &row) {
        bool simple = true;
        for (std::size_t at = span.first; simple && at < span.second; ++at) simple = folds_alone(text[at]);
        numbers_.clear();
        bool first = true;
        for (std::size_t at = span.first; at < span.second;) {
            if (!in_form(text[at])) {
                ++at;
                continue;
            }
            written_.clear();
            for (; at < span.second && in_form(text[at]); ++at) written_ += static_cast<char32_t>(text[at]);
            const std::uint32_t place = form(written_);
            const Form &known = forms_[place];
            read_.push_back(place);
            row.has |= known.has;
            if (simple) {
                row.stands |= known.stands;
                numbers_.push_back(known.number);
            }
            row.is_dated = row.is_dated || known.clues & DATE;
            row.is_counted = row.is_counted || known.clues & AMOUNT;
            if (!first) row.names += known.clues & CAPITAL;
            first = false;
        }
        if (simple) return;
        words_of(text.part(span.first, span.second), found_);
        for (const View one : found_) {
            numbers_.push_back(words_[word(one)].number);
            if (numbers_.back() >= 0) row.stands |= asked_.stems_[static_cast<std::size_t>(numbers_.back())].stands;
        }
    }

    // Compute the cosines of new words and forms.
    void settle() {
        const std::size_t size = asked_.size(), dimension = sum_.size();
        if (size == 0) return;
        const auto end_of = [&](std::size_t word) { return word + 1 < words_.size() ? words_[word + 1].tokens : tokens_.size(); };
        const auto fetch = [&](std::size_t word) {
            if (word >= words_.size()) return;
            for (std::size_t at = words_[word].tokens; at < end_of(word); ++at)
                for (std::size_t one = 0; one < dimension; one += LANES) prefetch(asked_.table_.data + tokens_[at] * dimension + one);
        };
        const std::size_t first = near_words_.size() / size;
        for (std::size_t word = first; word < first + AHEAD; ++word) fetch(word);
        for (std::size_t word = first; word < words_.size(); ++word) {
            fetch(word + AHEAD);
            const float length = asked_.add_up(tokens_.data() + words_[word].tokens, end_of(word) - words_[word].tokens, sum_);
            for (std::size_t one = 0; one < size; ++one)
                near_words_.push_back(product(sum_.data(), asked_.targets_.data() + one * dimension, dimension) / length);
        }
        for (std::size_t place = near_forms_.size() / size; place < forms_.size(); ++place) {
            near_forms_.resize(near_forms_.size() + size, 0.0f);
            float *near = near_forms_.data() + place * size;
            const std::size_t end = place + 1 < forms_.size() ? forms_[place + 1].words : words_of_forms_.size();
            for (std::size_t at = forms_[place].words; at < end; ++at)
                for (std::size_t one = 0; one < size; ++one) near[one] = std::max(near[one], near_words_[words_of_forms_[at] * size + one]);
            for (std::size_t one = 0; one < size; ++one)
                if (forms_[place].has >> one & 1) near[one] = 1;
        }
    }

    // Write the highest cosines of read_[from:to] and the empty form to ``near``.
    void nearest(std::size_t from, std::size_t to, double *near) const {
        const std::size_t size = asked_.size();
        float most[AskedTerms::MOST];
        std::copy_n(near_forms_.begin(), size, most);
        for (std::size_t at = from; at < to; ++at) {
            const float *own = near_forms_.data() + read_[at] * size;
            for (std::size_t one = 0; one < size; ++one) most[one] = std::max(most[one], own[one]);
        }
        std::copy_n(most, size, near);
    }

    // Replace ``words`` by the words of a text in the form of the index, in order.
    void words_of(const Text &text, std::vector<View> &words) {
        words.clear();
        each_word(index_form(text, folded_, paired_), [&](View word) { words.push_back(word); });
    }

    // Return the index of a word in words_, which is added if it is new.
    std::uint32_t word(View written) {
        const std::uint32_t place = words_by_text_.number(bytes_of(written));
        if (place < words_.size()) return place;
        const std::int32_t number = asked_.number_of(stem(written));
        words_.push_back({number, number >= 0 && asked_.every_.find(bytes_of(written)), tokens_.size()});
        asked_.append_tokens(written, tokens_);
        return place;
    }

    // Return the index of a form in forms_, which is added if it is new.
    std::uint32_t form(View written) {
        const std::uint32_t place = forms_by_text_.number(bytes_of(written));
        if (place < forms_.size()) return place;
        std::vector<View> &words = own_;
        words.clear();
        bool ascii = true;
        if (std::all_of(written.begin(), written.end(), [](char32_t code) { return code < 0x80; })) {
            folded_.assign(written);
            for (char32_t &code : folded_)
                if (code >= U'A' && code <= U'Z') code += 32;
            words.emplace_back(folded_);
        } else {
            words_of(Text(written), words);
            ascii = false;
        }
        if (words.empty()) words.emplace_back();
        Form made{0, 0, -1, clues_of(written, ascii ? View(folded_) : View()), words_of_forms_.size()};
        for (const View one : words) {
            words_of_forms_.push_back(word(one));
            const Word &known = words_[words_of_forms_.back()];
            if (known.number < 0) continue;
            const AskedTerms::Stem &stem = asked_.stems_[static_cast<std::size_t>(known.number)];
            made.has |= stem.has;
            made.stands |= stem.stands;
            if (known.is_asked) made.clues &= ~static_cast<std::uint32_t>(CAPITAL);
        }
        made.number = words_[words_of_forms_[made.words]].number;
        forms_.push_back(made);
        return place;
    }

    // Return the clues of a word. ``small`` is its lower case, or empty if it is unknown.
    std::uint32_t clues_of(View written, View small) const {
        const Unicode &unicode = Unicode::tables();
        if (written.empty()) return 0;
        std::u32string lower;
        if (small.empty()) {
            for (const char32_t code : written) lower += static_cast<char32_t>(unicode.lower(code));
            small = lower;
        }
        const auto *found = asked_.clues_.words.find(small);
        std::uint32_t clues = found ? found->first : 0;
        if (unicode.is(written.front(), UPPER)) clues |= CAPITAL;
        if (std::any_of(written.begin(), written.end(), [&](char32_t code) { return unicode.is(code, DECIMAL); }))
            clues |= is_year(small) ? AMOUNT | DATE : AMOUNT;
        return clues;
    }

    // Return the number of distinct ``runs`` of ``length`` stems in ``numbers``.
    static std::size_t different(const std::vector<std::int32_t> &numbers, const std::vector<AskedTerms::Run> &runs, std::size_t length) {
        std::vector<std::size_t> found;
        for (std::size_t at = 0; at + length <= numbers.size(); ++at) {
            const AskedTerms::Run run{numbers[at], numbers[at + 1], length > 2 ? numbers[at + 2] : -1};
            if (run[0] < 0 || run[1] < 0) continue;
            const auto place = std::lower_bound(runs.begin(), runs.end(), run);
            if (place != runs.end() && *place == run) found.push_back(static_cast<std::size_t>(place - runs.begin()));
        }
        std::sort(found.begin(), found.end());
        return static_cast<std::size_t>(std::unique(found.begin(), found.end()) - found.begin());
    }

    const AskedTerms &asked_;
    ByteMap words_by_text_, forms_by_text_;
    std::vector<Word> words_;
    std::vector<Form> forms_;
    std::vector<std::uint32_t> tokens_, words_of_forms_;
    std::vector<float> near_words_, near_forms_; // A row of cosines for each.
    std::vector<std::uint32_t> read_;            // Forms of a text's stretches, in order.
    std::vector<std::int32_t> numbers_;          // Of the stems of a stretch's words; -1 for unknown ones.
    std::u32string folded_, paired_, written_;
    std::vector<View> found_, own_;
    std::vector<float> sum_;
};

} // namespace monograph
