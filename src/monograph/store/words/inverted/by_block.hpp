// A word's postings for ranking, in blocks of rows, at three bytes each.
#pragma once
#include "segments.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace monograph {

constexpr std::int64_t BLOCK_ROWS = 2'000; // As in the table of lengths.

class ByBlock {
  public:
    // The postings in one block. A place is a row's index in its block.
    struct Part {
        std::int64_t number; // Of the block.
        std::uint32_t begin; // Index of its first posting.
        std::uint32_t most;  // Most occurrences of the word in one row, title and text together.
    };

    ByBlock() = default;
    // Take the postings of segments, newest first, which may be consumed. Of equal rows, the newest counts; deleted
    // rows are left out.
    explicit ByBlock(std::span<Postings> segments) {
        std::size_t count = 0;
        bool in_order = true; // As in a file to which chunks were only added.
        const Posting *last = nullptr;
        for (auto one = segments.rbegin(); one != segments.rend(); ++one) { // The oldest first.
            count += one->all.size();
            if (one->all.empty()) continue;
            in_order = in_order && (!last || last->row < one->all.front().row);
            last = &one->all.back();
        }
        places_.reserve(count);
        often_.reserve(count);
        if (in_order) {
            for (auto one = segments.rbegin(); one != segments.rend(); ++one) add(one->all);
        } else {
            add(merged(segments));
        }
    }

    std::size_t size() const { return places_.size(); }

    std::size_t bytes() const {
        return sizeof(*this) + parts_.size() * sizeof(Part) + places_.size() * (sizeof(std::uint16_t) + 1) + rare_.size() * sizeof(Rare);
    }

    const std::vector<Part> &parts() const { return parts_; }
    // Return the index after a part's last posting.
    std::size_t end(std::size_t part) const { return part + 1 < parts_.size() ? parts_[part + 1].begin : places_.size(); }
    // Return the places of all postings.
    const std::uint16_t *places() const { return places_.data(); }
    // Return the occurrences in the text of each posting; above 15 if there are more, or any in the title.
    const std::uint8_t *in_text() const { return often_.data(); }
    // Return the occurrences in title and text of a posting.
    Times times(std::size_t at) const {
        const std::uint8_t both = often_[at];
        return both == RARE ? rare(at) : Times{static_cast<std::uint16_t>(both >> 4), static_cast<std::uint16_t>(both & 15)};
    }

  private:
    static constexpr std::uint8_t RARE = 0xff; // The numbers, which do not fit into four bits each, are in rare_.
    // A posting, by index, with many occurrences.
    struct Rare {
        std::uint32_t at;
        Times times;
    };

    void add(std::span<const Posting> some) {
        std::int64_t begin = parts_.empty() ? 0 : parts_.back().number * BLOCK_ROWS, end = parts_.empty() ? 0 : begin + BLOCK_ROWS;
        for (const Posting &one : some) {
            if (!one.stands()) continue;
            if (one.row >= end) {
                const std::int64_t number = one.row / BLOCK_ROWS;
                begin = number * BLOCK_ROWS;
                end = begin + BLOCK_ROWS;
                parts_.push_back({number, static_cast<std::uint32_t>(places_.size()), 0});
            }
            const auto [title, text] = one.times;
            const bool is_rare = title > 15 || text > 15 || (title == 15 && text == 15);
            if (is_rare) rare_.push_back({static_cast<std::uint32_t>(places_.size()), one.times});
            places_.push_back(static_cast<std::uint16_t>(one.row - begin));
            often_.push_back(is_rare ? RARE : static_cast<std::uint8_t>(title << 4 | text));
            parts_.back().most = std::max<std::uint32_t>(parts_.back().most, title + text);
        }
    }

    Times rare(std::size_t at) const {
        return std::lower_bound(rare_.begin(), rare_.end(), at, [](const Rare &one, std::size_t place) { return one.at < place; })->times;
    }

    std::vector<Part> parts_;
    std::vector<std::uint16_t> places_;
    std::vector<std::uint8_t> often_; // Occurrences: title << 4 | text, or RARE.
    std::vector<Rare> rare_;          // Sorted by index.
};

} // namespace monograph
