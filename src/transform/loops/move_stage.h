#pragma once

#include <memory>

#include "ir/function.h"

/// @file The steps that compute an array where it is read (docs/guides/schedules.md).

namespace ingot::transform {

/// Has a nest, whose outermost loop is `nest`, run at the start of each iteration of the loop `at`, for the
/// elements that this reads of the array that the nest computes. They are kept in an array that is made in
/// each iteration of the loop `stored`, which is `at`, or a loop around it whose iterations run in order:
/// then what the iteration before has computed is not computed again.
///
/// Throws base::Unsupported, with the lines, where that could change what is computed.
std::unique_ptr<ir::Function> compute_at(const ir::Function& function, ir::NodeId nest, ir::NodeId at,
                                         ir::NodeId stored);

/// Has each element of the array that a nest computes be computed where it is read.
std::unique_ptr<ir::Function> compute_inline(const ir::Function& function, ir::NodeId nest);

}  // namespace ingot::transform
