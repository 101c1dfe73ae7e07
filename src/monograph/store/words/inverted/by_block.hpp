// A word's postings as they are ranked: in blocks of rows, three bytes each.
#pragma once
#include "segments.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace monograph {

constexpr std::int64_t BLOCK_ROWS = 2'000; // As lengths of chunks are kept.

class ByBlock {
  public:
    // Those of a word in one block. A place is a row's number in the block.
    struct Part {
        std::int64_t number; // Of the block.
        std::uint32_t begin; // Which posting is its first.
        std::uint32_t most;  // How often the word stands in one of its rows at most, in title and text together.
    };

    ByBlock() = default;
    // Of the postings of several segments, the last written first: of a row the last counts. What was taken out is left out. They may be
    // used up.
    explicit ByBlock(std::span<Postings> segments) {
        std::size_t count = 0;
        bool in_order = true; // As where chunks only ever came.
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
    // The postings of a part: from its first to that of the next.
    std::size_t end(std::size_t part) const { return part + 1 < parts_.size() ? parts_[part + 1].begin : places_.size(); }
    const std::uint16_t *places() const { return places_.data(); }
    // How often the word stands in the text of each posting's row; a number above 15 where it stands in the title too, or oftener.
    const std::uint8_t *in_text() const { return often_.data(); }
    // How often the word stands in the title and in the text of a posting's row.
    Times times(std::size_t at) const {
        const std::uint8_t both = often_[at];
        return both == RARE ? rare(at) : Times{static_cast<std::uint16_t>(both >> 4), static_cast<std::uint16_t>(both & 15)};
    }

  private:
    static constexpr std::uint8_t RARE = 0xff; // More than half a byte each can tell.
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
    std::vector<std::uint8_t> often_;
    std::vector<Rare> rare_;
};

} // namespace monograph
