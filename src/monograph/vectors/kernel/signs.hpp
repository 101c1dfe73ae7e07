// Signs of vectors, a bit a value, held against other vectors.
#pragma once
#include <nanobind/nanobind.h>

namespace monograph {

void bind_signs(nanobind::module_ &module);

} // namespace monograph
