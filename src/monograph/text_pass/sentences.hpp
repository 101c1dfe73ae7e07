// Approximate sentence boundaries, by which the graph numbers sentences.
#pragma once
#include "text.hpp"
#include "unicode.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace monograph {

using Span = std::pair<std::size_t, std::size_t>; // (start, end) in characters.

inline bool is_space(std::uint32_t code) {
    if (code < 0x80) return code == ' ' || (code >= 9 && code <= 13) || (code >= 28 && code <= 31);
    return Unicode::tables().is(code, SPACE);
}

inline bool is_stop(std::uint32_t code) { return code == '.' || code == '!' || code == '?'; }

// Return whether a character ends a sentence without a space after it: 。！？
inline bool is_wide_stop(std::uint32_t code) { return code == 0x3002 || code == 0xFF01 || code == 0xFF1F; }

// Return the offsets where sentences begin, ascending from 0. Line breaks and dots of abbreviations end sentences, too.
inline std::vector<std::size_t> sentence_starts(const Text &text) {
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

} // namespace monograph
