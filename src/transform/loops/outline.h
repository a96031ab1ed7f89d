#pragma once

#include <memory>

#include "base/machine.h"
#include "ir/function.h"

namespace ingot::transform {

/// Decides which loops become functions of their own that threads share, and when they do: a loop that may be
/// shared is put into a `share`. Its operand is computed before it - from the number of iterations, what an
/// iteration costs, and whether what the loop writes is disjoint - and is the number of iterations that a
/// thread takes at once, or 0. At the loop stage, after all passes that make or change loops; loops in vector
/// loops and in others that are shared stay as they are. Null: no loop may be shared.
std::unique_ptr<ir::Function> outline(const ir::Function& function, const base::Machine& machine);

}  // namespace ingot::transform
