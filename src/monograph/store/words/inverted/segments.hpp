// What FTS5 keeps of a word, read out of its pages: the format is told at the head of SQLite's fts5_index.c.
//
// Pages come out of a file and may hold anything: whatever does not add up is told as false, and nothing is read beyond them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace monograph {

// One page, as long as the block it lies in.
using Page = std::span<const unsigned char>;

// A segment and its first and last page, as the record of the index's layout has them.
struct Segment {
    std::uint64_t number, first, last;
};

// The segments of an index, those that were written last first. False for a record of another format.
bool read_layout(Page record, std::vector<Segment> &segments);

// How often a word stands in a title and in a text.
struct Times {
    std::uint16_t title, text;
};

// A chunk that has a word; in neither title nor text where a later segment took it out.
struct Posting {
    std::uint32_t row;
    Times times;

    bool stands() const { return times.title + times.text > 0; }
};

// A word's postings in one segment, rows ascending.
struct Postings {
    std::vector<Posting> all;
    bool ended = true; // What there is of it went on behind the last page given.
};

// Those of a word in pages of a segment that follow each other; on the first it must begin if it is there, and behind them there is
// nothing of it where they are all. False where they do not add up, or tell higher numbers than a posting holds.
bool read_postings(std::string_view word, const std::vector<Page> &pages, bool is_all, Postings &found);

// Those of several segments as one, the last written first: of a row the last counts. They are used up.
std::vector<Posting> merged(std::span<Postings> segments);

} // namespace monograph
