#pragma once

#include <memory>

#include "ir/function.h"

namespace ingot::transform {

/// The array that each iteration of a loop makes of the previous one - `x = f(x)` - is stored in the memory
/// of the previous one, element by element. At the array stage, after `simplify`, which finds the slots whose
/// arrays keep their shape, in C order.
///
/// The new array's elements are computed from elements of the old one at the same indices, by elementwise ops
/// alone; the old one is not used after the new one has been made, and nothing but the loop refers to either
/// of them. The initial array is copied before the loop, unless nothing else refers to it, so that others see
/// nothing of the iterations; no iteration writes to it then. Where the loop has no iteration, the result is
/// the initial array.
std::unique_ptr<ir::Function> reuse(const ir::Function& function);

}  // namespace ingot::transform
