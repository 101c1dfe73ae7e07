// Where a document's chunks begin and end, from its sentences. Twin: monograph.derive.chunk.
#pragma once
#include "sentences.hpp"
#include "text.hpp"
#include "tokens.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace monograph {

// How strong the break before a sentence is.
enum Strength : std::uint32_t { SENTENCE = 1, PARAGRAPH = 2, HEADING = 3 };

// Most tokens of a chunk, and of what it repeats from the one before.
struct Room {
    std::int64_t tokens, overlap;
};

// A chunk: where it starts, where it starts without what it repeats, and where it ends.
struct ChunkSpan {
    std::size_t start, own, end;
};

// The chunks of a text of these sentences; false where one is left to the twin: it has too many tokens, or strange ones.
// ``headings`` and ``borders``, which no chunk goes across, ascend.
bool cut_chunks(Tokenizer &tokenizer, const Text &text, const std::vector<Span> &sentences, const std::vector<std::int64_t> &headings,
                const std::vector<std::int64_t> &borders, Room room, std::vector<ChunkSpan> &out);

} // namespace monograph
