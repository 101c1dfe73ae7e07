// Unicode tables: kinds of characters, forms without case and accents, and composition.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace monograph {

using View = std::u32string_view;

// Bits of a character's flags, in the order of tools/unicode_tables.py.
enum Flag : std::uint32_t { WORD = 1, LOWER = 2, UPPER = 4, TITLE = 8, SPACE = 16, DECIMAL = 32, DIGIT = 64, ALPHA = 128 };

constexpr std::uint32_t UNICODE_END = 0x110000;

// The tables. They are those of the Python version that the module was built with.
class Unicode {
  public:
    static const Unicode &tables();
    static const char *version();

    bool is(std::uint32_t code, std::uint32_t flags) const { return entries_[code] & flags; }

    // Return the lower case of a character; the character itself if it has none, or one of several characters.
    std::uint32_t lower(std::uint32_t code) const;

    // Return a character without case and accents. If it stays the same, the result points to ``single``.
    View folded(std::uint32_t code, char32_t &single) const {
        const std::uint32_t fold = entries_[code] >> 17;
        if (fold == 0) {
            single = static_cast<char32_t>(code);
            return {&single, 1};
        }
        return {folds_.data() + starts_[fold - 1], starts_[fold] - starts_[fold - 1]};
    }

    // Return whether NFC may reorder the character, or compose it with the one before.
    bool combines(std::uint32_t code) const { return entries_[code] & 0x1FF00; }
    std::uint32_t combining_class(std::uint32_t code) const { return entries_[code] >> 8 & 0xFF; }

    // Return the character that two characters compose to; 0 if they do not compose.
    std::uint32_t composed(std::uint32_t first, std::uint32_t second) const;
    void append_decomposed(std::u32string &out, std::uint32_t code) const;

  private:
    Unicode();

    // By character: flags (bits 0 to 7), combining class (8 to 15), whether it composes with the character before (16).
    // From bit 17: number of its fold, from 1; 0 for none.
    std::vector<std::uint32_t> entries_;
    // Fold n is folds_[starts_[n - 1]:starts_[n]].
    std::vector<std::uint32_t> starts_;
    std::u32string folds_;
};

// Convert a text to NFC. It must be a concatenation of texts that are in NFC.
void compose(std::u32string &text);

} // namespace monograph
