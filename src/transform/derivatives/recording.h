#pragma once

#include <map>
#include <set>
#include <vector>

#include "transform/analyses/activity.h"
#include "transform/derivatives/usefulness.h"
#include "transform/writers/rewriter.h"

namespace ingot::transform {

/// What is known of a function besides its nodes, when the memory that varies has shadows (`Forward`).
struct Shadowed {
  const Function& function;
  const std::map<NodeId, NodeId>& shadows;  ///< of views and buffers
  const std::map<NodeId, Nodes>& lengths;   ///< of arrays that vary
};

/// The range of a function that the sweep of a `pull` reverses, from the first `lift` on, and what the sweep
/// must know of it. The `pull` is in the region of the lifts, or in arms inside it; values of these regions,
/// the path, are available afterwards. Those of other regions inside are computed again in the sweep, or kept
/// on tapes by the recorded range: the cheapest set of them from which all that the sweep uses can be
/// computed by cheap ops. What is loaded from memory that nothing in the range writes is loaded again.
class Recording {
 public:
  /// A loop inside the range. If it is regular, how often it runs is known before the outermost loop around
  /// it.
  struct Loop {
    NodeId node;
    int outer = kNone;
    bool is_regular = false;
    bool has_tape = false;  ///< whether its iterations keep something, or are counted
  };
  static constexpr int kNone = -1;

  Recording(const Shadowed& shadowed, NodeId pull);

  /// From the region of the `pull` to that of the first `lift`.
  const std::vector<RegionId>& path() const { return path_; }
  bool is_on_path(RegionId region) const;
  bool is_recorded(NodeId node) const;
  /// Whether a value is in a region inside the range.
  bool is_inner(NodeId value) const { return is_recorded(value) && !is_on_path(f_[value].parent); }
  /// Whether a number or an array has a cotangent: it varies, and what is pulled may depend on it.
  bool varies(NodeId value) const;
  /// Whether something in the range writes to the memory of a view.
  bool is_written(NodeId view) const { return written_.contains(names_.memory_of(view)); }
  /// Whether the reverse sweep has something to do with a node.
  bool is_active(NodeId node) const { return active_[node.index]; }
  bool is_taped(NodeId value) const { return taped_[value.index]; }
  /// Whether the sweep uses a value of a region inside.
  bool is_restored(NodeId value) const { return restored_[value.index]; }
  /// Whether a value can be computed at the position of the outermost node that it is in.
  bool is_hoistable(NodeId value) const;
  const std::vector<Loop>& loops() const { return loops_; }
  /// The innermost loop of the range around a region.
  int loop_of(RegionId region) const { return loop_of_[region.index]; }
  int loop_at(NodeId node) const;
  /// Numbers and arrays from outside that vary and are used in a node's regions.
  Nodes outside_of(NodeId node) const;
  /// The parameters of a `for` that its iterations swap, and whose values the sweep uses: it takes them from
  /// after the loop.
  Nodes swapped_in(NodeId loop) const;
  const Shadowed& shadowed() const { return shadowed_; }

 private:
  bool begins(ir::NodeId node, int64_t tag) const;
  void find_path(int64_t tag);
  void record(int64_t tag);
  void find_loops(RegionId region, int around);
  bool find_active(NodeId node);
  void find_written();
  void find_needs(RegionId region);
  void find_needs_of_control(NodeId node);
  void find_needs_of_back(NodeId node);
  void need_lengths(NodeId value);
  void need(NodeId value);
  void find_local();
  void find_swapped(NodeId loop);
  Nodes made_from(NodeId value) const;
  bool is_cheap(NodeId value) const;
  int64_t cost(NodeId value) const;
  void cut();
  void restore(NodeId value);
  void mark_tapes();

  Shadowed shadowed_;
  const Function& f_;
  NodeId pull_;
  std::vector<RegionId> path_;
  Activity activity_;
  Usefulness usefulness_;
  std::vector<bool> recorded_;  ///< by node
  std::vector<bool> active_;
  std::vector<bool> taped_;
  std::vector<bool> restored_;
  std::map<NodeId, Nodes> swapped_;  ///< by loop
  std::vector<Loop> loops_;
  std::vector<int> loop_of_;  ///< by region
  std::set<uint32_t> written_;
  std::set<NodeId> local_;  ///< shadows of memory that no value of another iteration, or arm, is a name of
  Activity names_;
  std::set<NodeId> needs_;
};

}  // namespace ingot::transform
