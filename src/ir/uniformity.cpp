#include "ir/uniformity.h"

#include <algorithm>

namespace ingot::ir {

Uniformity::Uniformity(const Function& function, NodeId launch, Scope scope)
    : function_(function),
      launch_(launch),
      scope_(scope),
      order_(function),
      varying_(function.node_count()),
      divergent_regions_(function.region_count()) {
  const RegionId region = function.region(launch);
  const auto indices = function.region_parameters(region);
  for (size_t i = scope == Scope::Block ? 3 : 0; i < 6; ++i) varying_[indices[i].index] = true;
  if (scope != Scope::Block && indices.size() > 6) varying_[indices[6].index] = true;
  do {
    changed_ = false;
    walk(region, false);
  } while (changed_);
}

void Uniformity::mark(NodeId value, bool varies) {
  if (!varies || varying_[value.index]) return;
  varying_[value.index] = true;
  changed_ = true;
}

void Uniformity::mark_results(NodeId node, bool varies) {
  for (NodeId const result : function_.results_of(node)) mark(result, varies);
}

bool Uniformity::any_operand_varies(NodeId node, size_t from) const {
  return std::ranges::any_of(function_.operands(node).subspan(from), [&](NodeId x) { return varies(x); });
}

std::span<const NodeId> Uniformity::yielded(RegionId region) const {
  const NodeId last = function_.terminator(region);
  if (function_.op(last) != Op::yield) return {};
  return function_.operands(last);
}

void Uniformity::walk(RegionId region, bool divergent) {
  if (divergent && !divergent_regions_[region.index]) {
    divergent_regions_[region.index] = true;
    changed_ = true;
  }
  for (NodeId const node : function_.region_body(region)) walk_node(node, divergent);
}

void Uniformity::walk_node(NodeId node, bool divergent) {
  const OpInfo& card = info(function_.op(node));
  if (function_.op(node) == Op::vote && scope_ == Scope::Block &&
      static_cast<Scope>(function_.attribute(node, 1)) == Scope::Block)
    return;
  switch (function_.op(node)) {
    case Op::if_: return walk_if(node, divergent);
    case Op::for_: return walk_for(node, divergent);
    case Op::while_: return walk_while(node, divergent);
    case Op::block: return walk_block(node, divergent);
    case Op::exit_: return leave(node, divergent);
    default: break;
  }
  if (card.regions > 0) return walk_parallel(node);
  if (!function_.type(node).is_void()) mark(node, is_own(node) || any_operand_varies(node));
}

/// Whether the value differs by thread for any operands.
bool Uniformity::is_own(NodeId node) const {
  const Op op = function_.op(node);
  if (op == Op::load || op == Op::read) return false;
  if (op == Op::alloc) return function_.type(node) != Type::buffer(Space::Shared) || scope_ != Scope::Block;
  return info(op).effects.any(effect::Read | effect::Allocate | effect::Random | effect::Host | effect::Sync);
}

void Uniformity::walk_if(NodeId node, bool divergent) {
  const bool decides = varies(function_.operand(node, 0));
  mark_results(node, decides);
  for (size_t i = 0; i < 2; ++i) {
    const RegionId arm = function_.region(node, i);
    walk(arm, divergent || decides);
    for (size_t k = 0; k < yielded(arm).size(); ++k) mark(function_.result(node, k), varies(yielded(arm)[k]));
  }
}

void Uniformity::walk_for(NodeId node, bool divergent) {
  const RegionId body = function_.region(node);
  const bool decides = varies(function_.operand(node, 0));
  const auto parameters = function_.region_parameters(body);
  mark(parameters[0], decides);
  mark_results(node, decides);
  walk(body, divergent || decides);
  const auto next = yielded(body);
  for (size_t i = 0; i + 1 < parameters.size(); ++i) {
    mark(parameters[i + 1], varies(function_.operand(node, i + 1)) || (i < next.size() && varies(next[i])));
    mark(function_.result(node, i), varies(parameters[i + 1]));
  }
}

void Uniformity::walk_while(NodeId node, bool divergent) {
  const RegionId head = function_.region(node, 0);
  const RegionId body = function_.region(node, 1);
  const auto values = yielded(head);
  const bool decides = !values.empty() && varies(values[0]);
  walk(head, divergent || decides);
  for (size_t i = 1; i < values.size(); ++i) {
    mark(function_.region_parameters(body)[i - 1], varies(values[i]));
    mark(function_.result(node, i - 1), decides || varies(values[i]));
  }
  walk(body, divergent || decides);
  const auto next = yielded(body);
  const auto parameters = function_.region_parameters(head);
  for (size_t i = 0; i < parameters.size(); ++i)
    mark(parameters[i], varies(function_.operand(node, i)) || (i < next.size() && varies(next[i])));
}

void Uniformity::walk_block(NodeId node, bool divergent) {
  const RegionId body = function_.region(node);
  walk(body, divergent);
  const auto values = yielded(body);
  for (size_t i = 0; i < values.size(); ++i) mark(function_.result(node, i), varies(values[i]));
}

/// Iterations in any order: nothing in them is uniform.
void Uniformity::walk_parallel(NodeId node) {
  const RegionId body = function_.region(node);
  for (NodeId const parameter : function_.region_parameters(body)) mark(parameter, true);
  mark_results(node, true);
  walk(body, true);
}

void Uniformity::leave(NodeId exit, bool divergent) {
  const NodeId block = function_[function_[function_.operand(exit, 0)].parent].owner;
  if (divergent && std::ranges::find(divergent_exits_, exit) == divergent_exits_.end()) {
    divergent_exits_.push_back(exit);
    changed_ = true;
  }
  mark_results(block, divergent);
  for (size_t i = 1; i < function_.operands(exit).size(); ++i)
    mark(function_.result(block, i - 1), varies(function_.operand(exit, i)));
}

/// Whether a thread that took the exit has nothing left to do.
bool Uniformity::ends_thread(NodeId exit) const {
  NodeId node = function_[function_[function_.operand(exit, 0)].parent].owner;
  for (;;) {
    const RegionId region = function_[node].parent;
    const auto body = function_.region_body(region);
    const auto after = std::ranges::find(body, node);
    const bool is_last = std::all_of(after + 1, body.end(), [&](NodeId other) {
      return function_.op(other) == Op::result || function_.op(other) == Op::yield;
    });
    if (!is_last) return false;
    node = function_[region].owner;
    if (node == launch_) return true;
    if (function_.op(node) != Op::block && function_.op(node) != Op::if_) return false;
  }
}

/// Whether a thread that took the exit can miss the node while another runs it.
bool Uniformity::may_skip(NodeId exit, NodeId node) const {
  if (ends_thread(exit)) return false;
  const RegionId left = function_[function_.operand(exit, 0)].parent;
  if (!function_.encloses(left, node)) return false;
  if (order_.begin[node.index] > order_.begin[exit.index]) return true;
  // The node comes before the exit: missed only in a later iteration of a loop around both.
  for (RegionId region = function_[exit].parent; region != left;
       region = function_[function_[region].owner].parent) {
    const Op op = function_.op(function_[region].owner);
    if (function_.encloses(region, node) && op != Op::if_ && op != Op::block) return true;
    // The two regions of a `while` are one loop.
    const NodeId owner = function_[region].owner;
    if (op == Op::while_ && function_.encloses(function_.region(owner, 0), node)) return true;
  }
  return false;
}

bool Uniformity::is_uniform(NodeId node) const {
  if (divergent_regions_[function_[node].parent.index]) return false;
  return std::ranges::none_of(divergent_exits_, [&](NodeId exit) { return may_skip(exit, node); });
}

bool is_collective(Op op) {
  return op == Op::barrier || op == Op::vote || op == Op::match || op == Op::shuffle || op == Op::active;
}

std::optional<Scope> scope_of_collective(const Function& function, NodeId node) {
  const Op op = function.op(node);
  if (op == Op::barrier && function.operands(node).empty()) {
    const auto scope = static_cast<Scope>(function.attribute(node, 0));
    return scope == Scope::Warp ? Scope::Block : std::min(scope, Scope::Device);
  }
  if (op == Op::vote && static_cast<Scope>(function.attribute(node, 1)) == Scope::Block) return Scope::Block;
  return std::nullopt;
}

}  // namespace ingot::ir
