// Hash table of rows. The place of a row is its index in the order of insertion.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace monograph {

using Place = std::uint32_t;

class Places {
  public:
    static constexpr Place NONE = 0xFFFFFFFF;

    Places() : slots_(FIRST, NONE) {}

    // Returns the place of a row, or NONE.
    Place of(std::int64_t row) const { return slots_[slot(row)]; }

    // Adds a row; returns false if the table has it already.
    bool add(std::int64_t row) {
        const std::size_t at = slot(row);
        if (slots_[at] != NONE) return false;
        slots_[at] = static_cast<Place>(rows_.size());
        rows_.push_back(row);
        if (2 * rows_.size() > slots_.size()) grow();
        return true;
    }

    std::size_t size() const { return rows_.size(); }
    const std::vector<std::int64_t> &rows() const { return rows_; }

  private:
    static constexpr std::size_t FIRST = 1024; // Initial number of slots, a power of two.

    // Returns the slot of a row, or the free slot where it belongs.
    std::size_t slot(std::int64_t row) const {
        const std::size_t last = slots_.size() - 1;
        std::size_t at = static_cast<std::size_t>(static_cast<std::uint64_t>(row) * 0x9E3779B97F4A7C15u >> 32) & last;
        while (slots_[at] != NONE && rows_[slots_[at]] != row) at = (at + 1) & last;
        return at;
    }

    // At least half of the slots stay free, so that probing is short.
    void grow() {
        slots_.assign(4 * slots_.size(), NONE);
        for (std::size_t place = 0; place < rows_.size(); ++place) slots_[slot(rows_[place])] = static_cast<Place>(place);
    }

    std::vector<Place> slots_;
    std::vector<std::int64_t> rows_;
};

} // namespace monograph
