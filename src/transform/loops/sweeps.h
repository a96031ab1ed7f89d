#pragma once

#include <memory>

#include "ir/function.h"

namespace ingot::transform {

/// Makes one loop of loops after each other that go through windows on one array, each of which changes the
/// elements at its own index: cotangents of `x[1:]` and of `x[:-1]`, which are added to those of x. At the
/// loop stage, after `fuse_nests`.
///
/// Loops are taken if they have one count, carry nothing, store once, into a window of one axis on an array
/// that is made here, and load from it at the same index alone; the windows begin at its first elements, at a
/// distance of few. In the loop that they become each element is loaded once, changed by all of them in their
/// order, and stored once; what some of the windows do not have at both ends is done before and after it.
/// Each value is computed from the same operands in the same order as before.
std::unique_ptr<ir::Function> sweeps(const ir::Function& function);

}  // namespace ingot::transform
