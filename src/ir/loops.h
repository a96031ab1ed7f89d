#pragma once

#include "ir/function.h"

/// @file What passes decide of a counted loop (`for_`, `parallel_for`): its attributes, by name.

namespace ingot::ir {

inline Schedule schedule_of(const Function& f, NodeId loop) {
  return static_cast<Schedule>(f.attribute(loop, 0));
}

/// How many iterations run together in lanes; 0: not decided.
inline int64_t width_of(const Function& f, NodeId loop) { return f.attribute(loop, 1); }

/// Whether iterations run one by one, whatever the schedule is: of the version of a loop that runs where
/// another one would raise or touch memory that it must not. Passes leave such loops as they are.
inline bool is_careful(const Function& f, NodeId loop) { return width_of(f, loop) == 1; }

/// Whether a node is a loop whose iterations run together in lanes.
inline bool runs_in_lanes(const Function& f, NodeId node) {
  return is_counted_loop(f.op(node)) && has_lanes(schedule_of(f, node)) && !is_careful(f, node);
}

}  // namespace ingot::ir
