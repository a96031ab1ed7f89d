#pragma once

#include <memory>

#include "base/machine.h"
#include "ir/function.h"

namespace ingot::transform {

/// From the array stage to the loop stage: every whole-array op becomes loops of loads and stores.
///
/// A pure array with one use is evaluated in the loops of its user, element by element; one with several, or
/// used in a loop that it is not in, is evaluated once into a buffer of its own, as are the arrays that
/// control flow carries and calls take (they become views). Before memory changes from which an array that is
/// still needed would be evaluated later, it is evaluated. Arrays among parameters and results become views.
/// Values are those of the interpreter at the array stage, bit for bit.
std::unique_ptr<ir::Function> to_loops(const ir::Function& function, const base::Machine& machine);

}  // namespace ingot::transform
