// 2-bit codes of vectors, and the tables by which a query is compared with them. The layout is in cluster.py.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace monograph {

// Vectors in a block, entries in a table (one for each half byte), bits of a value.
constexpr std::size_t BLOCK = 32, TABLE = 16, PLANES = 2;
// Values of a query are rounded to -31 to 31. OFFSET is added to each table entry, so that none is negative.
constexpr std::int32_t MOST_OF_QUERY = 31, OFFSET = 4 * MOST_OF_QUERY;
// The sum of this number of table entries is below 2^16.
constexpr std::size_t GROUPS_AT_ONCE = 256;

// Number of groups of four values, padded to a multiple of four; bytes of a block's codes.
inline std::size_t groups_of(std::size_t dimension) { return (dimension + 15) / 16 * 4; }
inline std::size_t block_size(std::size_t dimension) { return PLANES * groups_of(dimension) * TABLE; }

// Rotation of vectors, the same for all vectors of a dimension.
class Rotation {
  public:
    explicit Rotation(std::size_t dimension);
    void turn(float *vector) const; // Rotates a vector in place.
    std::size_t dimension() const { return dimension_; }

  private:
    std::size_t dimension_, width_;
    float factor_;
    std::vector<float> signs_;
};

// Returns the rotation for a dimension. The last one is cached.
std::shared_ptr<const Rotation> rotation_of(std::size_t dimension);

// A query as one table for each group of four rotated values. Entry h of a table is the sum of the four values, plus
// OFFSET; the sign of value i is + if bit i of h is 1, else -.
struct Tables {
    std::size_t groups = 0;
    float scale = 0;                       // Factor from entries to values of the query.
    const std::uint8_t *entries = nullptr; // uint8 (groups, TABLE), aligned to 64 bytes.

    Tables() = default;
    Tables(const float *query, std::size_t dimension, const Rotation &rotation);

  private:
    std::unique_ptr<std::uint8_t[]> held_;
};

// Codes and scales of 32 vectors.
struct Block {
    const std::uint8_t *codes; // (PLANES, groups, TABLE). Byte v has half bytes of vectors v (low) and v + 16 (high).
    const float *scales;       // One for each vector.
};

// Encoder of the differences of vectors to a centre.
class Encoder {
  public:
    Encoder(const std::uint8_t *centre, float scale, std::size_t dimension, const Rotation &rotation);
    // Writes the code of a vector, PLANES * groups half bytes, one in each byte. Returns its scale.
    float encode(const float *vector, std::uint8_t *halves);

  private:
    std::size_t dimension_;
    const Rotation &rotation_;
    std::vector<float> centre_, turned_;
    std::vector<std::int32_t> whole_, sizes_;
};

// Writes the estimated product of the query with each vector of a block, plus `base`, to `out`. Bit i of the result is
// 1 if estimate i is at least `least`.
std::uint32_t estimate_portable(const Block &block, const Tables &tables, float base, float least, float *out);
std::uint32_t estimate_avx2(const Block &block, const Tables &tables, float base, float least, float *out);
std::uint32_t estimate_avx512(const Block &block, const Tables &tables, float base, float least, float *out);
std::uint32_t estimate_neon(const Block &block, const Tables &tables, float base, float least, float *out);

} // namespace monograph
