#include "lexicon.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

namespace monograph {

namespace {

constexpr std::pair<const char *, Set> SETS[] = {
    {"inside", INSIDE},
    {"loose", LOOSE},
    {"firm", FIRM},
    {"shortened", SHORTENED},
    {"tails", TAILS},
    {"titles", TITLES},
    {"no_speakers", NO_SPEAKERS},
    {"also_names", ALSO_NAMES},
    {"links", LINKS},
    {"german_loose", GERMAN_LOOSE},
    {"german_parts", GERMAN_PARTS},
    {"courtesy", COURTESY},
    {"no_person", NO_PERSON},
    {"small", SMALL_WORDS},
    {"joined", JOINED},
    {"telling", TELLING},
};

std::string utf8_of(nb::handle given) {
    const Text text(nb::cast<nb::str>(given).ptr());
    std::string out;
    if (!to_utf8(text, 0, text.size(), out)) throw std::invalid_argument("a word is no text");
    return out;
}

template <class Do> void for_each_group(const nb::dict &groups, Do with) {
    for (auto [name, words] : groups)
        for (nb::handle word : words) with(utf8_of(name), utf8_of(word));
}

} // namespace

Lexicon::Lexicon(const nb::dict &sets, const nb::dict &languages) {
    if (languages.size() > 32) throw std::invalid_argument("give at most 32 languages");
    std::map<std::string, std::pair<std::uint32_t, std::uint32_t>> found;
    for_each_group(sets, [&](const std::string &name, const std::string &word) {
        const auto *set = std::find_if(std::begin(SETS), std::end(SETS), [&](const auto &one) { return name == one.first; });
        if (set == std::end(SETS)) throw std::invalid_argument("there is no set " + name);
        found[word].first |= set->second;
    });
    for (auto [name, words] : languages) languages_.push_back(utf8_of(name));
    for_each_group(languages, [&](const std::string &name, const std::string &word) { found[word].second |= language(name); });
    for (const auto &[word, of] : found) words_.put(word, of.first, of.second);
}

std::uint32_t Lexicon::language(std::string_view name) const {
    const auto found = std::find(languages_.begin(), languages_.end(), name);
    if (found == languages_.end()) throw std::invalid_argument("there is no language " + std::string(name));
    return 1u << (found - languages_.begin());
}

Word::Word(View given, const Lexicon &lexicon, std::uint32_t language)
    : text(given), small(bare(given)), sets(lexicon.sets_of(given)), bare_sets(0), is_function(false), is_lower(false), is_upper(false),
      has_digit(false), is_number(!given.empty()) {
    const Unicode &unicode = Unicode::tables();
    bool lower = false, upper = false, title = false;
    for (const char32_t code : given) {
        lower = lower || unicode.is(code, LOWER);
        upper = upper || unicode.is(code, UPPER);
        title = title || unicode.is(code, TITLE);
        has_digit = has_digit || unicode.is(code, DECIMAL);
        is_number = is_number && unicode.is(code, DIGIT);
    }
    is_lower = lower && !upper && !title;
    is_upper = upper && !lower && !title;
    const auto [its_sets, languages] = lexicon.find(small);
    bare_sets = its_sets;
    // Function words include contractions (it's, don't), and single letters outside of ASCII, as in Greek.
    is_function = (languages & language) || (given.size() == 1 && given[0] >= 0x80);
    if (!is_function) {
        const std::size_t mark = small.find_first_of(U"'’");
        if (mark != std::u32string::npos) {
            std::u32string tail = small.substr(mark + 1);
            std::replace(tail.begin(), tail.end(), U'’', U'\'');
            is_function = given.ends_with(tail) && ((lexicon.find(View(small).substr(0, mark)).second & language) || tail == U"t");
        }
    }
}

} // namespace monograph
