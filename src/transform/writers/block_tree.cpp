#include "transform/writers/block_tree.h"

#include "ir/evaluate.h"

namespace ingot::transform {

BlockTree::BlockTree(LoopWriter& loops, Op combiner, DType dtype, NodeId blocks, std::span<const NodeId> at)
    : BlockTree(loops, combiner, Type::scalar(dtype), blocks,
                loops.builder().make(Op::maximum, {count_digits(loops, blocks), loops.index(1)}), NodeId()) {
  Nodes lengths{level_count_};
  lengths.insert(lengths.end(), at.begin(), at.end());
  levels_ = loops.new_view(lengths, dtype);
}

BlockTree BlockTree::in(LoopWriter& loops, Op combiner, NodeId blocks, NodeId levels) {
  const DType dtype = loops.builder().function().type(levels).dtype();
  return {loops, combiner, Type::scalar(dtype), blocks, loops.index(kMostLevels), levels};
}

BlockTree::BlockTree(LoopWriter& loops, Op combiner, Type type, NodeId blocks, NodeId level_count,
                     NodeId levels)
    : loops_(loops),
      b_(loops.builder()),
      combiner_(combiner),
      type_(type),
      blocks_(blocks),
      level_count_(level_count),
      levels_(levels) {}

NodeId BlockTree::load(NodeId level, std::span<const NodeId> at) {
  Nodes indices{level};
  indices.insert(indices.end(), at.begin(), at.end());
  return loops_.load(levels_, indices);
}

/// The zeros below the lowest bit of a number above 0.
NodeId BlockTree::count_bits_below(NodeId number) {
  const NodeId below = loops_.both(loops_.subtract(number, b_.index(1)), loops_.negate(number));
  return loops_.both(b_.make(Op::bitwise_count, {below}), b_.index(63));
}

void BlockTree::push(NodeId done, NodeId value, std::span<const NodeId> at) {
  // The levels that are full below the first that is not.
  const NodeId level = count_bits_below(loops_.add(done, b_.index(1)));
  const NodeId sum =
      loops_.loop(level, {&value, 1}, [&](std::span<const NodeId> l, std::span<const NodeId> carried) {
        return Nodes{b_.make(combiner_, {load(l[0], at), carried[0]})};
      })[0];
  Nodes indices{level};
  indices.insert(indices.end(), at.begin(), at.end());
  loops_.store(levels_, indices, sum);
}

NodeId BlockTree::total(std::span<const NodeId> at) {
  const NodeId lowest = count_bits_below(loops_.maximum(blocks_, b_.index(1)));
  const NodeId first = load(lowest, at);
  const NodeId next = loops_.add(lowest, b_.index(1));
  const NodeId others = loops_.minimum(loops_.subtract(level_count_, next), b_.index(63));
  const NodeId sum =
      loops_.loop(others, {&first, 1}, [&](std::span<const NodeId> l, std::span<const NodeId> carried) {
        const NodeId level = loops_.add(next, l[0]);
        const NodeId digit = loops_.both(b_.make(Op::right_shift, {blocks_, level}), b_.index(1));
        return loops_.branch(
            loops_.equal(digit, b_.index(1)), {type_},
            [&] { return Nodes{b_.make(combiner_, {load(level, at), carried[0]})}; },
            [&] { return Nodes{carried[0]}; });
      })[0];
  const base::Scalar none = ir::identity_of(combiner_, type_.dtype()).value_or(base::Scalar{});
  return loops_.select(loops_.equal(blocks_, b_.index(0)), b_.constant(type_, none), sum);
}

NodeId count_digits(LoopWriter& loops, NodeId number) {
  ir::Builder& b = loops.builder();
  return b.cast(b.make(Op::exponent, {b.cast(number, DType::Float64)}), DType::Int64);
}

NodeId count_blocks(LoopWriter& loops, NodeId count, int64_t block) {
  return loops.ceiling(count, loops.index(block));
}

}  // namespace ingot::transform
