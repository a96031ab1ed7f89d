#include <vector>

#include "ir/builder.h"

namespace ingot::ir {

namespace {

/// What a call does: what the functions do that it reaches. All of them may use up the stack.
Effects effects_of_call(const Function& function, NodeId call) {
  const Module& module = function.module();
  std::vector<bool> seen(module.function_count());
  std::vector<size_t> open{static_cast<size_t>(function.attribute(call, 0))};
  Effects all = effect::Raise;
  while (!open.empty()) {
    const size_t at = open.back();
    open.pop_back();
    if (seen[at]) continue;
    seen[at] = true;
    const Function* callee = module.function(FunctionId(static_cast<uint32_t>(at)));
    if (callee == nullptr) return info(Op::call).effects;
    for (uint32_t i = 0; i < callee->node_count(); ++i) {
      const Effects own = info(callee->op(NodeId(i))).effects;
      if (callee->op(NodeId(i)) == Op::call)
        open.push_back(static_cast<size_t>(callee->attribute(NodeId(i), 0)));
      else if (own != effect::Control && own != effect::Exit) all = all | own;
    }
  }
  return all;
}

Effects own_effects(const Function& function, NodeId node) {
  return function.op(node) == Op::call ? effects_of_call(function, node) : info(function.op(node)).effects;
}

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
    if (card.effects != effect::Control) all = all | own_effects(function, node);
  }
  return all;
}

}  // namespace

Effects effects_of(const Function& function, NodeId node) {
  const OpInfo& card = info(function.op(node));
  if (card.effects != effect::Control) return own_effects(function, node);
  Effects all = effect::Pure;
  for (size_t i = 0; i < card.regions; ++i) {
    const RegionId region = function.region(node, i);
    all = all | effects_in(function, region, region);
  }
  return all;
}

}  // namespace ingot::ir
