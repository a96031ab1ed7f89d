#pragma once

#include <vector>

#include "ir/function.h"

namespace ingot::transform {

/// `h[i] = h[i] op x`, of an element whose place may be that of other turns.
struct Accumulation {
  ir::NodeId load;
  ir::NodeId store;
  ir::NodeId view;
  ir::Op combiner;     ///< `add` of differences too
  bool exact = false;  ///< of integers or bools as they stand: every order gives the same value
};

/// The accumulations in a loop, into views from outside, that are the only uses of what they load and do not
/// stand in each other. After `simplify`.
std::vector<Accumulation> accumulations_in(const ir::Function& function, ir::NodeId loop);

}  // namespace ingot::transform
