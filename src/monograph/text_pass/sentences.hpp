// Where sentences are: roughly, as the graph counts them, and finely, within what sentencex found.
#pragma once
#include "text.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace monograph {

using Span = std::pair<std::size_t, std::size_t>;

// Where the sentences of a chunk begin, ascending, the first at 0: abbreviations end sentences too.
std::vector<std::size_t> sentence_starts(const Text &text);

// Whether a text has at most so many quotes, stops and signs beyond ASCII that are in no word. Twin: monograph.derive.stretches.
bool is_easy(const Text &text, std::size_t most);

// Append what some stretches hold of sentences, parted at ends of lines that end one, without white space at their ends,
// each of at most ``longest`` characters. No stretch may reach beyond the text.
void part_stretches(const Text &text, const std::vector<Span> &stretches, std::size_t longest, std::vector<Span> &out);

struct Break {
    bool blank_line;    // Whether one parts a sentence from the one before it.
    std::uint32_t mark; // CRC-32 of the sentence; half a pair counts as a question mark.
};

// What stands before each of some spans, which ascend; the first follows what ends at ``before``.
std::vector<Break> breaks(const Text &text, const std::vector<Span> &spans, std::size_t before);

} // namespace monograph
