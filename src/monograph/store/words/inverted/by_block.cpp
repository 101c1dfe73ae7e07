#include "by_block.hpp"

#include <algorithm>
#include <limits>

namespace monograph {

ByBlock::ByBlock(std::span<Postings> segments) {
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

void ByBlock::add(std::span<const Posting> some) {
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

std::size_t ByBlock::bytes() const {
    return sizeof(*this) + parts_.size() * sizeof(Part) + places_.size() * (sizeof(std::uint16_t) + 1) + rare_.size() * sizeof(Rare);
}

Times ByBlock::rare(std::size_t at) const {
    return std::lower_bound(rare_.begin(), rare_.end(), at, [](const Rare &one, std::size_t place) { return one.at < place; })->times;
}

} // namespace monograph
