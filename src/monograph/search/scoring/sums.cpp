#include "sums.hpp"

#include <algorithm>

namespace monograph {

namespace {

constexpr std::size_t LANES = 8, BLOCK = 128;

// As numpy's add.reduce adds up: in blocks of eight lanes, pair by pair.
double pairwise(const double *values, std::size_t count) {
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

} // namespace

void standardise(std::vector<double> &scores) {
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

} // namespace monograph
