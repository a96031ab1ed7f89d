#pragma once

#include <vector>

#include "transform/analyses/activity.h"

namespace ingot::transform {

/// Which of the values that vary the outputs of a `pull` may depend on, through floats or complex numbers.
/// All others have no cotangent, so that their slopes, which may be infinite, are not used. Memory is one, as
/// it is for `Activity`.
class Usefulness {
 public:
  Usefulness(const ir::Function& function, const Activity& activity, ir::NodeId pull);

  bool is_useful(ir::NodeId value) const { return useful_[activity_.memory_of(value)]; }
  /// Whether a `back` of the same derivative goes back from something useful, or calls C.
  bool is_asked(ir::NodeId back) const;

 private:
  void mark(ir::NodeId value);
  void mark_all(std::span<const ir::NodeId> values);
  void visit(ir::NodeId node);
  void visit_control(ir::NodeId node);
  void visit_yield(ir::NodeId node);
  void flow(std::span<const ir::NodeId> from, std::span<const ir::NodeId> to);

  const ir::Function& f_;
  const Activity& activity_;
  ir::NodeId pull_;
  std::vector<bool> useful_;  ///< by what Activity calls a memory
  bool has_changed_ = false;
};

}  // namespace ingot::transform
