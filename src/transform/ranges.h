#pragma once

#include <optional>

#include "ir/function.h"

namespace ingot::transform {

/// What a comparison of two i64 values gives, where it follows from what they are: the index of a loop is at
/// least 0 and less than the loop's count; lengths are at least 0.
std::optional<bool> known_comparison(const ir::Function& function, ir::Op op, ir::NodeId a, ir::NodeId b);

/// Whether an i64 value is at least 0.
bool is_natural(const ir::Function& function, ir::NodeId value);

}  // namespace ingot::transform
