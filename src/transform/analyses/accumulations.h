#pragma once

#include <optional>
#include <vector>

#include "ir/function.h"
#include "transform/analyses/reductions.h"

namespace ingot::transform {

/// The view that others are slices of, with axes in another order or of length 1 more or less.
ir::NodeId whole_of(const ir::Function& function, ir::NodeId view);

/// `h[i] = h[i] op x`, of an element, or of all elements of a view, whose locations may be those of other
/// iterations.
struct Accumulation {
  ir::NodeId load;  ///< none: the element becomes x, by `constant`
  ir::NodeId store;
  ir::NodeId view;
  ir::Op combiner;  ///< `add` of differences too
  /// Of integers or bools, used unchanged, by element of a view from outside: every order gives the same
  /// value.
  bool exact = false;
  /// What the element is an extreme by, instead of the combiner alone: pieces of the range that go in order
  /// give what the iterations give.
  std::optional<Carried> extreme = {};
};

/// The accumulations in a loop, into views from outside and parts of these, that are the only uses of what
/// they load and are not nested in each other. After `simplify`.
std::vector<Accumulation> accumulations_in(const ir::Function& function, ir::NodeId loop);

/// Elements in a loop that become x where a comparison with x decides so, by a store of one of the two or by
/// a store in a branch; with an `extreme`. After `simplify`.
std::vector<Accumulation> extremes_in(const ir::Function& function, ir::NodeId loop);

/// The nodes from the load of the element to its store, in order, and what they add; of an element that
/// becomes the operand, no steps.
struct Accumulating {
  std::vector<ir::NodeId> steps;
  ir::NodeId summand;
};
Accumulating steps_of(const ir::Function& function, const Accumulation& accumulation);

}  // namespace ingot::transform
