#pragma once

#include <memory>

#include "ir/function.h"

namespace ingot::transform {

/// The function without a `block`, an `exit_`, or a `return_` inside a region: its body ends in `return_`,
/// `raise` or `unreachable`, all other regions in `yield`, `raise` or `unreachable`. Null: it has none.
///
/// At the array stage; it needs nothing to have run before. Values, effects and their order, and which
/// exception comes first stay as they are. No code is duplicated. What follows a branch of which one arm
/// leaves moves into its other arm. A loop that is left becomes a `while_` that carries, besides its values,
/// the number of the exit (0: none) and the exit's values; its test is not evaluated once it is left.
std::unique_ptr<ir::Function> lower_exits(const ir::Function& function);

}  // namespace ingot::transform
