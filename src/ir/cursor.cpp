#include "ir/cursor.h"

#include <algorithm>

namespace ingot::ir {

namespace {

/// Follows a yielded value through the arms of `if`s to where it grows, and collects the yields found there.
class GrowthFinder {
 public:
  GrowthFinder(const Function& function, NodeId parameter) : f_(function), parameter_(parameter) {}

  bool follow(NodeId value, NodeId yield) {
    yields_.push_back(yield);
    if (value == parameter_) return true;
    if (f_.op(value) == Op::add) {
      if (grown_) return false;
      grown_ = value;
      return is_one_more(value) && f_[value].parent == f_[yield].parent;
    }
    const bool several = f_.op(value) == Op::result;
    const NodeId node = several ? f_.operand(value, 0) : value;
    if (f_.op(node) != Op::if_) return false;
    const size_t index = several ? static_cast<size_t>(f_.attribute(value, 0)) : 0;
    passed_.push_back(value);
    for (size_t arm = 0; arm < 2; ++arm) {
      const NodeId last = f_.terminator(f_.region(node, arm));
      if (f_.op(last) != Op::yield || !follow(f_.operand(last, index), last)) return false;
    }
    return true;
  }
  NodeId grown() const { return grown_; }

  /// Whether what was followed is used only by those yields, and by stores where it grows; by one at least.
  bool is_used_so(const Cursor& cursor) const {
    bool stores = false;
    for (uint32_t i = parameter_.index; i < f_.node_count(); ++i) {
      const NodeId user(i);
      for (NodeId operand : f_.operands(user)) {
        const bool ours =
            operand == parameter_ || operand == grown_ || std::ranges::count(passed_, operand) > 0;
        if (!ours || std::ranges::count(yields_, user) > 0 || f_.op(user) == Op::result) continue;
        const bool is_store = stores_at(f_, user, cursor);
        stores = stores || is_store;
        if (operand != parameter_ || (user != grown_ && !is_store)) return false;
      }
    }
    return stores;
  }

 private:
  bool is_one_more(NodeId sum) const {
    const NodeId a = f_.operand(sum, 0);
    const NodeId b = f_.operand(sum, 1);
    const auto is_one = [&](NodeId x) { return f_.is_constant(x) && f_.constant(x).as<int64_t>() == 1; };
    return (a == parameter_ && is_one(b)) || (b == parameter_ && is_one(a));
  }

  const Function& f_;
  NodeId parameter_;
  NodeId grown_;
  std::vector<NodeId> yields_;
  std::vector<NodeId> passed_;
};

}  // namespace

bool stores_at(const Function& function, NodeId store, const Cursor& cursor) {
  if (function.op(store) != Op::store || function[store].parent != function[cursor.grown].parent)
    return false;
  const auto operands = function.operands(store);
  const size_t last_index = operands.size() - 2;
  return last_index > 0 && operands[last_index] == cursor.parameter &&
         std::ranges::count(operands, cursor.parameter) == 1 &&
         !function.encloses(function[cursor.parameter].parent, operands[0]);
}

std::optional<Cursor> cursor_of(const Function& function, NodeId loop, size_t slot) {
  const RegionId body = function.region(loop);
  const NodeId parameter = function.region_parameters(body)[slot + 1];
  const NodeId last = function.terminator(body);
  if (function.type(parameter) != kInt64 || function.op(last) != Op::yield) return std::nullopt;
  GrowthFinder finder(function, parameter);
  if (!finder.follow(function.operand(last, slot), last) || !finder.grown()) return std::nullopt;
  const Cursor cursor{slot, parameter, finder.grown()};
  return finder.is_used_so(cursor) ? std::optional(cursor) : std::nullopt;
}

std::optional<std::vector<Cursor>> cursors_of(const Function& function, NodeId loop) {
  std::vector<Cursor> cursors;
  for (size_t slot = 0; slot < function.result_count(loop); ++slot) {
    const auto cursor = cursor_of(function, loop, slot);
    if (!cursor) return std::nullopt;
    cursors.push_back(*cursor);
  }
  return cursors;
}

}  // namespace ingot::ir
