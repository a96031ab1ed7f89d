#pragma once

#include <cstdint>

#include "base/dtype.h"

namespace ingot::base {

/// Sorts the indices 0, 1, ... of numbers of 32 or 64 bits by the numbers there, in the order of base/sort.h:
/// a radix sort. False, with nothing done: the numbers are of other dtypes, too few or too many, or so much
/// in order that sorts which merge are faster.
bool radix_argsort(DType dtype, const void* elements, int64_t* indices, int64_t count);

}  // namespace ingot::base
