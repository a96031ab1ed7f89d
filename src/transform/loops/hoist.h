#pragma once

#include <memory>

#include "base/machine.h"
#include "ir/function.h"

namespace ingot::transform {

/// Takes out of loops what is the same in all iterations; at the loop stage. It is done before the first
/// iteration, if there is one.
///
/// For machines without kernels: loads of loops without loops inside, of memory that no iteration writes, and
/// what they are computed from. No check moves, and no load that comes after one: after `checks` these are
/// few. (What a loop stores may be anywhere for LLVM, so it loads anew.)
///
/// For machines with kernels, where a loop inside is an axis of a launch if its count is known before: what
/// the loops inside wait for.
///
/// What moves there is what counts of loops inside, and conditions of an `if` around them, are computed from:
/// numbers, loads of memory that no iteration writes, and the checks that are the same in all iterations, in
/// their order. Where an iteration may write or raise
/// before it reaches such a check, the checks choose between this and the loop as it was, one iteration after
/// the other. Then a loop that does nothing but an `if` that is the same in all iterations becomes `if c
/// {loop} else {loop}`.
std::unique_ptr<ir::Function> hoist(const ir::Function& function, const base::Machine& machine);

}  // namespace ingot::transform
