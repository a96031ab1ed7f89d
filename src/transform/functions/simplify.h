#pragma once

#include <memory>

#include "ir/function.h"

namespace ingot::transform {

/// Builds the function anew through the Builder's folding; takes the arm of an `if` whose condition is
/// constant, turns one whose arms only give scalars into selects, opens blocks that nothing leaves early and
/// loops of one iteration, computes moduli of complex numbers by parts where all derivatives have been made,
/// drops checks that hold and comparisons known from the ranges of loop indices and lengths; then drops what
/// is dead (`dce`). At either stage.
std::unique_ptr<ir::Function> simplify(const ir::Function& function);

/// Drops nodes without effect whose values are not used: pure ones, reads, allocations, counted loops and
/// branches without effects, and the values that loops, branches and blocks carry only for themselves. A
/// `while` stays: it may not end.
std::unique_ptr<ir::Function> dce(const ir::Function& function);

}  // namespace ingot::transform
