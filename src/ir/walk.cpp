#include "ir/walk.h"

namespace ingot::ir {

namespace {

uint32_t number(const Function& function, RegionId region, uint32_t next, NodeOrder& order) {
  for (const NodeId node : function[region].nodes) {
    order.begin[node.index] = next++;
    for (size_t i = 0; i < function[node].region_count; ++i)
      next = number(function, function.region(node, i), next, order);
    order.end[node.index] = next;
  }
  return next;
}

}  // namespace

bool has_loop(const Function& function, RegionId region) {
  return any_within(function, region, [&](NodeId node) { return is_loop(function.op(node)); });
}

NodeOrder::NodeOrder(const Function& function) : begin(function.node_count()), end(function.node_count()) {
  number(function, function.body(), 0, *this);
}

}  // namespace ingot::ir
