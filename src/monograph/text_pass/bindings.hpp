// Declarations shared by the source files of the Python interface.
#pragma once
#include <nanobind/nanobind.h>

#include <string>

namespace monograph {

namespace nb = nanobind;

// Return a Python str of a UTF-32 text.
nb::object as_str(const std::u32string &text);

// Add the classes and functions of one source file to the module.
void bind_names(nb::module_ &module);
void bind_graph(nb::module_ &module);
void bind_questions(nb::module_ &module);

} // namespace monograph
