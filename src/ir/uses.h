#pragma once

#include <span>
#include <vector>

#include "ir/function.h"

namespace ingot::ir {

/// Which nodes use a value.
class Uses {
 public:
  explicit Uses(const Function& function);

  /// The users of a value by number, each as often as the value is among its operands.
  std::span<const NodeId> of(NodeId value) const {
    return std::span(users_).subspan(begin_[value.index], begin_[value.index + 1] - begin_[value.index]);
  }

 private:
  std::vector<uint32_t> begin_;  ///< by value, and one more
  std::vector<NodeId> users_;
};

}  // namespace ingot::ir
