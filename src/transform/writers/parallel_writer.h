#pragma once

#include <functional>
#include <unordered_map>

#include "base/scalar.h"
#include "transform/writers/rewriter.h"

namespace ingot::transform {

/// Writes loops that carry reductions as parallel loops, whose iterations yield contributions.
class ParallelWriter : public Rewriter {
 public:
  using Rewriter::Rewriter;

 protected:
  /// How the value is combined that the loop carries as number `carried`; of further contributions none.
  struct Slot {
    std::optional<size_t> carried;
    Op combiner;
    std::optional<base::Scalar> neutral;  ///< stands for it in an iteration; none: of `v op x`, x is yielded
    NodeId init;
  };
  /// The parallel loop that replaces a `for`, of which other carried values are bound already. `more` gives
  /// further contributions of an iteration, by its index and the others; their slots are the last. Returns
  /// the combined values.
  using More = std::function<Nodes(NodeId index, const Nodes& contributions)>;
  Nodes write_parallel(NodeId loop, ir::Schedule schedule, const std::vector<Slot>& slots,
                       const More& more = {});
  /// Deals with the node if it is a `v op x` that is replaced by its x in the yield.
  bool is_contribution(NodeId id);

 private:
  std::unordered_map<uint32_t, NodeId> contributions_;
};

}  // namespace ingot::transform
