// CRC-32, as zlib has it.
#pragma once
#include "text.hpp"

#include <array>
#include <cstdint>

namespace monograph {

// The CRC of each byte.
inline constexpr auto CRCS = [] {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        std::uint32_t value = byte;
        for (int bit = 0; bit < 8; ++bit) value = value & 1 ? 0xEDB88320u ^ value >> 1 : value >> 1;
        table[byte] = value;
    }
    return table;
}();

class Crc32 {
  public:
    void add(char byte) { value_ = CRCS[(value_ ^ static_cast<std::uint8_t>(byte)) & 255] ^ value_ >> 8; }

    void add_utf8(std::uint32_t code) {
        char bytes[4];
        const std::size_t size = write_utf8(bytes, code);
        for (std::size_t at = 0; at < size; ++at) add(bytes[at]);
    }

    std::uint32_t value() const { return ~value_; }

  private:
    std::uint32_t value_ = ~0u;
};

} // namespace monograph
