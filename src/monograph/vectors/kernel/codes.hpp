// Codes of two bits a value: how they are made, and how a query becomes tables that they are compared by. See cluster.py.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace monograph {

constexpr std::size_t BLOCK = 32, TABLE = 16, PLANES = 2;
constexpr std::int32_t MOST_OF_QUERY = 31, OFFSET = 4 * MOST_OF_QUERY;
// So many table entries sum up to less than 2^16.
constexpr std::size_t GROUPS_AT_ONCE = 256;

inline std::size_t groups_of(std::size_t dimension) { return (dimension + 15) / 16 * 4; }
inline std::size_t block_size(std::size_t dimension) { return PLANES * groups_of(dimension) * TABLE; }

// Turns vectors of one dimension, each as any other.
class Rotation {
  public:
    explicit Rotation(std::size_t dimension);
    void turn(float *vector) const;
    std::size_t dimension() const { return dimension_; }

  private:
    std::size_t dimension_, width_;
    float factor_;
    std::vector<float> signs_;
};

// The rotation of a dimension; the last one is remembered.
std::shared_ptr<const Rotation> rotation_of(std::size_t dimension);

// A query as blocks are compared with it: for each group of four dimensions the sums, made positive, of all signs.
struct Tables {
    std::size_t groups = 0;
    float scale = 0;
    const std::uint8_t *entries = nullptr; // On a multiple of 64.

    Tables() = default;
    Tables(const float *query, std::size_t dimension, const Rotation &rotation);

  private:
    std::unique_ptr<std::uint8_t[]> held_;
};

// 32 codes with a scale each.
struct Block {
    const std::uint8_t *codes;
    const float *scales;
};

// The code of a vector's difference to a centre: PLANES * groups half bytes, a byte each. Returns its scale.
class Encoder {
  public:
    Encoder(const std::uint8_t *centre, float scale, std::size_t dimension, const Rotation &rotation);
    float encode(const float *vector, std::uint8_t *halves);

  private:
    std::size_t dimension_;
    const Rotation &rotation_;
    std::vector<float> centre_, turned_;
    std::vector<std::int32_t> whole_, sizes_;
};

// Estimates of the 32 codes of a block, each with the base, and which of them are at least so high.
std::uint32_t estimate_portable(const Block &block, const Tables &tables, float base, float least, float *out);
std::uint32_t estimate_avx2(const Block &block, const Tables &tables, float base, float least, float *out);
std::uint32_t estimate_avx512(const Block &block, const Tables &tables, float base, float least, float *out);
std::uint32_t estimate_neon(const Block &block, const Tables &tables, float base, float least, float *out);

} // namespace monograph
