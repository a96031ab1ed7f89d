#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "ir/function.h"

namespace ingot::frontend {

/// The axes, the outermost first, in which NumPy lays out an array that is made element by element from
/// arrays of its rank (its order `K`): as theirs lie in memory, where they agree; in C order where they do
/// not. What is known of that when compiling: arguments without gaps, views of them, and what is made of
/// these. All else counts as C order. An axis of one element, which `is_one` knows, says nothing where it is
/// repeated.
std::vector<int64_t> memory_order(const ir::Function& function, std::span<const ir::NodeId> operands,
                                  const std::function<bool(ir::NodeId, int)>& is_one);

/// The order that takes axes in another order back.
std::vector<int64_t> inverse_of(std::span<const int64_t> order);

}  // namespace ingot::frontend
