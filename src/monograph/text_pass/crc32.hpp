// CRC-32, as zlib has it.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

namespace monograph {

inline constexpr auto CRC = [] {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        std::uint32_t value = byte;
        for (int bit = 0; bit < 8; ++bit) value = value & 1 ? 0xEDB88320u ^ value >> 1 : value >> 1;
        table[byte] = value;
    }
    return table;
}();

inline std::uint32_t crc32(std::string_view bytes) {
    std::uint32_t value = ~0u;
    for (const char byte : bytes) value = CRC[(value ^ static_cast<std::uint8_t>(byte)) & 255] ^ value >> 8;
    return ~value;
}

} // namespace monograph
