// Courses side by side, on as many threads as are worth it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "course.hpp"

namespace monograph {

// Each course, none of which is there twice, goes on for so many loads; returns what each came to. The calling thread
// goes the first, which tells how long the others take: a thread more is started for each ``worth`` microseconds.
std::vector<std::int64_t> side_by_side(const std::vector<Course *> &courses, std::int64_t loads, std::size_t threads, std::int64_t worth);

} // namespace monograph
