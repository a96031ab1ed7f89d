#pragma once

#include <optional>

#include "ir/function.h"

namespace ingot::transform {

/// The op by which the turns of a `for` combine the i-th value that it carries with something of their own:
/// `v = v op x`, also `v - x` (whose op is `add`), several of them in a row, or in some branches only. None
/// if a turn does something else with it. After `simplify`.
///
/// Where the carried value is replaced by the identity of the op - or, if the op has none, `v op x` by x - a
/// turn yields its contribution.
std::optional<ir::Op> reduction_of(const ir::Function& function, ir::NodeId loop, size_t i);

}  // namespace ingot::transform
