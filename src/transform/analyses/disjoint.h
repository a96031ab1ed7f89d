#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/disjoint.h"
#include "ir/function.h"
#include "transform/writers/loop_writer.h"

namespace ingot::transform {

/// Whether a `view` states that each of its strides is as long as all that the axes inside it reach over.
bool is_in_c_order(const ir::Function& function, ir::NodeId view);

/// The views that decide whether an element that a node with regions, for example a loop, writes may share
/// its location with another one: its iterations would conflict.
struct Layouts {
  /// Whether what the lengths and strides of `views` are is known before the loop.
  bool known = true;
  std::vector<ir::NodeId> views;
};
Layouts written_layouts(const ir::Function& function, ir::NodeId loop);
/// Whether each element of a view that a loop writes through is known to have a location of its own.
bool stands_once(const ir::Function& function, ir::NodeId loop, ir::NodeId view);

/// The view whose memory, offset and strides the `view` at a node has; none: not known.
ir::NodeId laid_out_as(const ir::Function& function, ir::NodeId view);

using base::is_disjoint;

/// Whether different indices of each of `views` are different locations, found when the code runs; `use` maps
/// values of a function to the new ones.
ir::NodeId are_disjoint(LoopWriter& loops, const ir::Function& function, std::span<const ir::NodeId> views,
                        const std::function<ir::NodeId(ir::NodeId)>& use);

}  // namespace ingot::transform
