// Comparison of vectors with the signs of other vectors, which have one bit for each value.
#include "arrays.hpp"
#include "pool.hpp"
#include "simd.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <vector>

namespace monograph {

namespace {

constexpr std::size_t BYTE = 256, BLOCK = 512; // Values of a byte; codes that are compared at once.

using Table = nb::ndarray<const float, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Codes = nb::ndarray<const std::uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// The `most` best offers. They must come in order of place, so that ties keep the lower place.
class Best {
  public:
    explicit Best(std::size_t most) : most_(most) { held_.reserve(most); }

    void offer(float score, std::int64_t place) {
        if (held_.size() < most_) {
            held_.push_back({score, place});
            std::push_heap(held_.begin(), held_.end(), before);
        } else if (score > held_.front().score) {
            std::pop_heap(held_.begin(), held_.end(), before);
            held_.back() = {score, place};
            std::push_heap(held_.begin(), held_.end(), before);
        }
    }

    const std::vector<Scored> &in_order() {
        std::sort(held_.begin(), held_.end(), before);
        return held_;
    }

  private:
    std::size_t most_;
    std::vector<Scored> held_;
};

// Adds COUNT numbers to totals, as one SIMD vector if the compiler supports that.
template <std::size_t COUNT> ALWAYS_INLINE void add(const float *more, float *total) {
#if defined(__GNUC__)
    typedef float Lanes __attribute__((vector_size(COUNT * sizeof(float))));
    Lanes one, other;
    std::memcpy(&one, more, sizeof one);
    std::memcpy(&other, total, sizeof other);
    other += one;
    std::memcpy(total, &other, sizeof other);
#else
    for (std::size_t lane = 0; lane < COUNT; ++lane) total[lane] += more[lane];
#endif
}

// Offers all codes to the results of TOGETHER vectors, from `first` on. `beside` is the table, transposed to (bytes,
// BYTE, TOGETHER). Entries are added in the order of the bytes.
template <std::size_t TOGETHER> void search(const Table &table, std::size_t first, const Codes &codes, std::vector<Best> &best) {
    const std::size_t bytes = table.shape(1), names = codes.shape(0);
    std::vector<float> beside(bytes * BYTE * TOGETHER), sums(BLOCK * TOGETHER);
    for (std::size_t lane = 0; lane < TOGETHER; ++lane)
        for (std::size_t at = 0; at < bytes * BYTE; ++at) beside[at * TOGETHER + lane] = table.data()[(first + lane) * bytes * BYTE + at];
    for (std::size_t from = 0; from < names; from += BLOCK) {
        const std::size_t size = std::min(BLOCK, names - from);
        std::fill(sums.begin(), sums.end(), 0.0F);
        for (std::size_t byte = 0; byte < bytes; ++byte) {
            const float *__restrict entries = beside.data() + byte * BYTE * TOGETHER;
            float *__restrict total = sums.data();
            const std::uint8_t *code = codes.data() + from * bytes + byte;
            for (std::size_t at = 0; at < size; ++at, code += bytes, total += TOGETHER) add<TOGETHER>(entries + *code * TOGETHER, total);
        }
        for (std::size_t at = 0; at < size; ++at)
            for (std::size_t lane = 0; lane < TOGETHER; ++lane)
                best[first + lane].offer(sums[at * TOGETHER + lane], static_cast<std::int64_t>(from + at));
    }
}

nb::tuple nearest_signs(const Table &table, const Codes &codes, std::size_t k) {
    const std::size_t vectors = table.shape(0);
    if (table.shape(2) != BYTE || table.shape(1) != codes.shape(1)) throw std::invalid_argument("the table does not fit the codes");
    k = std::min(k, codes.shape(0));
    std::vector<std::int64_t> places(vectors * k);
    std::vector<float> scores(vectors * k);
    if (k) {
        nb::gil_scoped_release released;
        std::vector<Best> best(vectors, Best(k));
        for (std::size_t first = 0; first < vectors;) {
            const std::size_t left = vectors - first, together = left >= 4 ? 4 : left >= 2 ? 2 : 1;
            (together == 4 ? search<4> : together == 2 ? search<2> : search<1>)(table, first, codes, best);
            first += together;
        }
        for (std::size_t vector = 0; vector < vectors; ++vector) {
            const std::vector<Scored> &found = best[vector].in_order();
            for (std::size_t at = 0; at < k; ++at) {
                places[vector * k + at] = found[at].row;
                scores[vector * k + at] = found[at].score;
            }
        }
    }
    return nb::make_tuple(array_of(std::move(places), vectors, k), array_of(std::move(scores), vectors, k));
}

} // namespace

void bind_signs(nb::module_ &module) {
    module.def("nearest_signs", &nearest_signs, nb::arg("table").noconvert(), nb::arg("codes").noconvert(), nb::arg("k"));
}

} // namespace monograph
