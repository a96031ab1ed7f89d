#pragma once

#include "frontend/tracer/tracer.h"

/// Values and states of paths that join. A *shape* is a value in which leaves without a node are slots: these
/// differ between the paths, so the results of the node that joins the paths carry them.
namespace ingot::frontend {

/// The value of `body`, or of the exits to its label: the paths that fall through and those that leave join
/// here.
Value block(Tracer& t, const std::function<Value(Target&)>& body);
/// Ends this path with a value, at a label that is open: its `finally` clauses run, the region is suspended.
[[noreturn]] void leave_to(Tracer& t, Target& target, Value value);
/// Ends a node whose regions are suspended: their states join in the current one, their values in the result.
/// Throws Diverged if there is none.
Value close(Tracer& t, NodeId node, std::vector<Edge>& edges);
/// The shape that two values of a variable have in common; `what`: the words for the variable, for a refusal.
Value join(Tracer& t, const Value& a, const Value& b, const std::string& what);
/// The number of the join of two objects, one of each path; 0: not known.
uint32_t merged(Tracer& t, uint32_t a, uint32_t b);
/// Appends the nodes that fill the slots of a shape by an actual value.
void carry(Tracer& t, const Value& shape, const Value& actual, std::vector<NodeId>& out);
/// A value of a shape, whose slots are the first of `values`, which are taken from it.
Value fill(Tracer& t, const Value& shape, std::span<const NodeId>& values);
/// A number as a node of another kind.
NodeId convert(Tracer& t, const Value& number, Kind kind);
/// Renumbers objects that were made on one path as the corresponding objects of another path, so that both
/// are joined as one. Only where nothing else can see the difference.
void align(Tracer& t, const State& to, const Value& to_value, State& state, Value& value);
/// The same for all variables and objects of two states.
State join(Tracer& t, const State& a, const State& b);
void carry(Tracer& t, const State& shape, const State& actual, std::vector<NodeId>& out);
State fill(Tracer& t, State shape, std::span<const NodeId>& values);
/// Why two values of a variable, from two paths, cannot be joined, for a message.
Conflict apart(const Tracer& t, const Value& a, const Value& b, const std::string& what);

}  // namespace ingot::frontend
