#pragma once

#include <functional>
#include <span>

#include "transform/writers/loop_writer.h"

namespace ingot::transform {

/// A vector loop has no more lanes than these.
inline constexpr int64_t kMostLanes = 64;

/// Two accesses of a loop's iterations to memory, in the order in which an iteration makes them; may be one.
struct AccessPair {
  NodeId first;
  NodeId second;
  bool operator==(const AccessPair&) const = default;
};

/// Whether `keeps_order` can be asked of two accesses: both load or store one element of a view from outside
/// the loop, once in an iteration at most, at indices that grow by a constant from iteration to iteration,
/// and what is stored may be contiguous. Not if they are known not to keep their order.
bool can_ask_for_order(const Function& function, NodeId loop, const AccessPair& pair);

/// Whether iterations that run together in lanes - all of them come to one access before any comes to the
/// next - touch memory as they do one after the other: no iteration makes the first access of a pair where
/// one before it, that may run together with it, makes the second. Found when the code runs, before the loop;
/// `use` gives what values of a function have become.
///
/// What is touched counts, in bytes: different elements of a view may share some.
NodeId keeps_order(LoopWriter& loops, const Function& function, NodeId loop,
                   std::span<const AccessPair> pairs, const std::function<NodeId(NodeId)>& use);

}  // namespace ingot::transform
