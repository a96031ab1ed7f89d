// Reductions written out, with lanes and levels in buffers, as base/reduction.h has them: for combiners whose
// values change when they are combined with the identity, as a parallel loop does with its init.

#include "base/reduction.h"
#include "ir/evaluate.h"
#include "transform/lowering.h"

namespace ingot::transform {

namespace {

constexpr int64_t kLevels = 64;

/// Writes one reduction. The values of blocks wait as a binary counter carries: level l holds that of 2**l
/// blocks if bit l of the number of blocks done is set.
class LaneWriter {
 public:
  LaneWriter(LoopWriter& loops, Op combiner, DType dtype)
      : loops_(loops),
        b_(loops.builder()),
        combiner_(combiner),
        start_(b_.constant(Type::scalar(dtype), *ir::identity_of(combiner, dtype))),
        type_(Type::scalar(dtype)),
        lanes_(new_array(base::kReductionLanes, dtype)),
        levels_(new_array(kLevels, dtype)) {}

  /// `accumulate(lane, k)` combines element k into a lane's value.
  using Accumulate = std::function<NodeId(NodeId lane, NodeId k)>;
  NodeId reduce(NodeId count, const Accumulate& accumulate) {
    const NodeId block = b_.index(base::kReductionBlock);
    const NodeId up = loops_.add(count, b_.index(base::kReductionBlock - 1));
    const NodeId blocks = b_.make(Op::floor_divide, {up, block});
    loops_.nest({&blocks, 1}, [&](std::span<const NodeId> at) {
      const NodeId first = loops_.multiply(at[0], block);
      push(at[0], block_value(first, loops_.minimum(block, loops_.subtract(count, first)), accumulate));
    });
    return total(blocks);
  }

 private:
  NodeId new_array(int64_t count, DType dtype) {
    const NodeId length = b_.index(count);
    return loops_.new_view({&length, 1}, dtype);
  }
  NodeId load(NodeId view, NodeId i) { return loops_.load(view, {&i, 1}); }
  void store(NodeId view, NodeId i, NodeId value) { loops_.store(view, {&i, 1}, value); }
  NodeId combine(NodeId a, NodeId b) { return b_.make(combiner_, {a, b}); }

  NodeId block_value(NodeId first, NodeId count, const Accumulate& accumulate) {
    const NodeId width = b_.index(base::kReductionLanes);
    loops_.nest({&width, 1}, [&](std::span<const NodeId> j) { store(lanes_, j[0], start_); });
    loops_.nest({&count, 1}, [&](std::span<const NodeId> k) {
      const NodeId lane = b_.make(Op::fmod, {k[0], width});
      store(lanes_, lane, accumulate(load(lanes_, lane), loops_.add(first, k[0])));
    });
    for (int64_t s = base::kReductionLanes / 2; s > 0; s /= 2) {
      const NodeId half = b_.index(s);
      loops_.nest({&half, 1}, [&](std::span<const NodeId> j) {
        store(lanes_, j[0], combine(load(lanes_, j[0]), load(lanes_, loops_.add(j[0], half))));
      });
    }
    return load(lanes_, b_.index(0));
  }

  NodeId bit(NodeId number, NodeId level) {
    const NodeId shifted = b_.make(Op::right_shift, {number, level});
    return loops_.equal(b_.make(Op::bitwise_and, {shifted, b_.index(1)}), b_.index(1));
  }
  /// Adds a block's value, `done` blocks being there.
  void push(NodeId done, NodeId value) {
    const Nodes last = loops_.repeat(
        Nodes{b_.index(0), value},
        [&](std::span<const NodeId> at) { return Nodes{bit(done, at[0]), at[0], at[1]}; },
        [&](std::span<const NodeId> at) {
          return Nodes{loops_.add(at[0], b_.index(1)), combine(load(levels_, at[0]), at[1])};
        });
    store(levels_, last[0], last[1]);
  }
  /// The levels that hold a value, from the lowest (the latest blocks) on; the start of no blocks.
  NodeId total(NodeId blocks) {
    const NodeId levels = b_.index(kLevels - 1);
    const Nodes inits{b_.constant(false), start_};
    return loops_.nest(
        {&levels, 1}, inits, [&](std::span<const NodeId> level, std::span<const NodeId> carried) {
          return loops_.branch(
              bit(blocks, level[0]), {ir::kBool, type_},
              [&] {
                const NodeId value = load(levels_, level[0]);
                return Nodes{b_.constant(true), loops_.select(carried[0], combine(value, carried[1]), value)};
              },
              [&] { return Nodes(carried.begin(), carried.end()); });
        })[1];
  }

  LoopWriter& loops_;
  ir::Builder& b_;
  Op combiner_;
  NodeId start_;
  Type type_;
  NodeId lanes_;
  NodeId levels_;
};

}  // namespace

NodeId Lowering::reduce_lanes(NodeId id, const Axes& axes, Indices kept) {
  const NodeId x = source_.operand(id, 0);
  const Op combiner = source_.op_attribute(id, 0);
  const bool masked = source_.operands(id).size() > 1;
  LaneWriter writer(loops_, combiner, dtype_of(x));
  return writer.reduce(loops_.product(axes.reduced), [&](NodeId lane, NodeId k) {
    const Nodes at = axes.join(kept, loops_.unflatten(k, axes.reduced));
    const NodeId both = b_.make(combiner, {lane, element(x, at)});
    return masked ? loops_.select(element(source_.operand(id, 1), at), both, lane) : both;
  });
}

}  // namespace ingot::transform
