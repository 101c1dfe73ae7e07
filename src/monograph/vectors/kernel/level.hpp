// What every processor does in its own way: products, checksums and sums over blocks of compact codes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace monograph {

struct Block;
struct Tables;

struct Level {
    const char *name;
    bool (*here)();
    void (*floats)(const float *, const float *, std::size_t, std::size_t, float *);
    void (*bytes)(const std::uint8_t *, const std::int8_t *, std::size_t, std::size_t, std::int32_t *);
    std::uint32_t (*checksum)(const std::uint8_t *, std::size_t);
    std::uint32_t (*estimate)(const Block &, const Tables &, float, float, float *); // See codes.hpp.
};

// The one that is in use; the best unless told.
extern const Level *level;

std::vector<std::string> levels();
void use_level(const std::string &name); // Throws std::invalid_argument.

} // namespace monograph
