// What stands in quotation marks. Twin: monograph.derive.extract.shapes.
#pragma once
#include "numbers.hpp"

#include <vector>

namespace monograph {

// In order, without the marks; a work is one by its marks.
std::vector<Shaped> quotes(View text);

} // namespace monograph
