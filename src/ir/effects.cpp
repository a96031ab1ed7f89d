#include <vector>

#include "ir/builder.h"
#include "ir/walk.h"

namespace ingot::ir {

namespace {

/// Calls fn(op) for the nodes of all functions that a call reaches; false: one of them has no body.
template <class Fn>
bool each_reached(const Function& function, NodeId call, Fn&& fn) {
  const Module& module = function.module();
  std::vector<bool> seen(module.function_count());
  std::vector<size_t> open{static_cast<size_t>(function.attribute(call, 0))};
  while (!open.empty()) {
    const size_t at = open.back();
    open.pop_back();
    if (seen[at]) continue;
    seen[at] = true;
    const Function* callee = module.function(FunctionId(static_cast<uint32_t>(at)));
    if (callee == nullptr) return false;
    for (uint32_t i = 0; i < callee->node_count(); ++i) {
      const Op op = callee->op(NodeId(i));
      if (op == Op::call) open.push_back(static_cast<size_t>(callee->attribute(NodeId(i), 0)));
      else fn(op);
    }
  }
  return true;
}

/// The effects of a call: those of the functions that it reaches. All of them may use up the stack.
Effects effects_of_call(const Function& function, NodeId call) {
  Effects all = effect::Raise;
  const bool is_known = each_reached(function, call, [&](Op op) {
    const Effects own = info(op).effects;
    if (own != effect::Control && own != effect::Exit) all = all | own;
  });
  return is_known ? all : info(Op::call).effects;
}

Effects own_effects(const Function& function, NodeId node) {
  return function.op(node) == Op::call ? effects_of_call(function, node) : info(function.op(node)).effects;
}

}  // namespace

bool host_only(const Function& function, NodeId node) {
  if (function.op(node) != Op::call) return host_only(function.op(node));
  bool any = false;
  const bool is_known = each_reached(function, node, [&](Op op) { any = any || host_only(op); });
  return any || !is_known;
}

bool may_keep(const Function& function, NodeId node) {
  if (function.op(node) != Op::call) return function.op(node) == Op::keep;
  bool any = false;
  const bool is_known = each_reached(function, node, [&](Op op) { any = any || op == Op::keep; });
  return any || !is_known;
}

Effects effects_of(const Function& function, NodeId node) {
  const OpInfo& card = info(function.op(node));
  if (card.effects != effect::Control) return own_effects(function, node);
  Effects all = effect::Pure;
  for (size_t i = 0; i < card.regions; ++i) {
    const RegionId region = function.region(node, i);
    walk(function, region, [&](NodeId inner) {
      const bool stays =
          function.op(inner) == Op::exit_ && function.encloses(region, function.operand(inner, 0));
      if (!stays && info(function.op(inner)).effects != effect::Control)
        all = all | own_effects(function, inner);
    });
  }
  return all;
}

}  // namespace ingot::ir
