#pragma once

#include <memory>

#include "base/machine.h"
#include "ir/function.h"

namespace ingot::transform {

/// Loops around others whose iterations find numbers in tables, as `for d in range(n): row = table[d]; for s
/// in ...: out[row, s] = ...`, of functions that run on a device. At the array stage.
///
/// Such a loop becomes `if c {loop} else {loop as it was}`. c, computed by launches before it, or before
/// loops around it that do not change the tables, states that the checks of these numbers hold in all
/// iterations, and, where iterations write at the numbers (`Table`), that these are natural, within the axis,
/// and different. In the first loop there are no such checks, and its iterations are independent.
std::unique_ptr<ir::Function> tables(const ir::Function& function, const base::Machine& machine);

}  // namespace ingot::transform
