#pragma once

#include <memory>

#include "ir/function.h"

namespace ingot::transform {

/// At the array stage; calls are inlined first, and the function is simplified. `for` loops of schedule
/// `threads` - those over `prange` - that carry values become parallel loops, whose iterations give
/// contributions, in the order of base/reduction.h. So sums of floats have the order of sums over arrays, for
/// the interpreter too. Exact ones are what the iterations in order would have given: integers, bools,
/// extremes with the signs of their zeros. Python ints whose sums are checked keep the iterations in order,
/// but for counts.
///
/// Loops whose iterations do not conflict have the schedule `independent_threads` from here on. Where they do
/// not conflict only if values from outside are at least 0, this is checked when the loop is entered: if they
/// are not, its iterations run in order.
///
/// Throws Unsupported, with its location, for a loop over `prange` whose iterations may depend on each other
/// (`refuse_races`). Null: there is no loop over `prange`.
std::unique_ptr<ir::Function> parallel(const ir::Function& function);

/// The same of a simplified function before derivatives are made, only of loops that carry sums and other
/// values that do not vary, in which no derivative is made, and in which `find_race` finds no conflict. Null:
/// there is no loop over `prange`.
std::unique_ptr<ir::Function> parallel_sums(const ir::Function& function);

}  // namespace ingot::transform
