// Instruction sets: products, checksums and estimates that are implemented for each.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace monograph {

struct Block;
struct Tables;

// Functions of one instruction set. `floats` and `bytes` take (rows, query, n, d, out), and write the products of the
// query with n rows of dimension d.
struct Level {
    const char *name;
    bool (*here)(); // Whether the processor supports it.
    void (*floats)(const float *, const float *, std::size_t, std::size_t, float *);
    void (*bytes)(const std::uint8_t *, const std::int8_t *, std::size_t, std::size_t, std::int32_t *);
    std::uint32_t (*checksum)(const std::uint8_t *, std::size_t);
    std::uint32_t (*estimate)(const Block &, const Tables &, float, float, float *); // See codes.hpp.
};

// The instruction set in use: the best one, unless use_level() changed it.
extern const Level *level;

std::vector<std::string> levels();
void use_level(const std::string &name); // Throws std::invalid_argument.

} // namespace monograph
