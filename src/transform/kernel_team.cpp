#include "transform/kernel_team.h"

#include "transform/block_tree.h"

namespace ingot::transform {

void KernelTeam::alone(const std::function<void()>& body) {
  const auto own = [&] {
    body();
    return Nodes();
  };
  loops_.branch(loops_.equal(thread_, b_.index(0)), {}, own, [] { return Nodes(); });
  kernels_.barrier();
}

void KernelTeam::share(NodeId count, const std::function<void(NodeId)>& body) {
  kernels_.strided(thread_, count, threads_, body);
  kernels_.barrier();
}

Nodes KernelTeam::reduce(LaneReduction& lanes, NodeId count, const Nodes& inits,
                         const LaneReduction::Turn& turn, std::span<const NodeId> shared) {
  const NodeId zero = b_.index(0);
  const NodeId turns = b_.make(Op::maximum, {count, zero});
  const NodeId warps = b_.make(Op::right_shift, {threads_, b_.index(5)});
  const NodeId blocks = lanes.blocks_of(turns);
  const NodeId last = loops_.subtract(warps, b_.index(1));
  const NodeId groups = b_.make(Op::floor_divide, {loops_.add(blocks, last), warps});
  std::vector<BlockTree> trees;
  for (size_t i = 0; i < lanes.slots().size(); ++i)
    trees.push_back(BlockTree::of_any(loops_, lanes.slots()[i].combiner, lanes.lane_of(i), groups));
  // Of no turns there is no first one.
  Nodes starts;
  const auto in_turn = [&](NodeId at) { return turn(at); };
  loops_.nest({&groups, 1}, [&](std::span<const NodeId> group) {
    starts = lanes.starts(in_turn, [&] { return inits; });
    lanes.fold(shared, thread_, loops_.multiply(group[0], warps), warps, turns, starts, in_turn);
    alone([&] {
      for (size_t i = 0; i < trees.size(); ++i) trees[i].push(group[0], loops_.load(shared[i], {&zero, 1}));
    });
  });
  alone([&] {
    for (size_t i = 0; i < trees.size(); ++i) {
      const NodeId none = b_.constant(Type::scalar(lanes.lane_of(i)), base::Scalar{});
      loops_.store(shared[i], {&zero, 1}, trees[i].total(none));
    }
  });
  Nodes values;
  for (size_t i = 0; i < trees.size(); ++i)
    values.push_back(lanes.finish(i, turns, inits[i], [&] { return loops_.load(shared[i], {&zero, 1}); }));
  kernels_.barrier();
  return values;
}

}  // namespace ingot::transform
