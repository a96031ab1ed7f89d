#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include "ir/function.h"

namespace ingot::ir {

/// How an iteration over nodes goes on from a node.
enum class Walk : uint8_t {
  Into,  ///< into its regions, then after it
  Past,  ///< after it
  Stop,  ///< no further
};

/// Visits the nodes of a region's body and of the regions inside, in the order of the text: a node before
/// what is in it. `visit(node)` returns how to go on, or nothing: into all regions. Returns whether it was
/// not stopped.
template <class Visit>
bool walk(const Function& function, RegionId region, Visit&& visit);

/// The same of a node and what is in it.
template <class Visit>
bool walk(const Function& function, NodeId node, Visit&& visit) {
  if constexpr (std::is_void_v<std::invoke_result_t<Visit&, NodeId>>) {
    visit(node);
  } else {
    const Walk next = visit(node);
    if (next != Walk::Into) return next == Walk::Past;
  }
  for (size_t i = 0; i < function[node].region_count; ++i)
    if (!walk(function, function.region(node, i), visit)) return false;
  return true;
}

template <class Visit>
bool walk(const Function& function, RegionId region, Visit&& visit) {
  for (const NodeId node : function.region_body(region))
    if (!walk(function, node, visit)) return false;
  return true;
}

/// Whether a condition holds of some node of a region's body or of the regions inside.
template <class Condition>
bool any_within(const Function& function, RegionId region, Condition&& condition) {
  return !walk(function, region, [&](NodeId node) { return condition(node) ? Walk::Stop : Walk::Into; });
}

/// Whether a loop is in a region or in the regions inside.
bool has_loop(const Function& function, RegionId region);

/// The order of the text, which ids do not give: a region may have been resumed after later nodes of an
/// enclosing one.
struct NodeOrder {
  explicit NodeOrder(const Function& function);
  std::vector<uint32_t> begin;  ///< by node, parameters too
  std::vector<uint32_t> end;    ///< by node: the position after all that is in it
};

}  // namespace ingot::ir
