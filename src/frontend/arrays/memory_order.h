#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "ir/function.h"

namespace ingot::frontend {

/// The axis order, outermost first, of NumPy's result of an elementwise operation on arrays of its rank
/// (order `K`): the axis order of the operands where they agree, else C order. The order is known for
/// contiguous arguments, views of them, and results of operations on these; other arrays count as in C order.
/// A repeated axis of one element (`is_one`) does not count.
std::vector<int64_t> memory_order(const ir::Function& function, std::span<const ir::NodeId> operands,
                                  const std::function<bool(ir::NodeId, int)>& is_one);

/// The inverse permutation of axes.
std::vector<int64_t> inverse_of(std::span<const int64_t> order);

}  // namespace ingot::frontend
