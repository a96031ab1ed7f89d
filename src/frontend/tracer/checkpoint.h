#pragma once

#include "frontend/tracer/tracer.h"

/// Going back to a state, and keys of locations.
namespace ingot::frontend {

/// A point to roll back to, if a new fact contradicts what was built after it.
struct Checkpoint {
  ir::Builder::Mark mark;
  std::optional<State> state;
  std::vector<size_t> edges;  ///< of each target in `Tracer::targets`
  size_t hosts;
  size_t unrolled_iterations;  ///< those of `Unrolling`: what is given up counts no more
  size_t unrolled_ops;
};

/// Removes the variables that have a suffix, those of a generator.
void forget(Tracer& t, const std::string& suffix);
std::string suffix_of(const Tracer& t, nb::handle node);    ///< of names of a location in this activation
Checkpoint checkpoint(Tracer& t, bool keeps_state = true);  ///< else going back leaves variables and objects
/// Gives up what has been built since: nodes, exits to labels, host calls, and the state if it was kept.
void go_back(Tracer& t, const Checkpoint& point);
/// The key of a location in facts: the chain of calls that led here, line and column.
std::string key_of(const Tracer& t, nb::handle node);

}  // namespace ingot::frontend
