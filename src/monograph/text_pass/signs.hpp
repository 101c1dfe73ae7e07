// The signs of a text by their places: one beyond its ends is none, and of no kind.
#pragma once
#include "unicode.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace monograph {

using View = std::u32string_view;

inline bool is_ascii_letter(char32_t code) { return (code >= U'a' && code <= U'z') || (code >= U'A' && code <= U'Z'); }

class Signs {
  public:
    static constexpr char32_t NONE = 0x7FFFFFFF;

    explicit Signs(View text) : text_(text) {}

    View text() const { return text_; }
    std::size_t size() const { return text_.size(); }
    char32_t operator[](std::size_t at) const { return at < text_.size() ? text_[at] : NONE; }
    View part(std::size_t first, std::size_t last) const { return text_.substr(first, last - first); }
    bool is(std::size_t at, std::uint32_t flags) const { return at < text_.size() && unicode_.is(text_[at], flags); }
    bool is_one_of(std::size_t at, View signs) const { return at < text_.size() && signs.find(text_[at]) != View::npos; }
    bool starts_with(std::size_t at, View what) const { return at <= text_.size() && text_.substr(at).starts_with(what); }

    // Where what begins at a place ends: a run of signs of a kind, at most so many.
    std::size_t run(std::size_t at, std::uint32_t flags, std::size_t most = SIZE_MAX) const {
        const std::size_t first = at;
        while (at - first < most && is(at, flags)) ++at;
        return at;
    }

    // How many decimals stand at a place, counted up to so many.
    std::size_t digits(std::size_t at, std::size_t most) const { return run(at, DECIMAL, most) - at; }

  private:
    View text_;
    const Unicode &unicode_ = Unicode::tables();
};

} // namespace monograph
