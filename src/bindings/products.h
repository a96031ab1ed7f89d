#pragma once

#include <string_view>

#include "runtime/abi.h"

/// NumPy's matrix product, called without its Python objects.
namespace ingot::bindings {

/// Finds the inner loops of `np.matmul`. With the GIL, once, before they are called. Throws python_error.
void find_matmul();

/// The library routine `matmul` for slots of this layout: views in C order. The GIL is not needed.
void matmul(std::string_view layout, void** slots);

}  // namespace ingot::bindings
