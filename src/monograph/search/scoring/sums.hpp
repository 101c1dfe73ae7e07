// Sums in a fixed order, because the last bits of a sum depend on the order.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

namespace monograph {

constexpr std::size_t LANES = 8, BLOCK = 128;

// Returns the sum of values, added in the order of numpy's add.reduce: pairwise, over blocks with eight lanes.
inline double pairwise(const double *values, std::size_t count) {
    if (count < LANES) {
        double sum = 0.0;
        for (std::size_t at = 0; at < count; ++at) sum += values[at];
        return sum;
    }
    if (count > BLOCK) {
        const std::size_t half = count / 2 - count / 2 % LANES;
        return pairwise(values, half) + pairwise(values + half, count - half);
    }
    double lanes[LANES];
    std::copy(values, values + LANES, lanes);
    std::size_t at = LANES;
    for (; at < count - count % LANES; at += LANES)
        for (std::size_t lane = 0; lane < LANES; ++lane) lanes[lane] += values[at + lane];
    double sum = ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
    for (; at < count; ++at) sum += values[at];
    return sum;
}

// Replaces each score by (score - mean) / standard deviation, or by 0 if all scores are equal. Bit-identical to
// monograph.search.fusion.standardised.
inline void standardise(std::vector<double> &scores) {
    if (scores.empty()) return;
    const double count = static_cast<double>(scores.size());
    const double mean = pairwise(scores.data(), scores.size()) / count;
    std::vector<double> squares(scores.size());
    for (std::size_t at = 0; at < scores.size(); ++at) {
        scores[at] -= mean;
        squares[at] = scores[at] * scores[at];
    }
    const double spread = std::sqrt(pairwise(squares.data(), squares.size()) / count);
    for (double &score : scores) score = spread > 0.0 ? score / spread : 0.0;
}

constexpr double LEAST_LOGARITHM = -709.0; // Lowest logarithm of odds; for a lower one, exp would overflow.

// Logistic model with COUNT features. Bit-identical to monograph.graph.evidence.Model.
template <std::size_t COUNT> struct Model {
    double bias;
    std::array<double, COUNT> weights;

    double probability(const std::array<double, COUNT> &features) const {
        double sum = features[0] * weights[0];
        for (std::size_t at = 1; at < COUNT; ++at) sum += features[at] * weights[at];
        const double made = 1.0 / (1.0 + std::exp(-std::max(sum + bias, LEAST_LOGARITHM)));
        return made == made ? made : 0.0; // NaN becomes 0, because it cannot be sorted.
    }
};

} // namespace monograph
