// Cache of clusters of 2-bit codes, and of the 8-bit codes of single vectors. Searches read it without the interpreter
// lock; a thread that adds to it holds that lock. Nothing is evicted: after a change of the file a new arena is made.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

#include "pool.hpp"

namespace monograph {

// A copy of a cluster, in the order in which scans read it. Each part has its centre, then its blocks: codes, scales
// (32 floats) and ids (32 int32).
class Held {
  public:
    // Throws Damaged if a checksum of a body is wrong.
    Held(const std::vector<std::pair<const void *, std::size_t>> &bodies, std::size_t dimension);
    std::size_t size() const { return size_; }
    std::size_t entries() const { return entries_; }
    const std::uint8_t *start() const { return start_; }
    // Offers the allowed entries to the pool, and prefetches the next cluster meanwhile.
    void scan(Query &query, const Bitmap &allowed, Pool &pool, const Held *next) const;

  private:
    struct Part {
        std::size_t blocks, stride;         // Number of blocks, and bytes of each.
        float scale;                        // Of the centre.
        const std::uint8_t *centre, *first; // Values of the centre, and the first block.
    };
    std::vector<Part> parts_;
    std::unique_ptr<std::uint8_t[]> owned_;
    const std::uint8_t *start_ = nullptr;
    std::size_t size_ = 0, entries_ = 0;
};

// The place of a cluster is the index of its centroid.
class Arena {
  public:
    // `centroids` are the stored bytes. They must outlive the arena.
    Arena(const void *centroids, std::size_t size);

    const Body &centroids() const { return centroids_; }
    const Rotation &rotation() const { return rotation_; }
    const Held *cluster(std::size_t place) const { return slots_[place].load(std::memory_order_acquire); }
    // Returns the place of a cluster, given by its number. Throws std::invalid_argument if there is none.
    std::size_t place_of(std::int64_t name) const;
    // Caches a cluster unless the arena would exceed `most` bytes. Returns whether it is cached.
    bool keep(std::size_t place, std::unique_ptr<Held> held, std::size_t most);
    // Caches 8-bit codes, given as bodies of one entry each.
    void remember(const std::vector<std::pair<const void *, std::size_t>> &bodies);
    std::size_t size() const { return size_; }

    // Writes the scores of the ids whose 8-bit codes are cached, and sets `known` to 1 for them. Returns their number.
    std::size_t by_value(const Query &query, const std::int64_t *ids, std::size_t n, float *scores, std::uint8_t *known) const;

  private:
    Body centroids_;
    Rotation rotation_;
    std::vector<std::atomic<const Held *>> slots_;
    std::vector<std::unique_ptr<Held>> held_;
    mutable std::shared_mutex lock_;                     // Guards rows_ and pages_.
    std::unordered_map<std::int64_t, std::size_t> rows_; // By id, the row of its 8-bit code in pages_.
    std::vector<std::unique_ptr<std::uint8_t[]>> pages_;
    std::size_t size_ = 0; // Bytes.
};

} // namespace monograph
