// Dates, times, amounts and codes: what begins with a digit, or before one. Twin: monograph.derive.extract.shapes.
#pragma once
#include "lexicon.hpp"
#include "signs.hpp"

#include <cstddef>
#include <vector>

namespace monograph {

enum class Shape : std::uint8_t { NONE, DATE, TIME, QUANTITY, CODE, QUOTE, WORK };

struct Shaped {
    std::size_t start, end;
    Shape shape;
};

// In order; none overlaps another.
std::vector<Shaped> numbers(View text, const Lexicon &lexicon);

} // namespace monograph
