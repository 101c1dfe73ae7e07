// The inner loops of vector search. Every function has a twin in reference.py that gives the same results and raises
// the same errors. Sizes are checked before any memory is touched; the interpreter lock is released while numbers are crunched.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace nb = nanobind;

// One function, compiled for several processors; the loader picks the best the machine has.
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__)
#define FOR_EVERY_PROCESSOR __attribute__((target_clones("avx512f", "arch=haswell", "default")))
#else
#define FOR_EVERY_PROCESSOR
#endif

namespace {

using Matrix = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Vector = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

struct Scored {
    float score;
    std::int64_t row;
};

// Higher scores first, then lower rows: the one order in which results are reported.
bool before(const Scored &a, const Scored &b) { return a.score > b.score || (a.score == b.score && a.row < b.row); }

// Inner products of a query with n rows of dimension d. Sixteen partial sums let the compiler use wide registers
// without being allowed to reorder a single long sum.
FOR_EVERY_PROCESSOR
void inner_products(const float *vectors, const float *query, std::size_t n, std::size_t d, float *scores) {
    constexpr std::size_t lanes = 16;
    for (std::size_t row = 0; row < n; ++row) {
        const float *vector = vectors + row * d;
        float sums[lanes] = {};
        std::size_t at = 0;
        for (; at + lanes <= d; at += lanes)
            for (std::size_t lane = 0; lane < lanes; ++lane) sums[lane] += vector[at + lane] * query[at + lane];
        float total = 0;
        for (; at < d; ++at) total += vector[at] * query[at];
        for (float sum : sums) total += sum;
        scores[row] = total;
    }
}

template <typename T> nb::ndarray<nb::numpy, T, nb::ndim<1>> array_of(std::vector<T> &&values) {
    auto owned = std::make_unique<std::vector<T>>(std::move(values));
    T *data = owned->data();
    std::size_t size = owned->size();
    nb::capsule owner(owned.release(), [](void *held) noexcept { delete static_cast<std::vector<T> *>(held); });
    return nb::ndarray<nb::numpy, T, nb::ndim<1>>(data, {size}, owner);
}

nb::tuple top_k(const Matrix &vectors, const Vector &query, std::int64_t k) {
    const std::size_t n = vectors.shape(0), d = vectors.shape(1);
    if (k < 0) throw nb::value_error(("k is " + std::to_string(k) + ": give 0 or more").c_str());
    if (d != query.shape(0))
        throw nb::value_error(("vectors have dimension " + std::to_string(d) + ", the query has " +
                               std::to_string(query.shape(0)))
                                  .c_str());
    const float *rows = vectors.data(), *asked = query.data();
    std::vector<Scored> best;
    std::int64_t wrong = -1;
    bool finite = true;
    {
        nb::gil_scoped_release released;
        finite = std::all_of(asked, asked + d, [](float value) { return std::isfinite(value); });
        if (finite) {
            std::vector<float> scores(n);
            inner_products(rows, asked, n, d, scores.data());
            best.reserve(n);
            for (std::size_t row = 0; row < n; ++row) {
                if (std::isnan(scores[row])) {
                    wrong = static_cast<std::int64_t>(row);
                    break;
                }
                best.push_back({scores[row], static_cast<std::int64_t>(row)});
            }
            const std::size_t kept = std::min<std::size_t>(n, static_cast<std::size_t>(k));
            if (wrong < 0) std::partial_sort(best.begin(), best.begin() + static_cast<std::ptrdiff_t>(kept), best.end(), before);
            best.resize(std::min(kept, best.size()));
        }
    }
    if (!finite) throw nb::value_error("the query is not finite");
    if (wrong >= 0) throw nb::value_error(("the score of row " + std::to_string(wrong) + " is not a number").c_str());
    std::vector<std::int64_t> places(best.size());
    std::vector<float> scores(best.size());
    for (std::size_t at = 0; at < best.size(); ++at) {
        places[at] = best[at].row;
        scores[at] = best[at].score;
    }
    return nb::make_tuple(array_of(std::move(places)), array_of(std::move(scores)));
}

} // namespace

NB_MODULE(_kernel, module) {
    module.doc() = "The inner loops of vector search, compiled.";
    module.def("top_k", &top_k, nb::arg("vectors").noconvert(), nb::arg("query").noconvert(), nb::arg("k"),
               "See monograph.vectors.kernel.top_k.");
}
