// The best results of a search so far.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "body.hpp"

namespace monograph {

// A row or id, and its score.
struct Scored {
    float score;
    std::int64_t row;
};

// Order of results: higher scores first, then lower rows.
inline bool before(const Scored &a, const Scored &b) { return a.score > b.score || (a.score == b.score && a.row < b.row); }

// Returns -infinity for NaN, so that it sorts last. Stored bytes with a right checksum may contain NaN.
inline float ordered(float score) { return std::isnan(score) ? -std::numeric_limits<float>::infinity() : score; }

// The best results so far, best first. Each id is kept once.
struct Pool {
    std::vector<float> scores;
    std::vector<std::int64_t> ids;
    std::vector<std::uint8_t> fresh; // 1 if the result is new since this was last cleared.
    std::size_t filled = 0;

    explicit Pool(std::size_t capacity) : scores(capacity), ids(capacity), fresh(capacity) {}
    std::size_t capacity() const { return scores.size(); }

    // Returns the lowest score that the pool may accept.
    float least() const { return filled < capacity() ? -std::numeric_limits<float>::infinity() : scores[filled - 1]; }
    bool wants(float score, std::int64_t id) const {
        if (filled < capacity()) return true;
        return filled && before({score, id}, {scores[filled - 1], ids[filled - 1]});
    }
    // Inserts a result if it is good enough.
    void offer(float score, std::int64_t id) {
        std::size_t low = 0, high = filled;
        while (low < high) {
            const std::size_t middle = (low + high) / 2;
            if (before({scores[middle], ids[middle]}, {score, id}))
                low = middle + 1;
            else
                high = middle;
        }
        if (low < filled && scores[low] == score && ids[low] == id) return;
        if (low >= capacity()) return;
        // A vector in two clusters has two estimates by 2-bit codes. Keep the higher.
        const auto held = place_of(id);
        if (held < low) return;
        const std::uint8_t is_fresh = held < filled ? fresh[held] : 1;
        if (held == filled && filled < capacity()) ++filled;
        for (std::size_t at = std::min(held, filled - 1); at > low; --at) {
            scores[at] = scores[at - 1];
            ids[at] = ids[at - 1];
            fresh[at] = fresh[at - 1];
        }
        scores[low] = score;
        ids[low] = id;
        fresh[low] = is_fresh;
    }
    // Returns the rank of an id, or `filled`.
    std::size_t place_of(std::int64_t id) const {
        return static_cast<std::size_t>(std::find(ids.data(), ids.data() + filled, id) - ids.data());
    }
    // Returns the ranks below k of the new results, ascending.
    std::vector<std::int64_t> ranks(std::size_t k) const {
        std::vector<std::int64_t> found;
        for (std::size_t rank = 0; rank < std::min(k, filled); ++rank)
            if (fresh[rank]) found.push_back(static_cast<std::int64_t>(rank));
        return found;
    }
};

// Ids that may be found: bit i of byte j stands for id 8j + i.
struct Bitmap {
    const std::uint8_t *bits = nullptr;
    std::size_t size = 0;
    bool all = true; // Every id may be found, whatever the bits are.
    bool has(std::int64_t id) const {
        if (all) return true;
        const std::size_t place = static_cast<std::size_t>(id);
        return place / 8 < size && (bits[place / 8] >> (place % 8) & 1);
    }
};

} // namespace monograph
