// Sums in a fixed order, on which their last bits depend.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

namespace monograph {

constexpr std::size_t LANES = 8, BLOCK = 128;

// As numpy's add.reduce adds up: in blocks of eight lanes, pair by pair.
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

// By how many standard deviations each lies above the mean. It equals monograph.search.fusion.standardised to the bit.
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

constexpr double LEAST_LOGARITHM = -709.0; // Of odds: of a lower one the power has no number.

// A logistic model of so many features. It equals monograph.graph.evidence.Model to the bit.
template <std::size_t COUNT> struct Model {
    double bias;
    std::array<double, COUNT> weights;

    double probability(const std::array<double, COUNT> &features) const {
        double sum = features[0] * weights[0];
        for (std::size_t at = 1; at < COUNT; ++at) sum += features[at] * weights[at];
        const double made = 1.0 / (1.0 + std::exp(-std::max(sum + bias, LEAST_LOGARITHM)));
        return made == made ? made : 0.0; // What is no number could not be sorted.
    }
};

} // namespace monograph
