#include "fold.hpp"

#include <array>
#include <utility>

namespace monograph {

namespace {

// Scripts that are split into pairs, ascending: Thai, Lao, Burmese, Khmer, kana, Han, Hangul.
constexpr std::pair<char32_t, char32_t> UNSPACED[] = {
    {0x0E00, 0x0EFF}, {0x1000, 0x109F}, {0x1780, 0x17FF}, {0x3040, 0x30FF},   {0x3400, 0x4DBF},
    {0x4E00, 0x9FFF}, {0xAC00, 0xD7AF}, {0xF900, 0xFAFF}, {0x20000, 0x3FFFF},
};

bool is_unspaced(char32_t code) {
    if (code < UNSPACED[0].first) return false;
    for (const auto &[first, last] : UNSPACED)
        if (code <= last) return code >= first;
    return false;
}

constexpr std::size_t SHORTEST_STEM = 4;

// CRC-32 of each byte.
constexpr auto CRCS = [] {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        std::uint32_t value = byte;
        for (int bit = 0; bit < 8; ++bit) value = value & 1 ? 0xEDB88320u ^ value >> 1 : value >> 1;
        table[byte] = value;
    }
    return table;
}();

// CRC-32, equal to that of zlib.
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

} // namespace

// Suffixes are grouped by their last letter, and the longest is tried first.
View stem(View word) {
    const auto without = [&](std::initializer_list<View> suffixes) {
        for (const auto suffix : suffixes)
            if (word.size() >= SHORTEST_STEM + suffix.size() && word.ends_with(suffix)) return word.substr(0, word.size() - suffix.size());
        return word;
    };
    if (word.size() <= SHORTEST_STEM) return word;
    switch (word.back()) {
    case U's': return without({U"ings", U"ors", U"ers", U"es", U"s"});
    case U'g': return without({U"ing"});
    case U'd': return without({U"ed"});
    case U'r': return without({U"or", U"er"});
    case U'e': return without({U"e"});
    default: return word;
    }
}

void fold(const Text &text, std::u32string &out) {
    const Unicode &unicode = Unicode::tables();
    out.resize(text.size());
    std::size_t size = 0;
    bool combines = false;
    text.visit([&](const auto *signs) {
        for (std::size_t at = 0; at < text.size(); ++at) {
            const std::uint32_t code = signs[at];
            if (code < 0x80) {
                out[size++] = static_cast<char32_t>(code >= 'A' && code <= 'Z' ? code + 32 : code ? code : ' ');
                continue;
            }
            char32_t single;
            const auto folded = unicode.folded(code, single);
            const std::size_t needed = size + folded.size() + text.size() - at - 1;
            if (needed > out.size()) out.resize(needed);
            for (const char32_t one : folded) {
                combines = combines || unicode.combines(one);
                out[size++] = one;
            }
        }
    });
    out.resize(size);
    if (combines) compose(out);
}

bool pair_unspaced(const std::u32string &folded, std::u32string &out) {
    auto found = std::find_if(folded.begin(), folded.end(), is_unspaced);
    if (found == folded.end()) return false;
    out.clear();
    out.reserve(2 * folded.size());
    auto copied = folded.begin();
    while (found != folded.end()) {
        const auto last = std::find_if_not(found, folded.end(), is_unspaced);
        out.append(copied, found);
        out += U' ';
        if (last - found == 1) out += *found;
        for (auto at = found; at + 1 < last; ++at) {
            if (at != found) out += U' ';
            out.append(at, at + 2);
        }
        out += U' ';
        copied = last;
        found = std::find_if(last, folded.end(), is_unspaced);
    }
    out.append(copied, folded.end());
    return true;
}

void hash_words(const std::u32string &paired, std::vector<std::uint32_t> &out) {
    out.clear();
    each_word(paired, [&](View word) {
        Crc32 hash;
        for (const char32_t code : stem(word)) hash.add_utf8(code);
        out.push_back(hash.value());
    });
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
}

} // namespace monograph
