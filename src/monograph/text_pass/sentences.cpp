#include "sentences.hpp"

#include "crc32.hpp"
#include "unicode.hpp"

#include <algorithm>
#include <string>

namespace monograph {

namespace {

bool is_space(std::uint32_t code) {
    if (code < 0x80) return code == ' ' || (code >= 9 && code <= 13) || (code >= 28 && code <= 31);
    return Unicode::tables().is(code, SPACE);
}

bool is_stop(std::uint32_t code) { return code == '.' || code == '!' || code == '?'; }

bool is_wide_stop(std::uint32_t code) { return code == 0x3002 || code == 0xFF01 || code == 0xFF1F; }

// text[first:last] without white space at its ends, where it holds anything else.
void append_trimmed(const Text &text, std::size_t first, std::size_t last, std::vector<Span> &out) {
    while (first < last && is_space(text[first])) ++first;
    while (first < last && is_space(text[last - 1])) --last;
    if (first < last) out.emplace_back(first, last);
}

// The same in parts of at most ``longest`` characters, cut at white space where there is some.
void append_cut(const Text &text, std::size_t first, std::size_t last, std::size_t longest, std::vector<Span> &out) {
    while (last - first > longest) {
        std::size_t cut = first + longest;
        while (cut > first + longest / 2 && !is_space(text[cut - 1])) --cut;
        if (cut == first + longest / 2) cut = first + longest;
        append_trimmed(text, first, cut, out);
        first = cut;
    }
    append_trimmed(text, first, last, out);
}

// Whether text[first:last] holds a line of nothing but blanks.
bool has_blank_line(const Text &text, std::size_t first, std::size_t last) {
    bool open = false;
    for (std::size_t at = first; at < last; ++at) {
        if (text[at] == '\n') {
            if (open) return true;
            open = true;
        } else if (text[at] != ' ' && text[at] != '\t') {
            open = false;
        }
    }
    return false;
}

} // namespace

std::vector<std::size_t> sentence_starts(const Text &text) {
    return text.visit([&](const auto *signs) {
        const std::size_t size = text.size();
        std::vector<std::size_t> starts{0};
        const auto add = [&](std::size_t at) {
            if (at < size) starts.push_back(at);
        };
        std::uint32_t before = 0;
        for (std::size_t at = 0; at < size;) {
            const std::uint32_t code = signs[at];
            if (is_stop(before) && is_space(code)) {
                while (at < size && is_space(signs[at])) ++at;
                add(at);
                before = signs[at - 1];
                continue;
            }
            if (is_wide_stop(before)) add(at);
            if (code == '\n') {
                while (at < size && signs[at] == '\n') ++at;
                add(at);
                before = code;
                continue;
            }
            before = code;
            ++at;
        }
        return starts;
    });
}

bool is_easy(const Text &text, std::size_t most) {
    const Unicode &unicode = Unicode::tables();
    const auto is_counted = [&](std::uint32_t code) {
        return code < 0x80 ? code == '\'' || code == '"' || code == '`' || is_stop(code) : !unicode.is(code, WORD | SPACE);
    };
    return text.visit([&](const auto *signs) { return static_cast<std::size_t>(std::count_if(signs, signs + text.size(), is_counted)) <= most; });
}

void part_stretches(const Text &text, const std::vector<Span> &stretches, std::size_t longest, std::vector<Span> &out) {
    std::vector<Span> trimmed;
    const auto add = [&](std::size_t first, std::size_t last) {
        trimmed.clear();
        append_trimmed(text, first, last, trimmed);
        for (const auto &[begin, end] : trimmed) append_cut(text, begin, end, longest, out);
    };
    for (const auto &[begin, end] : stretches) {
        std::size_t start = begin;
        for (std::size_t at = begin; at < end;) {
            if (text[at] != '\n') {
                ++at;
                continue;
            }
            const std::size_t line = at;
            bool empty_line = false;
            for (++at; at < end && is_space(text[at]); ++at) empty_line = empty_line || text[at] == '\n';
            // Prose wrapped at a fixed width goes on in lower case: its line ends are no sentence ends.
            if (empty_line || at >= text.size() || !Unicode::tables().is(text[at], LOWER)) {
                add(start, line);
                start = at;
            }
        }
        add(start, end);
    }
}

std::vector<Break> breaks(const Text &text, const std::vector<Span> &spans, std::size_t before) {
    std::vector<Break> found;
    found.reserve(spans.size());
    std::string written;
    for (const auto &[first, last] : spans) {
        if (!to_utf8(text, first, last, written)) {
            written.clear();
            for (std::size_t at = first; at < last; ++at) append_utf8(written, text[at] - 0xD800 < 0x800 ? '?' : text[at]);
        }
        found.push_back({has_blank_line(text, before, first), crc32(written)});
        before = last;
    }
    return found;
}

} // namespace monograph
