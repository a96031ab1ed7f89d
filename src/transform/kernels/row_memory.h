#pragma once

#include <functional>
#include <vector>

#include "transform/writers/loop_writer.h"

namespace ingot::transform {

/// Memory that the iterations of a nest allocate (`KernelPlan::memory_of_rows`), made by the host for many
/// of them at once: each iteration has a part of it. Iterations run in strips, so that it does not become
/// much.
class RowMemory {
 public:
  using Use = std::function<NodeId(NodeId old)>;

  /// `bytes`: of each of `allocs`, for one iteration; known to the host.
  RowMemory(LoopWriter& loops, const Function& source, Nodes allocs, const Nodes& bytes);

  bool any() const { return !parts_.empty(); }
  /// Writes launches of the iterations of a nest with these lengths, where those of `needed` have memory.
  void in_strips(const Nodes& lengths, const std::function<bool(NodeId alloc)>& needed,
                 const std::function<void()>& launch);
  /// In `launch`: how many iterations it has.
  const NodeId& rows() const { return rows_; }
  /// From here on the iteration is that number of the launch; its indices in the nest.
  Nodes begin_row(NodeId number);
  /// Whether a node of the source is such an allocation, or a view of one that is not needed, of which
  /// nothing is to be written; of one that is needed, `made` becomes the view in the memory of all rows.
  bool write(NodeId id, const Use& use, NodeId& made) const;

 private:
  struct Part {
    NodeId alloc;
    NodeId bytes;   ///< of a row
    NodeId apart;   ///< from row to row
    NodeId buffer;  ///< of a strip's rows; none: it is not needed
  };
  NodeId rows_at_once(NodeId rows, const std::vector<Part*>& parts);
  void leave_out(NodeId alloc);

  LoopWriter& loops_;
  ir::Builder& b_;
  const Function& source_;
  std::vector<Part> parts_;
  std::vector<bool> left_out_;  ///< by node
  Nodes lengths_;               ///< of the nest
  NodeId first_;                ///< iteration of the launch
  NodeId rows_;
  NodeId row_;  ///< of the launch
};

}  // namespace ingot::transform
