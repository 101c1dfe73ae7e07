// Last and first names that stand for a full one in a document.
#pragma once
#include "byte_map.hpp"
#include "lexicon.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace monograph {

// The keys of a document's names, each with a number, and what they are told to be.
class Keys {
  public:
    static constexpr std::uint32_t NONE = 0xFFFFFFFF;

    enum Is : std::uint8_t { TOLD_PERSON = 1, TOLD_NAME = 2, PERSON = 4, NAME = 8, INITIALS = 16, LAST_NAME = 32, FULL = 64 };

    std::uint32_t number(View key);
    std::uint32_t find(View key) const; // NONE where it has none.
    View operator[](std::uint32_t number) const { return View(signs_).substr(starts_[number], starts_[number + 1] - starts_[number]); }
    std::uint32_t size() const { return static_cast<std::uint32_t>(is_.size()); }

    bool is(std::uint32_t number, unsigned what) const { return is_[number] & what; }
    void tell(std::uint32_t number, Is what) { is_[number] = static_cast<std::uint8_t>(is_[number] | what); }

  private:
    ByteMap numbers_{256};
    std::u32string signs_;
    std::vector<std::size_t> starts_{0};
    std::vector<std::uint8_t> is_;
};

// A key without Mr., Dr. and the like before it.
View without_courtesy(View key, const Lexicon &lexicon);

// Of each key its full name, by the numbers of both; NONE for one that stands for no other. ``are_apart`` tells whether
// someone said that a short name and a full one are not one.
void full_names(Keys &keys, const Lexicon &lexicon, const std::function<bool(View, View)> &are_apart, std::vector<std::uint32_t> &full);

} // namespace monograph
