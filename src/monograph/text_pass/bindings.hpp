// What the files that Python sees share.
#pragma once
#include <nanobind/nanobind.h>

#include <string>

namespace monograph {

namespace nb = nanobind;

nb::object as_str(const std::u32string &text);

void bind_names(nb::module_ &module);
void bind_graph(nb::module_ &module);
void bind_questions(nb::module_ &module);

} // namespace monograph
