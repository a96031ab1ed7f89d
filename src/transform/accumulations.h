#pragma once

#include <vector>

#include "ir/function.h"

namespace ingot::transform {

/// `h[i] = h[i] op x`, of an element whose place may be that of other turns.
struct Accumulation {
  ir::NodeId load;  ///< none: the element becomes x, by `constant`
  ir::NodeId store;
  ir::NodeId view;
  ir::Op combiner;     ///< `add` of differences too
  bool exact = false;  ///< of integers or bools as they stand: every order gives the same value
};

/// The accumulations in a loop, into views from outside, that are the only uses of what they load and do not
/// stand in each other. After `simplify`.
std::vector<Accumulation> accumulations_in(const ir::Function& function, ir::NodeId loop);

/// What leads from the element that is loaded to the one that is stored, in order; and what is added on the
/// way; of an element that becomes it, no steps.
struct Accumulating {
  std::vector<ir::NodeId> steps;
  ir::NodeId summand;
};
Accumulating steps_of(const ir::Function& function, const Accumulation& accumulation);

}  // namespace ingot::transform
