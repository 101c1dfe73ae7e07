// Conversion of vectors to numpy arrays.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <memory>
#include <utility>
#include <vector>

namespace monograph {

namespace nb = nanobind;

// Returns a C-contiguous numpy array that owns the values.
template <typename T, typename... Shape>
nb::ndarray<nb::numpy, T, nb::ndim<sizeof...(Shape)>> array_of(std::vector<T> values, Shape... shape) {
    auto owned = std::make_unique<std::vector<T>>(std::move(values));
    T *data = owned->data();
    nb::capsule owner(owned.release(), [](void *held) noexcept { delete static_cast<std::vector<T> *>(held); });
    return {data, {shape...}, owner};
}

} // namespace monograph
