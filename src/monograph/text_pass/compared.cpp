#include "compared.hpp"

#include "fold.hpp"
#include "unicode.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string_view>

namespace monograph {

namespace {

constexpr std::size_t AT_ONCE = 8192; // Token vectors that are summed: as monograph.derive.embed.static does it.

std::string_view bytes_of(View text) { return {reinterpret_cast<const char *>(text.data()), sizeof(char32_t) * text.size()}; }

bool in_form(char32_t code) { return Unicode::tables().is(code, WORD) || (code >= 0x300 && code <= 0x36F); }

// Of a text of nothing but such signs every word is one when it is folded too, and the same alone as among the others.
bool folds_alone(std::uint32_t code) {
    return code <= 0xBB || (code >= 0xBF && code <= 0x13E) || (code >= 0x141 && code <= 0x17F) || (code >= 0x2010 && code <= 0x2027) ||
           (code >= 0x2030 && code <= 0x205E);
}

bool is_digit(char32_t code) { return code >= U'0' && code <= U'9'; }

// Added up in lanes, so that several products are made at once and all machines round alike.
float product(const float *one, const float *other, std::size_t dimension) {
    float lanes[LANES] = {};
    for (std::size_t at = 0; at < dimension; at += LANES)
        for (std::size_t lane = 0; lane < LANES; ++lane) lanes[lane] += one[at + lane] * other[at + lane];
    for (std::size_t half = LANES / 2; half; half /= 2)
        for (std::size_t lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
    return lanes[0];
}

// A year, or years: 1963, 2010, 1960s. Of a word in small letters.
bool is_year(View word) {
    const auto digits = static_cast<std::size_t>(std::count_if(word.begin(), word.end(), [](char32_t code) { return Unicode::tables().is(code, DECIMAL); }));
    if (word.size() == 4 && digits == 4 && (word.starts_with(U'1') ? is_digit(word[1]) : word.starts_with(U"20"))) return true;
    return word.size() > 1 && digits + 1 == word.size() && word.back() == U's';
}

} // namespace

AskedTerms::AskedTerms(Tokenizer &tokenizer, TokenVectors table, std::vector<std::u32string> words, const std::vector<std::u32string> &every, WordMap clues)
    : tokenizer_(tokenizer), table_(table), clues_(std::move(clues)) {
    if (words.size() > MOST) throw std::invalid_argument("a question has 64 telling words at most");
    if (table.rows == 0 || table.dimension == 0 || table.dimension % LANES) throw std::invalid_argument("token vectors have a multiple of 16 dimensions");
    std::vector<float> sum(table.dimension);
    for (const std::u32string &word : words) {
        const float length = add_up(word, sum);
        for (const float one : sum) targets_.push_back(one / length);
        stems_.emplace_back(stem(word));
    }
    std::vector<std::int32_t> numbers;
    for (const std::u32string &word : every) {
        if (!every_.find(bytes_of(word))) every_.put(bytes_of(word), 0, 0);
        const auto key = bytes_of(stem(word));
        if (!numbers_.find(key)) numbers_.put(key, static_cast<std::uint32_t>(numbers_.size()), 0);
        numbers.push_back(static_cast<std::int32_t>(numbers_.find(key)->first));
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

std::int32_t AskedTerms::number_of(View stemmed) const {
    const auto *found = numbers_.find(bytes_of(stemmed));
    return found ? static_cast<std::int32_t>(found->first) : -1;
}

float AskedTerms::add_up(View word, std::vector<float> &sum) const {
    thread_local std::vector<std::uint32_t> ids;
    thread_local std::vector<float> part;
    ids.clear();
    part.resize(table_.dimension);
    if (!tokenizer_.encode(Text(word), ids) || ids.empty()) ids.assign(1, 0); // What is no word counts as one that is not known.
    for (const std::uint32_t id : ids)
        if (id >= table_.rows) throw std::invalid_argument("the table lacks a token's row");
    sum_rows(table_.data, table_.dimension, ids, AT_ONCE, part.data(), sum.data());
    const float length = std::sqrt(product(sum.data(), sum.data(), table_.dimension));
    return length > 0 ? length : 1;
}

Compared::Compared(const AskedTerms &asked) : asked_(asked), sum_(asked.table_.dimension) {
    std::uint32_t none = 0;
    form(View(), none); // Each stretch begins with the word that is none.
}

bool Compared::text(const Text &text, const std::vector<Span> &stretches, double *rows, double *whole) {
    const std::size_t size = asked_.size();
    std::vector<std::int32_t> numbers;
    bool touch = stretches.empty();
    Row all, own;
    std::fill(whole, whole + size, 0.0);
    for (std::size_t at = 0; at < stretches.size(); ++at) {
        double *row = rows + at * (2 * size + TOLD);
        own = Row();
        if (!stretch(text, stretches[at], row, own)) return false;
        touch = touch || (at && stretches[at - 1].second == stretches[at].first);
        for (std::size_t one = 0; one < size; ++one) {
            row[size + one] = own.has >> one & 1;
            whole[one] = std::max(whole[one], row[one]);
        }
        row += 2 * size;
        row[0] = static_cast<double>(std::min<std::size_t>(own.names, 3)) / 3.0;
        row[1] = own.is_dated;
        row[2] = own.is_counted;
        row[3] = own.points;
        row[4] = static_cast<double>(different(numbers_, asked_.pairs_, 2));
        all.stands |= own.stands;
        numbers.insert(numbers.end(), numbers_.begin(), numbers_.end());
    }
    if (touch) { // A word may be cut.
        all = Row();
        if (!stretch(text, {0, text.size()}, whole, all)) return false;
        numbers = numbers_;
    }
    for (std::size_t one = 0; one < size; ++one) whole[size + one] = all.stands >> one & 1;
    whole[2 * size] = static_cast<double>(different(numbers, asked_.triples_, 3));
    return true;
}

bool Compared::stretch(const Text &text, Span span, double *near, Row &row) {
    const std::size_t size = asked_.size();
    bool simple = true;
    for (std::size_t at = span.first; simple && at < span.second; ++at) simple = folds_alone(text[at]);
    numbers_.clear();
    for (std::size_t one = 0; one < size; ++one) near[one] = near_forms_[one];
    bool first = true;
    for (std::size_t at = span.first; at < span.second;) {
        if (!in_form(text[at])) {
            ++at;
            continue;
        }
        written_.clear();
        for (; at < span.second && in_form(text[at]); ++at) written_ += static_cast<char32_t>(text[at]);
        std::uint32_t place = 0;
        if (!form(written_, place)) return false;
        const Form &known = forms_[place];
        const float *own = near_forms_.data() + place * size;
        for (std::size_t one = 0; one < size; ++one) near[one] = std::max(near[one], static_cast<double>(own[one]));
        row.has |= known.has;
        if (simple) {
            row.stands |= known.stands;
            numbers_.push_back(known.number);
        }
        row.is_dated = row.is_dated || known.clues & DATE;
        row.is_counted = row.is_counted || known.clues & AMOUNT;
        if (first)
            row.points = known.clues & POINTER;
        else
            row.names += known.clues & CAPITAL;
        first = false;
    }
    if (simple) return true;
    if (!words_of(text.part(span.first, span.second), found_)) return false;
    for (const View one : found_) {
        const Word &known = words_[word(one)];
        row.stands |= known.stands;
        numbers_.push_back(known.number);
    }
    return true;
}

// The words of a text as the index has them, in order; false where it holds a character that the tables do not know.
bool Compared::words_of(const Text &text, std::vector<View> &words) {
    const Unicode &unicode = Unicode::tables();
    const auto in_word = [&](char32_t code) { return unicode.is(code, WORD); };
    if (!fold(text, folded_)) return false;
    const std::u32string &indexed = pair_unspaced(folded_, paired_) ? paired_ : folded_;
    words.clear();
    for (auto first = std::find_if(indexed.begin(), indexed.end(), in_word); first != indexed.end();) {
        const auto last = std::find_if_not(first, indexed.end(), in_word);
        words.emplace_back(first, last);
        first = std::find_if(last, indexed.end(), in_word);
    }
    return true;
}

std::uint32_t Compared::word(View written) {
    if (const auto *found = words_by_text_.find(bytes_of(written))) return found->first;
    const std::size_t size = asked_.size();
    const auto place = static_cast<std::uint32_t>(words_.size());
    words_by_text_.put(bytes_of(written), place, 0);
    const View stemmed = stem(written);
    Word made{0, 0, asked_.number_of(stemmed), asked_.every_.find(bytes_of(written)) != nullptr};
    for (std::size_t one = 0; one < size; ++one) {
        if (stemmed != View(asked_.stems_[one])) continue;
        made.stands |= std::uint64_t{1} << one;
        made.has = std::uint64_t{1} << one;
    }
    words_.push_back(made);
    const float length = asked_.add_up(written, sum_);
    for (std::size_t one = 0; one < size; ++one)
        near_words_.push_back(product(sum_.data(), asked_.targets_.data() + one * sum_.size(), sum_.size()) / length);
    return place;
}

bool Compared::form(View written, std::uint32_t &place) {
    if (const auto *found = forms_by_text_.find(bytes_of(written))) {
        place = found->first;
        return true;
    }
    const std::size_t size = asked_.size();
    place = static_cast<std::uint32_t>(forms_.size());
    std::vector<View> words;
    if (std::all_of(written.begin(), written.end(), [](char32_t code) { return code < 0x80; })) {
        folded_.assign(written);
        for (char32_t &code : folded_)
            if (code >= U'A' && code <= U'Z') code += 32;
        words.emplace_back(folded_);
    } else if (!words_of(Text(written), words)) {
        return false;
    }
    if (words.empty()) words.emplace_back();
    forms_by_text_.put(bytes_of(written), place, 0);
    Form made{0, 0, words_[word(words.front())].number, clues_of(written)};
    near_forms_.resize(near_forms_.size() + size, 0.0f);
    float *near = near_forms_.data() + place * size;
    for (const View one : words) {
        const std::uint32_t held = word(one);
        const Word &known = words_[held];
        made.has |= known.has;
        made.stands |= known.stands;
        if (known.is_asked) made.clues &= ~static_cast<std::uint32_t>(CAPITAL);
        for (std::size_t of = 0; of < size; ++of) near[of] = std::max(near[of], near_words_[held * size + of]);
    }
    for (std::size_t of = 0; of < size; ++of)
        if (made.has >> of & 1) near[of] = 1;
    forms_.push_back(made);
    return true;
}

std::uint32_t Compared::clues_of(View written) const {
    const Unicode &unicode = Unicode::tables();
    if (written.empty()) return 0;
    std::u32string lower(written);
    bool has_digit = false;
    for (char32_t &code : lower) {
        has_digit = has_digit || unicode.is(code, DECIMAL);
        code = static_cast<char32_t>(unicode.lower(code));
    }
    const auto *told = asked_.clues_.find(View(lower));
    std::uint32_t clues = told ? told->first : 0;
    if (unicode.is(written.front(), UPPER)) clues |= CAPITAL;
    if (has_digit) clues |= is_year(lower) ? AMOUNT | DATE : AMOUNT;
    return clues;
}

std::size_t Compared::different(const std::vector<std::int32_t> &numbers, const std::vector<AskedTerms::Run> &runs, std::size_t length) {
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

} // namespace monograph
