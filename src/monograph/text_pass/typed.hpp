// The type of a name: what its own words, the word before it or its definition give away. Twin: monograph.derive.extract.typed.
#pragma once
#include "lexicon.hpp"
#include "signs.hpp"

#include <cstddef>
#include <cstdint>

namespace monograph {

// Of the name at a place: counted from 1 among the kinds given to the lexicon; 0 for none; ASK where the twin must tell.
class NameKinds {
  public:
    static constexpr std::int32_t ASK = -1;

    NameKinds(View text, const Lexicon &lexicon) : signs_(text), lexicon_(lexicon) {}

    std::int32_t kind(std::size_t start, std::size_t end) const;

  private:
    bool is_born(std::size_t bracket) const;
    bool is_birth(std::size_t at) const;
    bool is_life(std::size_t at) const;
    std::int32_t defined(std::size_t at) const;
    std::int32_t before(std::size_t start) const;

    Signs signs_;
    const Lexicon &lexicon_;
};

} // namespace monograph
