// Sums in a fixed order, on which their last bits depend.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

namespace monograph {

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

// By how many standard deviations each lies above the mean. It equals monograph.search.fusion.standardised to the bit.
void standardise(std::vector<double> &scores);

} // namespace monograph
