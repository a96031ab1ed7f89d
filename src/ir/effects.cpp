#include "ir/builder.h"

namespace ingot::ir {

namespace {

/// The effects of a region's nodes, without exits to labels of regions inside `limit`.
Effects effects_in(const Function& function, RegionId region, RegionId limit) {
  Effects all = effect::Pure;
  for (NodeId node : function.region_body(region)) {
    const OpInfo& card = info(function.op(node));
    for (size_t i = 0; i < card.regions; ++i)
      all = all | effects_in(function, function.region(node, i), limit);
    if (function.op(node) == Op::exit_) {
      const RegionId target = function[function.operand(node, 0)].parent;
      if (function.encloses(limit, target)) continue;
    }
    if (card.effects != effect::Control) all = all | card.effects;
  }
  return all;
}

}  // namespace

Effects effects_of(const Function& function, NodeId node) {
  const OpInfo& card = info(function.op(node));
  if (card.effects != effect::Control) return card.effects;
  Effects all = effect::Pure;
  for (size_t i = 0; i < card.regions; ++i) {
    const RegionId region = function.region(node, i);
    all = all | effects_in(function, region, region);
  }
  return all;
}

}  // namespace ingot::ir
