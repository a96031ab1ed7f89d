#pragma once

#include <optional>
#include <vector>

#include "ir/function.h"

namespace ingot::ir {

/// The iterations of a loop without others inside, of which some are done together.
class Neighbours {
 public:
  Neighbours(const Function& function, NodeId loop);

  NodeId index() const { return index_; }
  bool varies(NodeId value) const { return varies_[value.index]; }
  /// Whether each iteration does no more than operations, loads and stores.
  bool are_plain() const;
  /// The axis along which an access goes on by one element from iteration to iteration; none: it does not.
  std::optional<size_t> axis_of(NodeId access) const;
  /// The nodes that an index is computed from in the iteration, in order; false: from a load there.
  bool add_slice(NodeId value, std::vector<NodeId>& slice) const;

 private:
  bool goes_on(NodeId index) const;

  const Function& function_;
  RegionId body_;
  NodeId index_;
  std::vector<bool> varies_;
};

}  // namespace ingot::ir
