#include "ir/raises.h"

#include <algorithm>
#include <map>
#include <span>

namespace ingot::ir {

namespace {

/// Whether the lengths of what an op gives depend on those of its arrays and on its numbers alone.
bool has_shape_of_operands(Op op) {
  const Effects effects = info(op).effects;
  const bool is_plain = !effects.any(effect::Raise | effect::Host | effect::Random | effect::Sync) &&
                        effects != effect::Control;
  return op != Op::compress && op != Op::kept && is_plain;
}

/// Whether a number among the operands is an element of what an op gives, not one of its lengths.
bool is_element(Op op, size_t operand) {
  return info(op).elementwise || op == Op::cast || op == Op::select || (op == Op::broadcast && operand == 0);
}

class Dependences {
 public:
  Dependences(const Function& function, bool is_entry)
      : function_(function),
        values_(function.node_count()),
        lengths_(function.node_count()),
        reached_(is_entry ? RaiseDepends::Never : RaiseDepends::Elements) {
    for (const NodeId parameter : function.region_parameters(function.body())) {
      const bool is_number = function.type(parameter).is_scalar();
      value(parameter) = !is_entry || !is_number ? RaiseDepends::Elements : RaiseDepends::Numbers;
      lengths(parameter) = is_entry ? RaiseDepends::Lengths : RaiseDepends::Elements;
    }
    visit(function.body());
  }

  std::vector<MayRaise> found;

 private:
  void visit(RegionId region);
  void visit(NodeId node);
  void visit_regions(NodeId node);
  void give(std::span<const NodeId> results, std::span<const NodeId> given);
  RaiseDepends& value(NodeId node) { return values_[node.index]; }
  RaiseDepends& lengths(NodeId node) { return lengths_[node.index]; }
  RaiseDepends of(NodeId node) { return function_.type(node).has_shape() ? lengths(node) : value(node); }
  void set(NodeId node, RaiseDepends depends) { value(node) = lengths(node) = depends; }
  void add(NodeId node, RaiseDepends depends) {
    found.push_back(
        {static_cast<base::ExceptionKind>(function_.attribute(node, 0)), std::max(depends, reached_)});
  }

  const Function& function_;
  std::vector<RaiseDepends> values_;   ///< by node, of a number
  std::vector<RaiseDepends> lengths_;  ///< by node, of an array
  RaiseDepends reached_;               ///< what decides whether control comes here
  std::vector<NodeId> left_;  ///< the labels that control may have left for, none: of the function's end
  std::map<NodeId, std::vector<NodeId>> given_to_;  ///< by label: the results of its block
};

void Dependences::visit(RegionId region) {
  for (const NodeId node : function_.region_body(region)) {
    if (function_.op(node) != Op::result) visit(node);
  }
}

void Dependences::visit(NodeId node) {
  const Op op = function_.op(node);
  if (op == Op::exit_) {
    const auto operands = function_.operands(node);
    left_.push_back(operands[0]);
    return give(given_to_[operands[0]], operands.subspan(1));
  }
  if (op == Op::raise || op == Op::return_) left_.emplace_back();
  if (op == Op::check) return add(node, value(function_.operand(node, 0)));
  if (op == Op::raise) return add(node, RaiseDepends::Never);
  if (function_[node].region_count > 0) return visit_regions(node);
  RaiseDepends depends = RaiseDepends::Never;
  RaiseDepends shape = has_shape_of_operands(op) ? RaiseDepends::Never : RaiseDepends::Elements;
  for (size_t i = 0; i < function_.operands(node).size(); ++i) {
    const NodeId operand = function_.operand(node, i);
    depends = std::max(depends, of(operand));
    if (function_.type(operand).has_shape() || !is_element(op, i)) shape = std::max(shape, of(operand));
  }
  if (!has_shape_of_operands(op)) depends = RaiseDepends::Elements;
  for (const NodeId result : function_.results_of(node)) {
    value(result) = depends;
    lengths(result) = shape;
  }
  const bool is_of_elements =
      info(op).effects.any(effect::Read) || op == Op::same_object || op == Op::distance ||
      std::ranges::any_of(function_.operands(node),
                          [&](NodeId operand) { return function_.type(operand).has_shape(); });
  if (function_.result_count(node) == 1 && is_of_elements && op != Op::length &&
      !function_.type(node).has_shape())
    value(node) = RaiseDepends::Elements;
}

/// What decides about a branch that leaves decides about all that comes until the end of the block it leaves.
void Dependences::visit_regions(NodeId node) {
  const Op op = function_.op(node);
  const RaiseDepends before = reached_;
  const size_t left = left_.size();
  if (op == Op::if_) reached_ = std::max(reached_, value(function_.operand(node, 0)));
  else if (op != Op::block) reached_ = RaiseDepends::Elements;
  const std::vector<NodeId> results = function_.results_of(node);
  for (size_t i = 0; i < function_[node].region_count; ++i) {
    const RegionId region = function_.region(node, i);
    for (const NodeId parameter : function_.region_parameters(region)) {
      set(parameter, RaiseDepends::Elements);
      if (op == Op::block) given_to_[parameter] = results;
    }
    visit(region);
    const NodeId end = function_.terminator(region);
    if (function_.op(end) == Op::yield) give(results, function_.operands(end));
  }
  if (op == Op::block) std::erase(left_, function_.region_parameters(function_.region(node))[0]);
  if (left_.size() == left) reached_ = before;
}

/// Control brings values to results, perhaps others by another path.
void Dependences::give(std::span<const NodeId> results, std::span<const NodeId> given) {
  for (size_t i = 0; i < std::min(results.size(), given.size()); ++i)
    set(results[i], std::max({value(results[i]), of(given[i]), reached_}));
}

}  // namespace

std::vector<MayRaise> may_raise(const Module& module, FunctionId entry) {
  std::vector<MayRaise> all;
  for (uint32_t i = 0; i < module.function_count(); ++i) {
    const Function* const function = module.function(FunctionId(i));
    if (function == nullptr) continue;
    const Dependences of(*function, FunctionId(i) == entry);
    all.insert(all.end(), of.found.begin(), of.found.end());
  }
  return all;
}

}  // namespace ingot::ir
