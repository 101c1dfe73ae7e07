#include "phrases.hpp"

#include "unicode.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <unordered_map>

namespace monograph {

namespace {

constexpr std::size_t SHORTEST_WORD = 4, LONGEST_PHRASE = 3;

bool is_small(std::uint32_t code) {
    if (code < 0x80) return code >= 'a' && code <= 'z';
    return code < 0x10000 && Unicode::tables().is(code, LOWER);
}

bool is_in_word(std::uint32_t code) { return Unicode::tables().is(code, WORD); }

std::string_view slice(const Text &text, std::size_t first, std::size_t last, std::string &out) {
    to_utf8(text, first, last, out); // Small letters alone: none is half a pair.
    return out;
}

// The words of a run of small letters, parted by one blank or hyphen each, that begins at a place; at least two, or none.
void run_at(const Text &text, std::size_t at, std::vector<Span> &words) {
    words.clear();
    for (;;) {
        const std::size_t begin = at;
        while (at < text.size() && is_small(text[at])) ++at;
        if (at - begin < SHORTEST_WORD) break;
        words.emplace_back(begin, at);
        if (at == text.size() || (text[at] != ' ' && text[at] != '-')) break;
        ++at;
    }
    if (!words.empty() && words.back().second < text.size() && is_in_word(text[words.back().second])) words.pop_back();
    if (words.size() < 2) words.clear();
}

template <class Do> void for_each_part(std::string_view phrase, Do with) {
    for (std::size_t begin = 0;;) {
        const std::size_t end = std::min(phrase.find_first_of(" -", begin), phrase.size());
        with(phrase.substr(begin, end - begin));
        if (end == phrase.size()) return;
        begin = end + 1;
    }
}

struct Phrase {
    std::size_t often = 0;
    std::int64_t worth = 0;
    bool chosen = false;
};

struct Beside {
    std::int64_t degree = 0, frequency = 0;
};

} // namespace

FunctionWords::FunctionWords(const nb::dict &languages) {
    if (languages.size() == 0 || languages.size() > 32) throw std::invalid_argument("give one language to 32");
    std::map<std::string, std::uint32_t> found;
    std::string written;
    for (auto [name, words] : languages) {
        const std::uint32_t bit = 1u << names_.size();
        const Text called(nb::cast<nb::str>(name).ptr());
        to_utf8(called, 0, called.size(), written);
        names_.push_back(written);
        for (nb::handle word : words) {
            const Text text(nb::cast<nb::str>(word).ptr());
            to_utf8(text, 0, text.size(), written);
            found[written] |= bit;
        }
    }
    for (const auto &[word, bits] : found) words_.put(word, bits, 0);
}

const std::string &FunctionWords::language_of(const Text &text, std::size_t characters, std::size_t words) const {
    const Unicode &unicode = Unicode::tables();
    std::size_t counts[32] = {}, seen = 0;
    std::string word;
    const auto count = [&] {
        if (word.empty()) return;
        ++seen;
        const std::uint32_t bits = languages_of(word);
        for (std::size_t at = 0; bits >> at; ++at) counts[at] += bits >> at & 1;
        word.clear();
    };
    for (std::size_t at = 0; at < std::min(characters, text.size()) && seen < words; ++at) {
        const std::uint32_t code = text[at];
        if (unicode.is(code, SPACE))
            count();
        else
            append_utf8(word, unicode.lower(code));
    }
    if (seen < words) count();
    return names_[static_cast<std::size_t>(std::max_element(counts, counts + names_.size()) - counts)];
}

std::vector<Span> FunctionWords::key_phrases(const Text &text, std::string_view language, std::size_t most,
                                             std::size_t words_a_phrase) const {
    const auto named = std::find(names_.begin(), names_.end(), language);
    if (named == names_.end()) throw std::invalid_argument("there is no language " + std::string(language));
    const std::uint32_t own = 1u << (named - names_.begin());
    std::vector<Span> words, spans;
    std::string written;
    const auto add = [&](std::size_t length, std::size_t first, std::size_t last) {
        if (length >= 2 && length <= LONGEST_PHRASE) spans.emplace_back(first, last);
    };
    std::size_t blanks = 0;
    for (std::size_t at = 0; at < text.size(); ++at) blanks += text[at] == ' ';
    std::uint32_t before = ' ';
    for (std::size_t at = 0; at < text.size();) {
        const std::uint32_t code = text[at];
        words.clear();
        if (is_small(code) && before != '-' && !is_in_word(before)) run_at(text, at, words);
        if (words.empty()) {
            before = code;
            ++at;
            continue;
        }
        std::size_t length = 0, begin = at;
        for (const auto &[first, last] : words) {
            if (languages_of(slice(text, first, last, written)) & own) {
                add(length, begin, first - 1);
                length = 0;
                begin = last + 1;
            } else {
                ++length;
            }
        }
        at = words.back().second;
        add(length, begin, at);
        before = text[at - 1];
    }
    if (spans.empty()) return spans;

    std::unordered_map<std::string, Phrase> phrases;
    std::unordered_map<std::string_view, Beside> beside; // Views of the keys above, which stay where they are.
    std::vector<decltype(phrases)::value_type *> in_order, different;
    for (const auto &[first, last] : spans) {
        auto &entry = *phrases.try_emplace(std::string(slice(text, first, last, written))).first;
        if (entry.second.often++ == 0) different.push_back(&entry);
        in_order.push_back(&entry);
        std::int64_t length = 0;
        for_each_part(entry.first, [&](std::string_view) { ++length; });
        for_each_part(entry.first, [&](std::string_view word) {
            Beside &one = beside[word];
            one.degree += length;
            ++one.frequency;
        });
    }
    for (auto *entry : different)
        for_each_part(entry->first, [&](std::string_view word) {
            const Beside &one = beside[word];
            entry->second.worth += 100 * one.degree / one.frequency;
        });
    const std::size_t room = std::min({most, std::max<std::size_t>(1, blanks / words_a_phrase), different.size()});
    std::partial_sort(different.begin(), different.begin() + static_cast<std::ptrdiff_t>(room), different.end(), [](const auto *one, const auto *other) {
        if (one->second.often != other->second.often) return one->second.often > other->second.often;
        if (one->second.worth != other->second.worth) return one->second.worth > other->second.worth;
        return one->first < other->first;
    });
    for (std::size_t at = 0; at < room; ++at) different[at]->second.chosen = true;
    std::vector<Span> chosen;
    for (std::size_t at = 0; at < spans.size(); ++at)
        if (in_order[at]->second.chosen) chosen.push_back(spans[at]);
    return chosen;
}

} // namespace monograph
