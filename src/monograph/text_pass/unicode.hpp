// What is known of characters: kinds, forms without case and accents, and how they compose.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace monograph {

using View = std::u32string_view;

// The bits of a character's flags, as tools/unicode_tables.py has them.
enum Flag : std::uint32_t { WORD = 1, LOWER = 2, UPPER = 4, TITLE = 8, SPACE = 16, DECIMAL = 32, DIGIT = 64, ALPHA = 128 };

constexpr std::uint32_t UNICODE_END = 0x110000;

class Unicode {
  public:
    static const Unicode &tables();
    static const char *version();

    bool is(std::uint32_t code, std::uint32_t flags) const { return entries_[code] & flags; }

    // The character's small form, where that is one character: itself for one that has none.
    std::uint32_t lower(std::uint32_t code) const;

    // Without case and accents, by itself; ``single`` holds the character where it stays as it is.
    View folded(std::uint32_t code, char32_t &single) const {
        const std::uint32_t fold = entries_[code] >> 17;
        if (fold == 0) {
            single = static_cast<char32_t>(code);
            return {&single, 1};
        }
        return {folds_.data() + starts_[fold - 1], starts_[fold] - starts_[fold - 1]};
    }

    // Whether it may be moved or composed beside the character before it.
    bool combines(std::uint32_t code) const { return entries_[code] & 0x1FF00; }
    std::uint32_t combining_class(std::uint32_t code) const { return entries_[code] >> 8 & 0xFF; }

    // What two characters are written as; 0 for no one character.
    std::uint32_t composed(std::uint32_t first, std::uint32_t second) const;
    void append_decomposed(std::u32string &out, std::uint32_t code) const;

  private:
    Unicode();

    // Of each character: flags, from bit 8 its combining class, at bit 16 whether it composes with one before it, from
    // bit 17 its fold, counted from 1.
    std::vector<std::uint32_t> entries_;
    std::vector<std::uint32_t> starts_;
    std::u32string folds_;
};

// Bring a text into its composed form (NFC), given one that was put together of such forms.
void compose(std::u32string &text);

} // namespace monograph
