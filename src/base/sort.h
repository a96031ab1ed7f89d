#pragma once

#include <cstdint>

#include "base/dtype.h"

namespace ingot::base {

/// The order of sorted elements: NaN last; complex numbers by real, then imaginary part, as NumPy does, with
/// those that have a NaN in the real part after those that have one in the imaginary part only. Elements of
/// which neither comes before the other keep their order.

/// Sorts contiguous elements.
void sort_line(DType dtype, void* elements, int64_t count);
/// Sorts the indices of all elements by the elements there.
void argsort_line(DType dtype, const void* elements, int64_t* indices, int64_t count);

}  // namespace ingot::base
