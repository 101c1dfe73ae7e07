// CRC-32, as zlib has it.
#pragma once
#include "text.hpp"

#include <array>
#include <cstdint>
#include <string_view>

namespace monograph {

// Of each byte what it comes to; in the further tables with so many bytes of zero behind it.
inline constexpr auto CRCS = [] {
    std::array<std::array<std::uint32_t, 256>, 4> tables{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        std::uint32_t value = byte;
        for (int bit = 0; bit < 8; ++bit) value = value & 1 ? 0xEDB88320u ^ value >> 1 : value >> 1;
        tables[0][byte] = value;
    }
    for (std::size_t zeros = 1; zeros < tables.size(); ++zeros)
        for (std::size_t byte = 0; byte < 256; ++byte) {
            const std::uint32_t value = tables[zeros - 1][byte];
            tables[zeros][byte] = tables[0][value & 255] ^ value >> 8;
        }
    return tables;
}();

class Crc32 {
  public:
    void add(char byte) { value_ = CRCS[0][(value_ ^ static_cast<std::uint8_t>(byte)) & 255] ^ value_ >> 8; }

    // Four bytes, each of which need not wait for the one before it.
    void add_four(const char *bytes) {
        for (std::size_t at = 0; at < 4; ++at) value_ ^= std::uint32_t{static_cast<std::uint8_t>(bytes[at])} << 8 * at;
        value_ = CRCS[3][value_ & 255] ^ CRCS[2][value_ >> 8 & 255] ^ CRCS[1][value_ >> 16 & 255] ^ CRCS[0][value_ >> 24];
    }

    void add_utf8(std::uint32_t code) {
        char bytes[4];
        const std::size_t size = write_utf8(bytes, code);
        for (std::size_t at = 0; at < size; ++at) add(bytes[at]);
    }

    std::uint32_t value() const { return ~value_; }

  private:
    std::uint32_t value_ = ~0u;
};

inline std::uint32_t crc32(std::string_view bytes) {
    Crc32 sum;
    std::size_t at = 0;
    for (; at + 4 <= bytes.size(); at += 4) sum.add_four(bytes.data() + at);
    for (; at < bytes.size(); ++at) sum.add(bytes[at]);
    return sum.value();
}

} // namespace monograph
