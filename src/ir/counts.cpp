// A number is followed to what uses it, through arithmetic, branches and arrays of integers whose elements it
// becomes. What is not known to do no more for a larger number may do so.

#include "ir/counts.h"

#include <algorithm>

#include "ir/uses.h"

namespace ingot::ir {

namespace {

class Followed {
 public:
  explicit Followed(const Function& function) : function_(function), uses_(function) {}

  bool may_count(NodeId number) {
    seen_.assign(function_.node_count(), false);
    open_ = {number};
    while (!open_.empty()) {
      const NodeId value = open_.back();
      open_.pop_back();
      if (seen_[value.index]) continue;
      seen_[value.index] = true;
      for (const NodeId user : uses_.of(value))
        if (!follow(value, user)) return true;
    }
    return false;
  }

 private:
  /// False: what uses the value may do more for a larger one.
  bool follow(NodeId value, NodeId user) {
    const Op op = function_.op(user);
    if (op == Op::check || op == Op::raise || op == Op::reshape || op == Op::if_ || op == Op::return_)
      return true;
    if (op == Op::yield) return follow_out(value, user);
    if (op == Op::broadcast && std::ranges::count(function_.operands(user).subspan(1), value) > 0)
      return false;
    const bool passes_on = info(op).elementwise || op == Op::select || op == Op::cast ||
                           op == Op::broadcast || op == Op::materialize;
    if (!passes_on) return false;
    // How often a loop runs, and how long an array is, is an integer.
    const Type type = function_.type(user);
    if (type.is_scalar() || base::is_int(type.dtype())) open_.push_back(user);
    return true;
  }
  bool follow_out(NodeId value, NodeId yield) {
    const NodeId owner = function_[function_[yield].parent].owner;
    if (!owner || function_.op(owner) != Op::if_) return false;
    const std::vector<NodeId> results = function_.results_of(owner);
    const auto given = function_.operands(yield);
    for (size_t i = 0; i < given.size(); ++i)
      if (given[i] == value) open_.push_back(results[i]);
    return true;
  }

  const Function& function_;
  Uses uses_;
  std::vector<bool> seen_;
  std::vector<NodeId> open_;
};

}  // namespace

std::vector<bool> may_count(const Module& module, FunctionId entry) {
  const Function& function = *module.function(entry);
  Followed followed(function);
  std::vector<bool> all;
  for (const NodeId parameter : function.region_parameters(function.body()))
    all.push_back(function.type(parameter).is_scalar() && followed.may_count(parameter));
  return all;
}

}  // namespace ingot::ir
