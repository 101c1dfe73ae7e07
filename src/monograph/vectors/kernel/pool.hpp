// The best results of a search so far.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "body.hpp"

namespace monograph {

struct Scored {
    float score;
    std::int64_t row;
};

// Higher scores first, then lower rows: the one order in which results are reported.
inline bool before(const Scored &a, const Scored &b) { return a.score > b.score || (a.score == b.score && a.row < b.row); }

// What is not a number stands behind all that are: a checksum does not say that stored bytes make sense.
inline float ordered(float score) { return std::isnan(score) ? -std::numeric_limits<float>::infinity() : score; }

// The best found so far, in order, in arrays that the caller holds; a result that comes twice is kept once.
struct Pool {
    float *scores;
    std::int64_t *ids;
    std::size_t filled, capacity;
    std::vector<std::uint8_t> fresh;

    // What is below this is not wanted.
    float least() const { return filled < capacity ? -std::numeric_limits<float>::infinity() : scores[filled - 1]; }
    bool wants(float score, std::int64_t id) const {
        if (filled < capacity) return true;
        return capacity && before({score, id}, {scores[filled - 1], ids[filled - 1]});
    }
    void offer(float score, std::int64_t id) {
        std::size_t low = 0, high = filled;
        while (low < high) {
            const std::size_t middle = (low + high) / 2;
            if (before({scores[middle], ids[middle]}, {score, id})) low = middle + 1;
            else high = middle;
        }
        if (low < filled && scores[low] == score && ids[low] == id) return;
        if (low >= capacity) return;
        // Compact codes of two clusters tell two scores of one vector: the higher counts.
        const auto held = static_cast<std::size_t>(std::find(ids, ids + filled, id) - ids);
        if (held < low) return;
        const std::uint8_t is_fresh = held < filled ? fresh[held] : 1;
        if (held == filled && filled < capacity) ++filled;
        for (std::size_t at = std::min(held, filled - 1); at > low; --at) {
            scores[at] = scores[at - 1];
            ids[at] = ids[at - 1];
            fresh[at] = fresh[at - 1];
        }
        scores[low] = score;
        ids[low] = id;
        fresh[low] = is_fresh;
    }
};

struct Bitmap {
    const std::uint8_t *bits = nullptr;
    std::size_t size = 0;
    bool all = true;
    bool has(std::int64_t id) const {
        if (all) return true;
        const std::size_t place = static_cast<std::size_t>(id);
        return place / 8 < size && (bits[place / 8] >> (place % 8) & 1);
    }
};

// Estimates of a compact body's entries, merged into the pool.
inline void scan_compact(const Body &body, Query &query, const Bitmap &allowed, Pool &pool) {
    if (!pool.capacity) return;
    const Tables &tables = query.for_blocks();
    const float base = query.base(body.centre(), body.centre_scale());
    float found[BLOCK], padded[BLOCK] = {};
    for (std::size_t at = 0; at < body.blocks(); ++at) {
        const std::size_t first = at * BLOCK, rows = std::min(BLOCK, body.n - first);
        std::memcpy(padded, body.data + HEADER + 8 * body.n + 4 * first, 4 * rows);
        std::uint32_t high = level->estimate({body.block(at), padded}, tables, base, pool.least(), found);
        if (rows < BLOCK) high &= (1u << rows) - 1;
        for (; high; high &= high - 1) {
            const auto row = static_cast<std::size_t>(std::countr_zero(high));
            const std::int64_t id = body.id(first + row);
            if (id >= 0 && pool.wants(found[row], id) && allowed.has(id)) pool.offer(found[row], id);
        }
    }
}

} // namespace monograph
