// Runs of words with capitals: what the regular expression of monograph.derive.extract.pattern finds.
#pragma once
#include "lexicon.hpp"

#include <cstddef>
#include <utility>

namespace monograph {

class Runs {
  public:
    Runs(View text, const Lexicon &lexicon) : text_(text), lexicon_(lexicon) {}

    // The first run within text[at:stop]; (stop, stop) where there is none.
    std::pair<std::size_t, std::size_t> next(std::size_t at, std::size_t stop) const;

    // Where the article ends that is written before a name without a blank (L'Aquila); 0 where none stands there.
    std::size_t after_article(std::size_t at) const;

  private:
    bool is(std::size_t at, std::uint32_t flags) const { return at < stop_ && unicode_.is(text_[at], flags); }
    bool is_sign(std::size_t at, View signs) const { return at < stop_ && signs.find(text_[at]) != View::npos; }
    bool is_capital(std::size_t at) const { return is(at, UPPER | TITLE) && text_[at] < 0x10000; }
    bool is_letter(std::size_t at) const;
    bool is_border(std::size_t at) const;
    bool follows_set(std::size_t at, std::uint32_t set, std::size_t longest) const;
    std::size_t letters(std::size_t at) const;
    std::size_t digits(std::size_t at, std::size_t most) const;
    std::size_t joint(std::size_t at) const;
    bool has_dot(std::size_t at) const;
    std::size_t word(std::size_t at) const;
    std::size_t ordinal(std::size_t at) const;
    std::size_t linked(std::size_t at) const;
    std::size_t number(std::size_t at) const;
    std::size_t year(std::size_t at) const;
    std::size_t elided(std::size_t at) const;

    View text_;
    const Lexicon &lexicon_;
    const Unicode &unicode_ = Unicode::tables();
    mutable std::size_t stop_ = 0;
};

} // namespace monograph
