// Copies of clusters in memory, and scans of them.
#include "arena.hpp"

#include <limits>

namespace monograph {

namespace {

constexpr std::size_t LINE = 64, NUMBERS = 4 * BLOCK;
// A page has this number of 8-bit codes. Before each code are the BEFORE bytes of its scale.
constexpr std::size_t PAGE = 256, BEFORE = 4;

// Prefetcher of the next cluster, in steps of one block: larger steps would stall.
struct Ahead {
    const std::uint8_t *at = nullptr, *end = nullptr;

    explicit Ahead(const Held *next) {
        if (!next) return;
        at = next->start();
        end = at + next->size();
    }
    void fetch(std::size_t size) {
#if defined(__GNUC__)
        for (const std::uint8_t *until = at + std::min(size, static_cast<std::size_t>(end - at)); at < until; at += LINE)
            __builtin_prefetch(at, 0, 2);
#else
        (void)size;
#endif
    }
};

std::size_t row_size(std::size_t dimension) { return BEFORE + (dimension + 7) / 8 * 8; }

} // namespace

Held::Held(const std::vector<std::pair<const void *, std::size_t>> &bodies, std::size_t dimension) {
    std::vector<Body> read;
    for (const auto &[data, size] : bodies) {
        const Body &body = read.emplace_back(data, size, true);
        if (!body.is_compact() || body.d != dimension) damaged("a cluster of other codes");
        const std::size_t stride = block_size(dimension) + 2 * NUMBERS;
        parts_.push_back({body.blocks(), stride, body.centre_scale(), nullptr, nullptr});
        size_ += Body::padded(dimension) + body.blocks() * stride;
        entries_ += body.n;
    }
    owned_ = std::make_unique<std::uint8_t[]>(size_ + LINE);
    void *place = owned_.get();
    std::size_t room = size_ + LINE;
    auto *out = static_cast<std::uint8_t *>(std::align(LINE, size_, place, room));
    start_ = out;
    for (std::size_t at = 0; at < read.size(); ++at) {
        const Body &body = read[at];
        Part &part = parts_[at];
        part.centre = out;
        std::memcpy(out, body.centre(), dimension);
        out += Body::padded(dimension);
        part.first = out;
        const std::size_t codes = block_size(dimension);
        for (std::size_t block = 0; block < part.blocks; ++block, out += part.stride) {
            std::memcpy(out, body.block(block), codes);
            float scales[BLOCK];
            std::int32_t ids[BLOCK];
            for (std::size_t place_in = 0; place_in < BLOCK; ++place_in) {
                const std::size_t row = block * BLOCK + place_in;
                const std::int64_t id = row < body.n ? body.id(row) : -1;
                if (id > std::numeric_limits<std::int32_t>::max()) damaged("a row's number is higher than rows can be");
                // A scale of NaN excludes deleted entries and padding: their estimates are never at least `least`.
                ids[place_in] = static_cast<std::int32_t>(id);
                scales[place_in] = id < 0 ? std::numeric_limits<float>::quiet_NaN() : body.scale(row);
            }
            std::memcpy(out + codes, scales, NUMBERS);
            std::memcpy(out + codes + NUMBERS, ids, NUMBERS);
        }
    }
}

void Held::scan(Query &query, const Bitmap &allowed, Pool &pool, const Held *next) const {
    if (!pool.capacity()) return;
    alignas(LINE) float found[BLOCK];
    const Tables &tables = query.for_blocks();
    const auto estimate = level->estimate;
    Ahead ahead(next);
    for (const Part &part : parts_) {
        const float base = query.base(part.centre, part.scale);
        const std::size_t codes = PLANES * tables.groups * TABLE;
        const std::uint8_t *at = part.first;
        for (std::size_t block = 0; block < part.blocks; ++block, at += part.stride) {
            const auto *scales = reinterpret_cast<const float *>(at + codes);
            ahead.fetch(part.stride);
            std::uint32_t high = estimate({at, scales}, tables, base, pool.least(), found);
            for (; high; high &= high - 1) {
                const auto row = static_cast<std::size_t>(std::countr_zero(high));
                const std::int64_t id = read<std::int32_t>(at + codes + NUMBERS + 4 * row);
                if (pool.wants(found[row], id) && allowed.has(id)) pool.offer(found[row], id);
            }
        }
    }
}

Arena::Arena(const void *centroids, std::size_t size) : centroids_(centroids, size, true), rotation_(centroids_.d), slots_(centroids_.n) {
    if (centroids_.kind != BYTES) damaged("centroids of other codes");
    for (auto &slot : slots_) slot.store(nullptr, std::memory_order_relaxed);
}

std::size_t Arena::place_of(std::int64_t name) const {
    std::size_t low = 0, high = centroids_.n;
    while (low < high) {
        const std::size_t middle = (low + high) / 2;
        if (centroids_.id(middle) < name)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == centroids_.n || centroids_.id(low) != name) throw std::invalid_argument("there is no cluster " + std::to_string(name));
    return low;
}

bool Arena::keep(std::size_t place, std::unique_ptr<Held> held, std::size_t most) {
    if (cluster(place)) return true;
    const std::size_t size = size_ + held->size() + sizeof(Held);
    if (size > most) return false;
    size_ = size;
    held_.push_back(std::move(held));
    slots_[place].store(held_.back().get(), std::memory_order_release);
    return true;
}

void Arena::remember(const std::vector<std::pair<const void *, std::size_t>> &bodies) {
    const std::size_t width = row_size(centroids_.d);
    for (const auto &[data, size] : bodies) {
        const Body body(data, size, true);
        if (body.kind != BYTES || body.n != 1 || body.d != centroids_.d) damaged("not the code of a vector");
        const std::unique_lock writing(lock_);
        const std::size_t row = rows_.size();
        if (!rows_.emplace(body.id(0), row).second) continue;
        if (row % PAGE == 0) pages_.push_back(std::make_unique<std::uint8_t[]>(PAGE * width));
        std::uint8_t *out = pages_.back().get() + row % PAGE * width;
        const float scale = body.scale(0);
        std::memcpy(out, &scale, BEFORE);
        std::memcpy(out + BEFORE, body.codes, body.d);
        size_ += width + 32; // About 32 bytes for the entry in rows_.
    }
}

std::size_t Arena::by_value(const Query &query, const std::int64_t *ids, std::size_t n, float *scores, std::uint8_t *known) const {
    const std::size_t width = row_size(centroids_.d);
    std::vector<const std::uint8_t *> found(n);
    {
        const std::shared_lock reading(lock_);
        for (std::size_t at = 0; at < n; ++at) {
            const auto row = rows_.find(ids[at]);
            if (row != rows_.end()) found[at] = pages_[row->second / PAGE].get() + row->second % PAGE * width;
        }
    }
    std::size_t count = 0;
    for (std::size_t at = 0; at < n; ++at) {
        if (!found[at]) continue;
        std::int32_t whole;
        level->bytes(found[at] + BEFORE, query.bytes.data(), 1, centroids_.d, &whole);
        const float factor = query.scale * read<float>(found[at]);
        scores[at] = static_cast<float>(whole - query.offset) * factor;
        known[at] = 1;
        ++count;
    }
    return count;
}

} // namespace monograph
