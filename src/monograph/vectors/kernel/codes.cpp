// Rotation of vectors, their 2-bit codes, and the tables of a query.
#include "codes.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <mutex>

namespace monograph {

namespace {

constexpr std::size_t ROUNDS = 4;
constexpr float SMALLEST = 1e-30f, MOST_OF_VECTOR = 32'767.0f;
constexpr std::int64_t FIRST_CUT = 7, LAST_CUT = 12;

// Returns whether the sign with this number is negative: a pseudo-random bit (splitmix64).
bool negative(std::uint64_t place) {
    std::uint64_t state = (place + 1) * 0x9E3779B97F4A7C15ull;
    state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9ull;
    state = (state ^ (state >> 27)) * 0x94D049BB133111EBull;
    return !((state ^ (state >> 31)) & 1);
}

// Rounds values to integers from -most to most. Returns the value of 1; 0 if a value is not finite or all are near 0.
float whole(const float *turned, std::size_t n, float most, std::int32_t *out) {
    float largest = 0;
    bool finite = true;
    for (std::size_t at = 0; at < n; ++at) {
        finite &= std::isfinite(turned[at]);
        largest = std::max(largest, std::fabs(turned[at]));
    }
    if (!finite || !(largest > SMALLEST)) {
        std::fill_n(out, n, 0);
        return 0;
    }
    const float inverse = most / largest;
    for (std::size_t at = 0; at < n; ++at) out[at] = static_cast<std::int32_t>(std::nearbyint(turned[at] * inverse));
    return largest / most;
}

} // namespace

Rotation::Rotation(std::size_t dimension)
    : dimension_(dimension), width_(std::bit_floor(std::max<std::size_t>(dimension, 1))),
      factor_(1.0f / std::sqrt(static_cast<float>(width_))), signs_(ROUNDS * dimension) {
    for (std::size_t turn = 0; turn < ROUNDS; ++turn)
        for (std::size_t at = 0; at < dimension; ++at)
            signs_[turn * dimension + at] = negative((static_cast<std::uint64_t>(turn) << 32) + at) ? -1.0f : 1.0f;
}

// Each round multiplies the values by pseudo-random signs, then applies a Hadamard transform to the first or, in every
// second round, the last width_ values. width_ is the largest power of two up to the dimension.
void Rotation::turn(float *vector) const {
    if (!dimension_) return;
    for (std::size_t turn = 0; turn < ROUNDS; ++turn) {
        for (std::size_t at = 0; at < dimension_; ++at) vector[at] *= signs_[turn * dimension_ + at];
        float *part = turn % 2 ? vector + dimension_ - width_ : vector;
        for (std::size_t half = 1; half < width_; half *= 2)
            for (std::size_t first = 0; first < width_; first += 2 * half)
                for (std::size_t at = first; at < first + half; ++at) {
                    const float one = part[at], two = part[at + half];
                    part[at] = one + two;
                    part[at + half] = one - two;
                }
        for (std::size_t at = 0; at < width_; ++at) part[at] *= factor_;
    }
}

std::shared_ptr<const Rotation> rotation_of(std::size_t dimension) {
    static std::mutex lock;
    static std::shared_ptr<const Rotation> last;
    const std::lock_guard held(lock);
    if (!last || last->dimension() != dimension) last = std::make_shared<const Rotation>(dimension);
    return last;
}

Tables::Tables(const float *query, std::size_t dimension, const Rotation &rotation) : groups(groups_of(dimension)) {
    std::vector<float> turned(query, query + dimension);
    rotation.turn(turned.data());
    std::vector<std::int32_t> values(4 * groups);
    scale = whole(turned.data(), dimension, static_cast<float>(MOST_OF_QUERY), values.data());
    held_ = std::make_unique<std::uint8_t[]>(TABLE * groups + 64);
    void *place = held_.get();
    std::size_t room = TABLE * groups + 64;
    auto *made = static_cast<std::uint8_t *>(std::align(64, TABLE * groups, place, room));
    entries = made;
    for (std::size_t group = 0; group < groups; ++group, made += TABLE) {
        // Changing a sign from - to + adds twice the value.
        std::int32_t sums[TABLE];
        sums[0] = OFFSET;
        for (std::size_t bit = 0; bit < 4; ++bit) sums[0] -= values[4 * group + bit];
        for (std::size_t bit = 0; bit < 4; ++bit)
            for (std::size_t at = 0; at < (std::size_t{1} << bit); ++at)
                sums[(std::size_t{1} << bit) + at] = sums[at] + 2 * values[4 * group + bit];
        for (std::size_t at = 0; at < TABLE; ++at) made[at] = static_cast<std::uint8_t>(sums[at]);
    }
}

Encoder::Encoder(const std::uint8_t *centre, float scale, std::size_t dimension, const Rotation &rotation)
    : dimension_(dimension), rotation_(rotation), centre_(dimension), turned_(dimension), whole_(dimension), sizes_(dimension) {
    for (std::size_t at = 0; at < dimension; ++at) centre_[at] = (static_cast<float>(centre[at]) - 128.0f) * scale;
}

float Encoder::encode(const float *vector, std::uint8_t *halves) {
    for (std::size_t at = 0; at < dimension_; ++at) turned_[at] = vector[at] - centre_[at];
    rotation_.turn(turned_.data());
    const float step = whole(turned_.data(), dimension_, MOST_OF_VECTOR, whole_.data());
    std::int64_t total = 0, square = 0;
    for (std::size_t at = 0; at < dimension_; ++at) {
        sizes_[at] = std::abs(whole_[at]);
        total += sizes_[at];
        square += static_cast<std::int64_t>(whole_[at]) * whole_[at];
    }
    // Values larger than `cut` are coded as 3 or -3. Choose the cut with the highest cosine of code and vector.
    std::int64_t dot = total;
    std::int32_t cut = 0;
    const auto n = static_cast<std::int64_t>(dimension_);
    double best = -1;
    for (std::int64_t eighths = FIRST_CUT; eighths <= LAST_CUT; ++eighths) {
        const auto tried = static_cast<std::int32_t>(eighths * total / std::max<std::int64_t>(1, 8 * n));
        std::int64_t above = 0;
        std::int32_t count = 0;
        for (std::size_t at = 0; at < dimension_; ++at) {
            const std::int32_t big = sizes_[at] > tried;
            count += big;
            above += big ? sizes_[at] : 0;
        }
        const double sum = static_cast<double>(total + 2 * above), length = static_cast<double>(std::max<std::int64_t>(1, n + 8 * count));
        const double likeness = sum * sum / length;
        if (likeness > best) {
            best = likeness;
            cut = tried;
            dot = total + 2 * above;
        }
    }
    const std::size_t groups = groups_of(dimension_);
    std::fill_n(halves, PLANES * groups, std::uint8_t{0});
    for (std::size_t at = 0; at < dimension_; ++at) {
        const bool positive = whole_[at] >= 0;
        std::uint8_t &first = halves[at / 4], &second = halves[groups + at / 4];
        first = static_cast<std::uint8_t>(first | positive << at % 4);
        second = static_cast<std::uint8_t>(second | ((sizes_[at] > cut) == positive) << at % 4);
    }
    if (dot <= 0) return 0;
    return static_cast<float>(static_cast<double>(square) / static_cast<double>(dot) * static_cast<double>(step));
}

} // namespace monograph
