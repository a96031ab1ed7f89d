// Reductions written out, with lanes and levels in buffers, as base/reduction.h has them: for combiners whose
// values change when they are combined with the identity, as a parallel loop does with its init.

#include "base/reduction.h"
#include "ir/evaluate.h"
#include "transform/arrays/lowering.h"
#include "transform/writers/block_tree.h"

namespace ingot::transform {

namespace {

/// Writes one reduction.
class LaneWriter {
 public:
  LaneWriter(LoopWriter& loops, Op combiner, DType dtype, NodeId count, const base::ReductionOrder& order)
      : loops_(loops),
        b_(loops.builder()),
        combiner_(combiner),
        order_(order),
        count_(count),
        start_(b_.constant(Type::scalar(dtype), *ir::identity_of(combiner, dtype))),
        width_(b_.index(order.lanes)),
        lanes_(loops.new_view({&width_, 1}, dtype)),
        blocks_(count_blocks(loops, count, order.block)),
        tree_(loops, combiner, dtype, blocks_) {}

  /// `accumulate(lane, k)` combines element k into a lane's value.
  using Accumulate = std::function<NodeId(NodeId lane, NodeId k)>;
  NodeId reduce(const Accumulate& accumulate) {
    const NodeId block = b_.index(order_.block);
    loops_.nest({&blocks_, 1}, [&](std::span<const NodeId> at) {
      const NodeId first = loops_.multiply(at[0], block);
      const NodeId count = loops_.minimum(block, loops_.subtract(count_, first));
      tree_.push(at[0], block_value(first, count, accumulate));
    });
    return tree_.total();
  }

 private:
  NodeId load(NodeId i) { return loops_.load(lanes_, {&i, 1}); }
  void store(NodeId i, NodeId value) { loops_.store(lanes_, {&i, 1}, value); }

  NodeId block_value(NodeId first, NodeId count, const Accumulate& accumulate) {
    loops_.nest({&width_, 1}, [&](std::span<const NodeId> j) { store(j[0], start_); });
    loops_.nest({&count, 1}, [&](std::span<const NodeId> k) {
      const NodeId lane = b_.make(Op::fmod, {k[0], width_});
      store(lane, accumulate(load(lane), loops_.add(first, k[0])));
    });
    for (int64_t s = order_.lanes / 2; s > 0; s /= 2) {
      const NodeId half = b_.index(s);
      loops_.nest({&half, 1}, [&](std::span<const NodeId> j) {
        store(j[0], b_.make(combiner_, {load(j[0]), load(loops_.add(j[0], half))}));
      });
    }
    return load(b_.index(0));
  }

  LoopWriter& loops_;
  ir::Builder& b_;
  Op combiner_;
  base::ReductionOrder order_;
  NodeId count_;
  NodeId start_;
  NodeId width_;
  NodeId lanes_;
  NodeId blocks_;
  BlockTree tree_;
};

}  // namespace

NodeId Lowering::reduce_lanes(NodeId id, const Axes& axes, Indices kept) {
  const NodeId x = source_.operand(id, 0);
  const Op combiner = source_.op_attribute(id, 0);
  const bool masked = source_.operands(id).size() > 1;
  LaneWriter writer(loops_, combiner, dtype_of(x), loops_.product(axes.reduced),
                    base::reduction_order(axes.is_reduced.back()));
  return writer.reduce([&](NodeId lane, NodeId k) {
    const Nodes at = axes.join(kept, loops_.unflatten(k, axes.reduced));
    const NodeId both = b_.make(combiner, {lane, element(x, at)});
    return masked ? loops_.select(element(source_.operand(id, 1), at), both, lane) : both;
  });
}

}  // namespace ingot::transform
