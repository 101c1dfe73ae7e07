// Postings of a word, read from FTS5's pages. SQLite's fts5_index.c describes the format at its head.
//
// Pages may hold any bytes. Functions return false if pages are inconsistent, and never read beyond a page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace monograph {

// The bytes of one page.
using Page = std::span<const unsigned char>;

// A segment, by number, and the numbers of its first and last page.
struct Segment {
    std::uint64_t number, first, last;
};

// Read the segments from an index's structure record, newest first. Return false if it has another format.
bool read_layout(Page record, std::vector<Segment> &segments);

// Number of occurrences of a word in a title and in a text.
struct Times {
    std::uint16_t title, text;
};

// A chunk that has a word. If both numbers are 0, this posting deletes the chunk's posting of an older segment.
struct Posting {
    std::uint32_t row;
    Times times;

    bool stands() const { return times.title + times.text > 0; }
};

// Postings of a word in one segment, in ascending order of rows.
struct Postings {
    std::vector<Posting> all;
    bool ended = true; // False if there are more postings after the last page given.
};

// Read a word's postings from consecutive pages of a segment. If the segment has the word, it begins on the first page.
// ``is_all``: no later page has postings of it. Return false, too, if a number is too large for a Posting.
bool read_postings(std::string_view word, const std::vector<Page> &pages, bool is_all, Postings &found);

// Merge the postings of segments, newest first. Of equal rows, the newest counts. The argument is consumed.
std::vector<Posting> merged(std::span<Postings> segments);

} // namespace monograph
