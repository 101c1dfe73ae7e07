// Compact clusters and codes of a byte a value that stay in memory. Searches read it with the interpreter lock released;
// whoever adds to it holds that lock. Nothing is ever taken out: a file that has changed gets another arena.
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

// A cluster, copied into blocks that are read from front to back: codes, scales and ids.
class Held {
  public:
    // Bodies are held against their checksums.
    Held(const std::vector<std::pair<const void *, std::size_t>> &bodies, std::size_t dimension);
    std::size_t size() const { return size_; }
    std::size_t entries() const { return entries_; }
    const std::uint8_t *start() const { return start_; }
    // What is searched next is fetched meanwhile.
    void scan(Query &query, const Bitmap &allowed, Pool &pool, const Held *next) const;

  private:
    struct Part {
        std::size_t blocks, stride;
        float scale;
        const std::uint8_t *centre, *first;
    };
    std::vector<Part> parts_;
    std::unique_ptr<std::uint8_t[]> owned_;
    const std::uint8_t *start_ = nullptr;
    std::size_t size_ = 0, entries_ = 0;
};

class Arena {
  public:
    // The centroids as they are stored; the bytes must stay where they are.
    Arena(const void *centroids, std::size_t size);

    const Body &centroids() const { return centroids_; }
    const Rotation &rotation() const { return rotation_; }
    const Held *cluster(std::size_t place) const { return slots_[place].load(std::memory_order_acquire); }
    std::size_t place_of(std::int64_t name) const; // Throws std::invalid_argument.
    // Unless the arena would come to hold more bytes than that; whether the cluster is there now.
    bool keep(std::size_t place, std::unique_ptr<Held> held, std::size_t most);
    // Codes by value, each a body of one entry.
    void remember(const std::vector<std::pair<const void *, std::size_t>> &bodies);
    std::size_t size() const { return size_; }

    // Scores of some ids, by codes that are remembered; those of others stay as they are. Returns how many are known.
    std::size_t by_value(const Query &query, const std::int64_t *ids, std::size_t n, float *scores, std::uint8_t *known) const;

  private:
    Body centroids_;
    Rotation rotation_;
    std::vector<std::atomic<const Held *>> slots_;
    std::vector<std::unique_ptr<Held>> held_;
    mutable std::shared_mutex lock_; // Of what is remembered.
    std::unordered_map<std::int64_t, std::size_t> rows_;
    std::vector<std::unique_ptr<std::uint8_t[]>> pages_;
    std::size_t size_ = 0;
};

} // namespace monograph
