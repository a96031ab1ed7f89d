#pragma once

#include "frontend/tracer/tracer.h"

/// Joined objects: variables that are a dict, list or instance of another number on each path, at least one
/// of which must keep its number, such as the caller's. Such an object is read by its elements and
/// attributes, which join; it is not changed, as those that it may be would change with it.
namespace ingot::frontend {

/// The objects that a state and a value lead to.
struct Reached {
  std::set<uint32_t> all;
  std::set<uint32_t> from_outside;  ///< of the function: directly, by its callers, their containers and cells
};
/// Cells that the state of another path lacks are not seen after a join.
Reached reached_by(const Tracer& t, const State& state, const State& other, const Value& value);
/// Makes the variables and elements of two states, and two values, that are different objects of one
/// structure a joined object in both. Gives whether any is new, that is, not known in `a`.
bool join_objects(Tracer& t, State& a, Value& a_value, State& b, Value& b_value);
/// What loops do with a state that comes back: `align` and `join_objects`. Gives whether `entry` has got new
/// objects, so that the loop has to be evaluated again.
bool join_with_entry(Tracer& t, std::optional<State>& entry, const State& shape, State& back);
/// Looks for what makes the path known that decides which of several an object is; see `settle`.
void settle_objects(Tracer& t, NodeId condition);
/// An object is about to be changed: refused if it is a joined one; those that may be it are not used any
/// more.
void will_change(Tracer& t, uint32_t object, nb::handle node);
/// Whether two objects of different numbers may be one at run time.
bool may_be_same(const Tracer& t, uint32_t a, uint32_t b);
/// Refuses `is` where only the run time could answer.
void need_known_identity(Tracer& t, uint32_t a, uint32_t b, nb::handle node);
/// Whether one of a state's objects is a joined one.
bool has_joined(const State& state);
/// Makes the path known that decides which of several a joined object is, if it can be, before such an object
/// is refused.
void need_path(Tracer& t, const HeapObject& object, nb::handle node);

}  // namespace ingot::frontend
