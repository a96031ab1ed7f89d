#pragma once

#include <memory>

#include "ir/function.h"

namespace ingot::transform {

/// The array that each iteration of a loop makes of the one before - `x = f(x)` - is put into the memory of
/// that one, element by element. At the array stage, after `simplify`, which finds the slots whose arrays
/// keep their shape, in C order.
///
/// The new array's elements are made of elements of the old one at the same places, by elementwise ops alone;
/// nobody looks at the old one when the new one has been made, and nothing but the loop holds either of them.
/// What the loop begins with is copied before, unless nothing else holds it, so that others see nothing of
/// the iterations; no iteration writes to it then. Where the loop has no iteration, it is what it was.
std::unique_ptr<ir::Function> reuse(const ir::Function& function);

}  // namespace ingot::transform
