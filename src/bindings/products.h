#pragma once

#include <string_view>

#include "bindings/interrupts.h"
#include "runtime/abi.h"

/// NumPy's matrix product, called without its Python objects.
namespace ingot::bindings {

/// Finds the inner loops of `np.matmul`. With the GIL, once, before they are called. Throws python_error.
void find_matmul();

/// The library routine `matmul` for slots of this layout: views in C order. Needs no GIL; lets go of it, if
/// it is held, where the product takes long.
void matmul(std::string_view layout, void** slots, Gil& gil);

}  // namespace ingot::bindings
