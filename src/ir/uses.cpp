#include "ir/uses.h"

namespace ingot::ir {

Uses::Uses(const Function& function) : begin_(function.node_count() + 1) {
  const auto each_use = [&](auto&& visit) {
    for (uint32_t i = 0; i < function.node_count(); ++i)
      for (const NodeId operand : function.operands(NodeId(i))) visit(operand, NodeId(i));
  };
  each_use([&](NodeId operand, NodeId) { ++begin_[operand.index + 1]; });
  for (size_t i = 1; i < begin_.size(); ++i) begin_[i] += begin_[i - 1];
  users_.resize(begin_.back());
  std::vector<uint32_t> next(begin_);
  each_use([&](NodeId operand, NodeId user) { users_[next[operand.index]++] = user; });
}

}  // namespace ingot::ir
