#pragma once

#include <memory>

#include "ir/function.h"

namespace ingot::transform {

/// Takes out of loops what is the same in all iterations, and is done before the first one, if there is one.
/// At the loop stage.
///
/// For machines with kernels, where a loop inside is an axis of a launch if its count is known before: what
/// loops inside wait for. That is what their counts, and conditions of an `if` around them, are computed
/// from: numbers, loads of memory that no iteration writes, and the checks that are the same in all
/// iterations, in their order. Where an iteration may write or raise before it reaches such a check, the
/// checks choose between this and the loop as it was, one iteration after the other. Then a loop that does
/// nothing but an `if` that is the same in all iterations becomes `if c {loop} else {loop}`.
std::unique_ptr<ir::Function> hoist_counts(const ir::Function& function);

/// For CPUs, after `checks`: loads of loops without loops inside, of memory that no iteration writes, and
/// what they are computed from. (What a loop stores may be anywhere for LLVM, so it would load anew.) No
/// check moves, and no load that comes after one.
std::unique_ptr<ir::Function> hoist_loads(const ir::Function& function);

}  // namespace ingot::transform
