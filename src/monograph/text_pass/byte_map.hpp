// Hash table from byte strings to two numbers, with open addressing. One string holds all keys.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace monograph {

// Return a UTF-32 key as bytes. The data pointer of an empty key may be null, so "" is returned for it.
inline std::string_view bytes_of(std::u32string_view key) {
    return key.empty() ? std::string_view("") : std::string_view(reinterpret_cast<const char *>(key.data()), sizeof(char32_t) * key.size());
}

class ByteMap {
  public:
    // A slot: hash of a key, its offset and its length plus 1 in bytes (0 marks a free slot), and its two numbers.
    struct Entry {
        std::uint64_t hash;
        std::uint32_t offset, length;
        std::uint32_t first, second;
    };

    // ``places`` is the initial number of slots, a power of two.
    explicit ByteMap(std::size_t places = 1024) : table_(places), keys_(1, '\0') {}

    std::size_t size() const { return size_; }

    void clear() {
        table_.assign(table_.size(), Entry{});
        keys_.assign(1, '\0');
        size_ = 0;
    }

    const Entry *find(std::string_view key) const {
        const std::uint64_t hash = hash_of(key);
        for (std::size_t at = hash & (table_.size() - 1);; at = (at + 1) & (table_.size() - 1)) {
            const Entry &entry = table_[at];
            if (entry.length == 0) return nullptr;
            if (entry.hash == hash && entry.length == key.size() + 1 &&
                std::memcmp(keys_.data() + entry.offset, key.data(), key.size()) == 0)
                return &entry;
        }
    }

    // Return the number of a key. A new key is inserted with the next number, from 0.
    std::uint32_t number(std::string_view key) {
        if (const Entry *known = find(key)) return known->first;
        const auto number = static_cast<std::uint32_t>(size_);
        put(key, number, 0);
        return number;
    }

    // Insert a key that the table does not contain.
    void put(std::string_view key, std::uint32_t first, std::uint32_t second) {
        if (2 * (size_ + 1) > table_.size()) grow();
        place({hash_of(key), static_cast<std::uint32_t>(keys_.size()), static_cast<std::uint32_t>(key.size() + 1), first, second});
        keys_.append(key);
        ++size_;
    }

  private:
    template <class Number> static Number read(const char *at) {
        Number number;
        std::memcpy(&number, at, sizeof number);
        return number;
    }

    static std::uint64_t hash_of(std::string_view key) {
        std::uint64_t hash = 0x9E3779B97F4A7C15u ^ key.size() * 0xFF51AFD7ED558CCDu;
        const char *at = key.data();
        const auto mix = [&](std::uint64_t word) {
            hash = (hash ^ word) * 0x9FB21C651E98DF25u;
            hash ^= hash >> 32;
        };
        std::size_t left = key.size();
        for (; left >= 8; at += 8, left -= 8) mix(read<std::uint64_t>(at));
        // Fixed-size reads that may overlap are faster than a copy of variable length.
        if (left >= 4)
            mix(read<std::uint32_t>(at) | std::uint64_t{read<std::uint32_t>(at + left - 4)} << 32);
        else if (left)
            mix(read<std::uint8_t>(at) | std::uint64_t{read<std::uint8_t>(at + left / 2)} << 8 |
                std::uint64_t{read<std::uint8_t>(at + left - 1)} << 16);
        hash *= 0xD6E8FEB86659FD93u;
        return hash ^ hash >> 32;
    }

    void place(const Entry &entry) {
        std::size_t at = entry.hash & (table_.size() - 1);
        while (table_[at].length) at = (at + 1) & (table_.size() - 1);
        table_[at] = entry;
    }

    void grow() {
        std::vector<Entry> old(2 * table_.size());
        old.swap(table_);
        for (const Entry &entry : old)
            if (entry.length) place(entry);
    }

    std::vector<Entry> table_; // The number of slots is a power of two.
    std::string keys_;
    std::size_t size_ = 0;
};

} // namespace monograph
