#include "segments.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <string>

namespace monograph {

namespace {

// First byte of every word in the main index; indexes of prefixes have other bytes.
constexpr unsigned char MAIN_INDEX = '0';
constexpr std::size_t HEADER = 4, COOKIE = 4; // Bytes.
// TEXT_FOLLOWS: a 1 and the number of the text's column, 1.
constexpr std::uint64_t HIGH_BITS = 0x8080808080808080, LOW_BITS = HIGH_BITS >> 7, TEXT_FOLLOWS = 0x0101;
constexpr std::size_t LEAST_BYTES = 5; // Least bytes of a row with positions in the text.
constexpr std::ptrdiff_t WINDOW = 16;  // Most bytes that usual() reads for a row.
constexpr std::uint64_t MOST_ROW = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint16_t MOST_TIMES = std::numeric_limits<std::uint16_t>::max();
// Limits of FTS5.
constexpr std::uint64_t MOST_SEGMENTS = 2'000, MOST_SEGMENT = 65'535, MOST_PAGE = (1ull << 31) - 1;

// Return eight bytes as a little-endian number.
std::uint64_t eight_of(const unsigned char *at) {
    std::uint64_t found = 0;
    for (std::size_t byte = 0; byte < sizeof(found); ++byte) found |= static_cast<std::uint64_t>(at[byte]) << 8 * byte;
    return found;
}

// Reads SQLite's variable-length integers, of one to nine bytes, from page[at:end].
class Reader {
  public:
    Reader(Page page, std::size_t at, std::size_t end) : page(page), place(at), end(std::min(end, page.size())) {}

    bool number(std::uint64_t &value) {
        if (place < end && page[place] < 0x80) {
            value = page[place++];
            return true;
        }
        value = 0;
        for (int byte = 0; byte < 9; ++byte) {
            if (place >= end) return false;
            const unsigned char one = page[place++];
            if (byte == 8) {
                value = value << 8 | one;
                return true;
            }
            value = value << 7 | (one & 0x7f);
            if (one < 0x80) return true;
        }
        return false;
    }

    bool bytes(std::uint64_t count, Page &found) {
        if (count > rest()) return false;
        found = page.subspan(place, count);
        place += count;
        return true;
    }

    // Return the unread bytes; skip_to() continues at an address in them.
    Page rest_of_page() const { return page.subspan(place, rest()); }
    void skip_to(const unsigned char *at) { place = static_cast<std::size_t>(at - page.data()); }

    std::size_t at() const { return place; }
    std::size_t rest() const { return place < end ? end - place : 0; }
    bool ended() const { return place >= end; }

  private:
    Page page;
    std::size_t place, end;
};

// A page: offsets of its first row and first word, 0 for none; ``size`` is the bytes before the list of word offsets.
struct Leaf {
    Page page;
    std::size_t first_row, size, first_word;
};

// Return a big-endian number of two bytes.
std::size_t two_bytes(Page page, std::size_t at) { return static_cast<std::size_t>(page[at]) << 8 | page[at + 1]; }

bool read_leaf(Page page, Leaf &leaf) {
    if (page.size() < HEADER) return false;
    leaf = {page, two_bytes(page, 0), two_bytes(page, 2), 0};
    if (leaf.size < HEADER || leaf.size > page.size()) return false;
    if (leaf.first_row && (leaf.first_row < HEADER || leaf.first_row >= leaf.size)) return false;
    std::uint64_t first = 0;
    Reader places(page, leaf.size, page.size());
    if (places.ended()) return true;
    if (!places.number(first) || first < HEADER || first >= leaf.size) return false;
    leaf.first_word = first;
    return true;
}

// A word's postings in a page; ``begin`` is 0 if there are none. ``goes_on``: the next page may have more.
struct Extent {
    std::size_t begin = 0, end = 0;
    bool goes_on = false;
};

bool find_word(const Leaf &leaf, std::string_view word, Extent &found) {
    Reader places(leaf.page, leaf.size, leaf.page.size());
    std::vector<unsigned char> wanted(1, MAIN_INDEX);
    wanted.insert(wanted.end(), word.begin(), word.end());
    std::uint64_t at = 0;
    // Length of the common prefix of ``wanted`` and the previous word, which is smaller.
    std::size_t same = 0;
    for (bool is_first = true; !places.ended(); is_first = false) {
        std::uint64_t step = 0, shared = 0, own = 0;
        Page rest;
        if (!places.number(step) || step > leaf.size || (at += step) < HEADER || at >= leaf.size) return false;
        Reader entry(leaf.page, at, leaf.size);
        if (!is_first && !entry.number(shared)) return false;
        if (!entry.number(own) || !entry.bytes(own, rest)) return false;
        if (shared < same) return true; // This word is greater.
        if (shared > same) continue;
        std::size_t equal = 0;
        while (equal < rest.size() && same + equal < wanted.size() && rest[equal] == wanted[same + equal]) ++equal;
        if (equal < rest.size() && (same + equal == wanted.size() || rest[equal] > wanted[same + equal])) return true;
        same += equal;
        if (equal < rest.size() || same < wanted.size()) continue;
        found = {entry.at(), leaf.size, places.ended()};
        if (!places.ended()) {
            if (!places.number(step) || step > leaf.size || at + step > leaf.size || at + step < entry.at()) return false;
            found.end = at + step;
        }
        return true;
    }
    return true;
}

// Reads a word's rows and positions, which continue from page to page.
class Rows {
  public:
    explicit Rows(std::vector<Posting> &found) : found(found) {}

    // Read page[at:end]. The first row there is stored as a number, the others as differences.
    bool read(Page page, std::size_t at, std::size_t end) {
        Reader reader(page, at, end);
        for (bool is_whole = true; !reader.ended(); is_whole = false) {
            std::uint64_t step = 0, size = 0;
            if (left || !reader.number(step) || !reader.number(size)) return false;
            if (step > MOST_ROW) return false;
            const std::uint64_t row = is_whole ? step : posting.row + step;
            if (row > MOST_ROW || (!found.empty() && row <= posting.row)) return false;
            posting = {static_cast<std::uint32_t>(row), {0, 0}};
            in_text = is_column = false;
            left = size >> 1;
            if (!places(reader)) return false;
            if (!left) usual(reader);
        }
        return true;
    }

    // Read the last row's positions that are at the beginning of the next page.
    bool go_on(Page page, std::size_t end) {
        Reader reader(page, HEADER, end);
        return !left || places(reader);
    }

    // Return whether all positions of the last row were read.
    bool is_whole() const { return !left; }

  private:
    // Fast path: read rows while all of their few positions are in the text. The last WINDOW bytes are left to read().
    void usual(Reader &reader) {
        const Page rest = reader.rest_of_page();
        const unsigned char *at = rest.data(), *const end = at + rest.size();
        std::uint64_t row = posting.row;
        while (end - at >= WINDOW) {
            std::uint64_t step = at[0];
            std::size_t head = 2;
            if (step >= 0x80) {
                step = (step & 0x7f) << 7 | (at[1] & 0x7f);
                if (at[head++ - 1] >= 0x80) {
                    step = step << 7 | (at[2] & 0x7f);
                    if (at[head++ - 1] >= 0x80) break;
                }
            }
            // Bytes of the positions. A size of two bytes is too large, too.
            const std::size_t size = at[head - 1] >> 1;
            if (size < 3 || size > 8 || !step || row + step > MOST_ROW) break;
            const std::uint64_t eight = eight_of(at + head);
            // Only the last byte of each number is below 128.
            const std::uint64_t goes_on = eight & HIGH_BITS & ~std::uint64_t{0} >> (64 - 8 * size);
            if ((eight & 0xffff) != TEXT_FOLLOWS || goes_on >> (8 * size - 1)) break;
            row += step;
            found.push_back(
                {static_cast<std::uint32_t>(row), {0, static_cast<std::uint16_t>(size - 2 - ((goes_on >> 7) * LOW_BITS >> 56))}});
            at += head + size;
        }
        posting = found.back();
        reader.skip_to(at);
    }

    // Count the last row's positions that the page has; append the row if it is complete.
    bool places(Reader &reader) {
        Page some;
        if (!reader.bytes(std::min<std::uint64_t>(left, reader.rest()), some) || !count(some)) return false;
        left -= some.size();
        if (!left) found.push_back(posting);
        return left || !is_column;
    }

    // A position is stored as a number above 1: the difference from the previous one, plus 2. A 1 and the number of the
    // column precede the positions in the text.
    bool count(Page some) {
        const unsigned char *at = some.data(), *const end = at + some.size();
        while (at < end) {
            const bool is_long = *at >= 0x80;
            const unsigned char first = *at;
            while (at < end && *at >= 0x80) ++at;
            if (at++ == end) return false;
            if (is_column) {
                if (is_long || first != 1 || in_text) return false;
                in_text = true;
                is_column = false;
            } else if (is_long || first > 1) {
                std::uint16_t &times = in_text ? posting.times.text : posting.times.title;
                if (times++ == MOST_TIMES) return false;
            } else if (!(is_column = first == 1)) {
                return false;
            }
        }
        return true;
    }

    std::vector<Posting> &found;
    Posting posting{};
    std::uint64_t left = 0; // Unread bytes of the last row's positions.
    bool in_text = false, is_column = false;
};

} // namespace

bool read_layout(Page record, std::vector<Segment> &segments) {
    Reader reader(record, COOKIE, record.size());
    std::uint64_t levels = 0, count = 0, written = 0;
    if (!reader.number(levels) || !reader.number(count) || !reader.number(written) || count > MOST_SEGMENTS) return false;
    segments.clear();
    while (levels--) {
        std::uint64_t merging = 0, here = 0;
        if (!reader.number(merging) || !reader.number(here) || here > count - segments.size()) return false;
        const auto begin = static_cast<std::ptrdiff_t>(segments.size());
        for (; here; --here) {
            Segment one{};
            if (!reader.number(one.number) || !reader.number(one.first) || !reader.number(one.last)) return false;
            if (one.first > one.last || one.last > MOST_PAGE || !one.number || one.number > MOST_SEGMENT) return false;
            // A segment without pages is empty: it was merged into the next level.
            segments.push_back(one);
        }
        std::reverse(segments.begin() + begin, segments.end());
    }
    return reader.ended() && segments.size() == count;
}

bool read_postings(std::string_view word, const std::vector<Page> &pages, bool is_all, Postings &found) {
    found.all.clear();
    found.ended = true;
    Leaf leaf;
    Extent extent;
    if (pages.empty() || !read_leaf(pages[0], leaf) || !find_word(leaf, word, extent)) return false;
    if (!extent.begin) return true;
    std::size_t bytes = 0;
    for (const Page page : pages) bytes += page.size();
    found.all.reserve(pages.size() > 1 ? bytes / LEAST_BYTES : 0);
    Rows rows(found.all);
    if (!rows.read(leaf.page, extent.begin, extent.end)) return false;
    for (std::size_t at = 1; extent.goes_on; ++at) {
        if (at == pages.size()) {
            found.ended = is_all;
            return !is_all || rows.is_whole();
        }
        if (!read_leaf(pages[at], leaf)) return false;
        const std::size_t end = leaf.first_word ? leaf.first_word : leaf.size;
        const bool has_rows = leaf.first_row && leaf.first_row < end;
        if (!rows.go_on(leaf.page, has_rows ? leaf.first_row : end)) return false;
        if (has_rows && (!rows.is_whole() || !rows.read(leaf.page, leaf.first_row, end))) return false;
        extent.goes_on = !leaf.first_word;
    }
    return rows.is_whole();
}

std::vector<Posting> merged(std::span<Postings> segments) {
    std::vector<Posting> made;
    for (auto one = segments.rbegin(); one != segments.rend(); ++one) { // The oldest first.
        if (made.empty()) {
            made = std::move(one->all);
        } else if (!one->all.empty() && made.back().row < one->all.front().row) {
            made.insert(made.end(), one->all.begin(), one->all.end());
        } else if (!one->all.empty()) {
            std::vector<Posting> both;
            both.reserve(made.size() + one->all.size());
            // Of equal rows, set_union takes the one of the first list, which is newer.
            std::set_union(one->all.begin(), one->all.end(), made.begin(), made.end(), std::back_inserter(both),
                           [](const Posting &left, const Posting &right) { return left.row < right.row; });
            made = std::move(both);
        }
    }
    return made;
}

} // namespace monograph
