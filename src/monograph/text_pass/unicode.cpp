#include "unicode.hpp"

#include <unicode_tables.inc>

#include <algorithm>
#include <iterator>

namespace monograph {

namespace {

// Hangul syllables consist of a lead, a vowel and a tail.
constexpr std::uint32_t FIRST_SYLLABLE = 0xAC00, SYLLABLES = 11172, LEADS = 0x1100, VOWELS = 0x1161, TAILS = 0x11A7;
constexpr std::uint32_t MOST_LEADS = 19, MOST_VOWELS = 21, MOST_TAILS = 28; // Tail 0 means no tail.
constexpr std::size_t PAIR_SIZE = 3, LOWER_SIZE = 2, RUN_SIZE = 5;          // Numbers per entry of the tables.

} // namespace

const Unicode &Unicode::tables() {
    static const Unicode made;
    return made;
}

const char *Unicode::version() { return UNICODE_VERSION; }

Unicode::Unicode() : entries_(UNICODE_END) {
    for (std::size_t at = 0; at < std::size(RUNS); at += RUN_SIZE)
        std::fill(entries_.begin() + RUNS[at], entries_.begin() + RUNS[at + 1] + 1, RUNS[at + 2] | RUNS[at + 3] << 8 | RUNS[at + 4] << 16);
    starts_.push_back(0);
    for (std::size_t at = 0; at < std::size(FOLDS); at += 2 + FOLDS[at + 1]) {
        entries_[FOLDS[at]] |= static_cast<std::uint32_t>(starts_.size()) << 17;
        folds_.append(FOLDS + at + 2, FOLDS + at + 2 + FOLDS[at + 1]);
        starts_.push_back(static_cast<std::uint32_t>(folds_.size()));
    }
}

std::uint32_t Unicode::lower(std::uint32_t code) const {
    if (code < 0x80) return code >= 'A' && code <= 'Z' ? code + 32 : code;
    std::size_t low = 0, high = std::size(LOWERS) / LOWER_SIZE;
    while (low < high) {
        const std::size_t middle = (low + high) / 2;
        (LOWERS[middle * LOWER_SIZE] < code ? low : high) = LOWERS[middle * LOWER_SIZE] < code ? middle + 1 : middle;
    }
    return low < std::size(LOWERS) / LOWER_SIZE && LOWERS[low * LOWER_SIZE] == code ? LOWERS[low * LOWER_SIZE + 1] : code;
}

std::uint32_t Unicode::composed(std::uint32_t first, std::uint32_t second) const {
    if (first - LEADS < MOST_LEADS && second - VOWELS < MOST_VOWELS)
        return FIRST_SYLLABLE + ((first - LEADS) * MOST_VOWELS + (second - VOWELS)) * MOST_TAILS;
    if (first - FIRST_SYLLABLE < SYLLABLES && (first - FIRST_SYLLABLE) % MOST_TAILS == 0 && second - TAILS - 1 < MOST_TAILS - 1)
        return first + (second - TAILS);
    for (std::size_t at = 0; at < std::size(PAIRS); at += PAIR_SIZE)
        if (PAIRS[at] == first && PAIRS[at + 1] == second) return PAIRS[at + 2];
    return 0;
}

void Unicode::append_decomposed(std::u32string &out, std::uint32_t code) const {
    if (code - FIRST_SYLLABLE < SYLLABLES) {
        const std::uint32_t place = code - FIRST_SYLLABLE;
        out += static_cast<char32_t>(LEADS + place / (MOST_VOWELS * MOST_TAILS));
        out += static_cast<char32_t>(VOWELS + place % (MOST_VOWELS * MOST_TAILS) / MOST_TAILS);
        if (place % MOST_TAILS) out += static_cast<char32_t>(TAILS + place % MOST_TAILS);
        return;
    }
    for (std::size_t at = 0; at < std::size(PAIRS); at += PAIR_SIZE)
        if (PAIRS[at + 2] == code) {
            append_decomposed(out, PAIRS[at]);
            out += static_cast<char32_t>(PAIRS[at + 1]);
            return;
        }
    out += static_cast<char32_t>(code);
}

namespace {

// Append ``part``, a decomposed character and its marks, to ``out``: order the marks by class, then compose.
void compose_one(const Unicode &unicode, std::u32string &part, std::u32string &out) {
    const auto class_of = [&](char32_t code) { return unicode.combining_class(code); };
    for (auto first = part.begin(); first != part.end();) {
        if (class_of(*first) == 0) {
            ++first;
            continue;
        }
        const auto last = std::find_if(first, part.end(), [&](char32_t code) { return class_of(code) == 0; });
        std::stable_sort(first, last, [&](char32_t one, char32_t other) { return class_of(one) < class_of(other); });
        first = last;
    }
    // Index in ``out`` of the character that marks may compose with.
    std::size_t base = std::u32string::npos;
    std::uint32_t before = 0; // Class of the last mark after it that did not compose.
    for (const char32_t code : part) {
        const std::uint32_t own = class_of(code);
        if (base != std::u32string::npos && (before == 0 || (own != 0 && before < own))) {
            if (const std::uint32_t joined = unicode.composed(out[base], code)) {
                out[base] = static_cast<char32_t>(joined);
                continue;
            }
        }
        if (own == 0) base = out.size();
        before = own;
        out += code;
    }
}

} // namespace

void compose(std::u32string &text) {
    const Unicode &unicode = Unicode::tables();
    const auto combines = [&](char32_t code) { return unicode.combines(code); };
    auto found = std::find_if(text.begin(), text.end(), combines);
    if (found == text.end()) return;
    std::u32string out, part;
    auto copied = text.begin();
    while (found != text.end()) {
        const auto first = found == text.begin() ? found : found - 1;
        const auto last = std::find_if_not(found, text.end(), combines);
        out.append(copied, first);
        part.clear();
        for (auto at = first; at != last; ++at) unicode.append_decomposed(part, *at);
        compose_one(unicode, part, out);
        copied = last;
        found = std::find_if(last, text.end(), combines);
    }
    out.append(copied, text.end());
    text.swap(out);
}

} // namespace monograph
