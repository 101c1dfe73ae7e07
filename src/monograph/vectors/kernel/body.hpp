// Stored clusters, and queries in the form in which they are compared with them.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "codes.hpp"
#include "level.hpp"

namespace monograph {

// Stored bytes have a wrong checksum or layout. DamagedBytes in Python.
struct Damaged : std::runtime_error {
    using std::runtime_error::runtime_error;
};

[[noreturn]] inline void damaged(const std::string &why) { throw Damaged(why); }

enum Kind : std::uint32_t { BYTES = 0, TWO_BITS = 1 };
constexpr std::uint32_t BODY_MAGIC = 0x3143454Du, GRAPH_MAGIC = 0x3147454Du; // "MEC1", "MEG1"
// Bytes of a cluster's header, of an entry's id and scale, and before the values of a centre; highest dimension.
constexpr std::size_t HEADER = 32, HEAD = 12, CENTRE = 16, MOST_DIMENSIONS = 65'536;

// Returns a value that may be unaligned.
template <typename T> T read(const std::uint8_t *at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
}

// View of a stored cluster: header, ids, scales, codes. The layout is in cluster.py.
struct Body {
    const std::uint8_t *data;
    std::uint32_t kind;
    std::size_t n, d;
    const std::uint8_t *codes; // 8-bit: (n, d). 2-bit: centre (float scale, 12 zero bytes, padded values), then blocks.

    // Throws Damaged if the layout is wrong or, with `verify`, a checksum.
    Body(const void *given, std::size_t size, bool verify) : data(static_cast<const std::uint8_t *>(given)) {
        if (size < HEADER || read<std::uint32_t>(data) != BODY_MAGIC) damaged("not a cluster");
        kind = read<std::uint32_t>(data + 4);
        n = read<std::uint32_t>(data + 8);
        d = read<std::uint32_t>(data + 12);
        if (kind > TWO_BITS || d > MOST_DIMENSIONS) damaged("unknown codes");
        const std::size_t head = HEADER + HEAD * n;
        const std::size_t rest = is_compact() ? CENTRE + padded(d) + blocks() * block_size(d) : n * d;
        if (size != head + rest) damaged("wrong length");
        codes = data + head;
        if (!verify) return;
        if (level->checksum(data + HEADER, HEAD * n) != read<std::uint32_t>(data + 16) ||
            level->checksum(codes, rest) != read<std::uint32_t>(data + 20))
            damaged("its checksum does not match");
    }
    bool is_compact() const { return kind == TWO_BITS; }
    std::size_t blocks() const { return (n + BLOCK - 1) / BLOCK; }
    const std::uint8_t *centre() const { return codes + CENTRE; }
    float centre_scale() const { return read<float>(codes); }
    const std::uint8_t *block(std::size_t at) const { return codes + CENTRE + padded(d) + at * block_size(d); }
    static std::size_t padded(std::size_t d) { return (d + 15) / 16 * 16; }
    std::int64_t id(std::size_t row) const { return read<std::int64_t>(data + HEADER + 8 * row); }
    float scale(std::size_t row) const { return read<float>(data + HEADER + 8 * n + 4 * row); }
};

// A query as floats, and rounded to integers from -127 to 127.
struct Query {
    std::vector<float> floats; // Empty for a query that is a row of a cluster.
    std::vector<std::int8_t> bytes;
    float scale = 0;              // Value of 1 in `bytes`.
    std::int32_t offset = 0;      // 128 * sum of `bytes`, because a code of 128 means 0.
    std::optional<Tables> tables; // For 2-bit codes; made when first needed.

    Query() = default;
    Query(const float *given, std::size_t d) : floats(given, given + d), bytes(d) {
        float most = 0;
        for (float value : floats) most = std::max(most, std::fabs(value));
        scale = most / 127.0f;
        const float inverse = most > 0 ? 127.0f / most : 0.0f;
        for (std::size_t at = 0; at < d; ++at) {
            bytes[at] = static_cast<std::int8_t>(std::nearbyint(floats[at] * inverse));
            offset += bytes[at];
        }
        offset *= 128;
    }
    const Tables &for_blocks() {
        if (!tables) tables.emplace(floats.data(), floats.size(), *rotation_of(floats.size()));
        return *tables;
    }
    // Returns the product with the centre of a cluster of 2-bit codes.
    float base(const std::uint8_t *centre, float centre_scale) const {
        std::int32_t whole;
        level->bytes(centre, bytes.data(), 1, bytes.size(), &whole);
        return static_cast<float>(whole - offset) * (scale * centre_scale);
    }
    // Makes a query of a row of 8-bit codes.
    Query(const Body &body, std::size_t row) : bytes(body.d), scale(body.scale(row)) {
        const std::uint8_t *code = body.codes + row * body.d;
        for (std::size_t at = 0; at < body.d; ++at) {
            bytes[at] = static_cast<std::int8_t>(code[at] - 128);
            offset += bytes[at];
        }
        offset *= 128;
    }
};

// Writes the inner products of n rows of 8-bit codes, from `first` on, to `out`. `whole` is scratch space (n,).
inline void score(const Body &body, const Query &query, std::size_t first, std::size_t n, float *out, std::int32_t *whole) {
    level->bytes(body.codes + first * body.d, query.bytes.data(), n, body.d, whole);
    for (std::size_t at = 0; at < n; ++at) {
        const float factor = query.scale * body.scale(first + at);
        out[at] = static_cast<float>(whole[at] - query.offset) * factor;
    }
}

inline float score_one(const Body &body, const Query &query, std::size_t row) {
    float out;
    std::int32_t whole;
    score(body, query, row, 1, &out, &whole);
    return out;
}

} // namespace monograph
