#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>

#include "ir/index_sum.h"
#include "transform/analyses/from_outside.h"
#include "transform/writers/loop_writer.h"

/// @file Which elements loops read: bounds of indices over the iterations of loops, computed before these
/// run.

namespace ingot::transform {

using ir::IndexSum;

/// Where elements are along an axis, as far as the array has them.
struct Window {
  NodeId low;                   ///< the first one
  NodeId count;                 ///< how many; none where it is less than 1
  std::optional<int64_t> most;  ///< of them
  IndexSum start;               ///< the first one, which the array may not have
};
/// Has a loop over a window show how many iterations there are at most.
void limit(LoopWriter& loops, Window& window);

/// Writes, at the start of a region of loops, what bounds the indices in it.
class BoundWriter {
 public:
  /// `scope`: a region of the source; its parameters are known. `use`: the new node of an old one.
  BoundWriter(const Function& source, ir::Builder& builder, RegionId scope,
              std::function<NodeId(NodeId)> use);

  /// From now on, a parameter of the scope is taken to be this.
  void replace(NodeId parameter, NodeId by);

  /// The window that holds these indices into an axis of this length in all iterations; none: of one of them
  /// there are no bounds.
  std::optional<Window> window(std::span<const IndexSum> indices, NodeId length);

 private:
  /// A value is at least the least of `low`, and at most the largest of `high`.
  struct Bounds {
    std::vector<IndexSum> low;
    std::vector<IndexSum> high;
  };

  /// The bounds of a value of the source in all iterations of the loops in the scope; none: it may be any.
  std::optional<Bounds> of(NodeId value);
  std::optional<Bounds> of(const IndexSum& sum);
  /// The bounds of what has one of two.
  Bounds either(Bounds a, const Bounds& b);
  /// How many values there are between bounds at most; none: that is not known.
  std::optional<int64_t> most_values(const Bounds& bounds) const;
  std::optional<Bounds> find(NodeId value);
  std::optional<Bounds> of_index(NodeId parameter);
  std::optional<Bounds> of_product(NodeId value);
  std::optional<Bounds> of_quotient(NodeId value);
  std::optional<Bounds> of_extreme(NodeId value);
  NodeId known(NodeId value);
  NodeId extreme(const std::vector<IndexSum>& sums, Op op);
  void prune(Bounds& bounds) const;

  const Function& f_;
  ir::Builder& b_;
  RegionId scope_;
  std::function<NodeId(NodeId)> use_;
  FromOutside is_known_;
  std::map<NodeId, NodeId> made_;  ///< of values in the scope that are known
  std::unordered_map<uint32_t, std::optional<Bounds>> found_;
};

}  // namespace ingot::transform
