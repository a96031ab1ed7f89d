#include "transform/kernels/cooperative_group.h"

namespace ingot::transform {

void CooperativeGroup::alone(const std::function<void()>& body) {
  kernels_.when(loops_.equal(thread_, b_.index(0)), body);
  wait();
}

void CooperativeGroup::share(NodeId count, const std::function<void(NodeId)>& body) {
  kernels_.strided(thread_, count, threads_, body);
  wait();
}

Nodes CooperativeGroup::scan(const std::vector<BlockScan::Slot>&, bool, NodeId count, const Nodes& inits,
                             const Step& iteration) {
  return loops_.loop(count, inits, [&](auto k, auto carried) { return iteration(k[0], carried, true); });
}

/// The value of the lanes `lane`, `lane + step`, ...: neighbours of the widest step are combined first.
Nodes ThreadGroup::half(LaneReduction& lanes, int64_t step, NodeId lane,
                        const std::function<Nodes(NodeId)>& leaf) {
  if (step == kMostIterations) return leaf(lane);
  return loops_.loop(b_.index(2), lanes.zeros(), [&](auto k, auto before) {
    const NodeId other = loops_.add(lane, loops_.multiply(k[0], b_.index(step)));
    const Nodes own = half(lanes, 2 * step, other, leaf);
    return lanes.combine_after(k[0], before, own);
  });
}

Nodes ThreadGroup::reduce(LaneReduction& lanes, NodeId count, const Nodes& inits,
                          const LaneReduction::Iteration& iteration) {
  static_assert(2 * kMostIterations == base::kReductionLanes);
  const NodeId iterations = loops_.maximum(count, b_.index(0));
  const std::vector<Type> types = lanes.lane_types();
  // Of no iterations there is no first one.
  const auto some = [&] {
    const Nodes starts = lanes.starts(iteration, [&] { return inits; });
    return half(lanes, 1, b_.index(0), [&](NodeId lane) {
      const auto there = [&] { return lanes.combine_all(starts, iteration(lane)); };
      const Nodes own = loops_.branch(loops_.less(lane, iterations), types, there, [&] { return starts; });
      // The lane so many lanes further, which no iteration has reached.
      return lanes.combine_all(own, starts);
    });
  };
  const Nodes all =
      loops_.branch(loops_.less(b_.index(0), iterations), types, some, [&] { return lanes.zeros(); });
  Nodes values;
  for (size_t i = 0; i < all.size(); ++i)
    values.push_back(lanes.finish(i, iterations, inits[i], [&] { return all[i]; }));
  return values;
}

Nodes WarpGroup::reduce(LaneReduction& lanes, NodeId count, const Nodes& inits,
                        const LaneReduction::Iteration& iteration) {
  const NodeId iterations = loops_.maximum(count, b_.index(0));
  // Two blocks of iterations at most, which are combined as they come.
  Nodes all = loops_.loop(lanes.blocks_of(iterations), lanes.zeros(), [&](auto block, auto before) {
    const Nodes starts = lanes.starts(iteration, [&] { return inits; });
    return lanes.combine_after(block[0], before,
                               lanes.fold_warp(thread_, block[0], iterations, starts, iteration));
  });
  Nodes values;
  for (size_t i = 0; i < all.size(); ++i) {
    const NodeId first = kernels_.shuffle(ir::Source::Index, all[i], 0);
    values.push_back(lanes.finish(i, iterations, inits[i], [&] { return first; }));
  }
  return values;
}

/// All threads go through the values of all; each keeps what it finds before its own.
WarpGroup::Combined WarpGroup::combine_in_order(BlockScan& scan, const Nodes& given, const Nodes& carried) {
  constexpr int32_t kAtOnce = 8;
  const size_t count = given.size();
  Nodes start = carried;
  start.insert(start.end(), carried.begin(), carried.end());
  const NodeId groups = b_.index(KernelWriter::kWarp / kAtOnce);
  const Nodes end = loops_.loop(groups, start, [&](auto group, auto now) {
    Nodes sums(now.begin(), now.begin() + static_cast<ptrdiff_t>(count));
    Nodes held(now.begin() + static_cast<ptrdiff_t>(count), now.end());
    for (int32_t i = 0; i < kAtOnce; ++i) {
      const NodeId at = loops_.add(loops_.multiply(group[0], b_.index(kAtOnce)), b_.index(i));
      const NodeId is_own = loops_.equal(at, thread_);
      Nodes values;
      for (size_t slot = 0; slot < count; ++slot) {
        held[slot] = loops_.select(is_own, sums[slot], held[slot]);
        values.push_back(kernels_.shuffle(ir::Source::Index, given[slot], b_.cast(at, DType::Int32)));
      }
      sums = scan.combine(sums, values);
    }
    sums.insert(sums.end(), held.begin(), held.end());
    return sums;
  });
  const auto middle = end.begin() + static_cast<ptrdiff_t>(count);
  return {Nodes(middle, end.end()), Nodes(end.begin(), middle)};
}

Nodes WarpGroup::scan(const std::vector<BlockScan::Slot>& slots, bool in_order, NodeId count,
                      const Nodes& inits, const Step& iteration) {
  BlockScan scan(kernels_, loops_, slots);
  const NodeId iterations = loops_.maximum(count, b_.index(0));
  const NodeId size = b_.index(KernelWriter::kWarp);
  const NodeId rounds = loops_.ceiling(iterations, size);
  const Nodes end = loops_.loop(rounds, inits, [&](auto round, auto now) {
    const Nodes carried(now.begin(), now.end());
    const NodeId at = loops_.add(loops_.multiply(round[0], size), thread_);
    const NodeId is_there = loops_.less(at, iterations);
    const Nodes given = loops_.branch(
        is_there, scan.types(), [&] { return iteration(at, scan.identities(), false); },
        [&] { return scan.identities(); });
    Combined combined;
    if (in_order) {
      combined = combine_in_order(scan, given, carried);
    } else {
      const BlockScan::Scanned sums = scan.scan_warp(thread_, given);
      combined = {scan.combine(carried, sums.before), scan.combine(carried, sums.all)};
    }
    kernels_.when(is_there, [&] { iteration(at, combined.before, true); });
    return combined.after;
  });
  wait();
  return end;
}

void BlockGroup::Slots::add(KernelWriter& kernels, const LaneReduction& lanes) {
  std::map<DType, size_t> used;
  for (size_t i = 0; i < lanes.slots().size(); ++i) {
    const DType dtype = lanes.lane_of(i);
    if (used[dtype]++ == known_[dtype].size())
      known_[dtype].push_back({lanes.place(i), kernels.shared(BlockTree::kMostLevels, dtype)});
  }
}

std::vector<BlockGroup::Slots::Memory> BlockGroup::Slots::of(const LaneReduction& lanes) const {
  std::map<DType, size_t> used;
  std::vector<Memory> all;
  for (size_t i = 0; i < lanes.slots().size(); ++i) {
    const DType dtype = lanes.lane_of(i);
    all.push_back(known_.at(dtype)[used[dtype]++]);
  }
  return all;
}

Nodes BlockGroup::reduce(LaneReduction& lanes, NodeId count, const Nodes& inits,
                         const LaneReduction::Iteration& iteration) {
  const std::vector<Slots::Memory> memory = slots_.of(lanes);
  Nodes shared;
  for (const Slots::Memory& each : memory) shared.push_back(each.threads);
  const NodeId zero = b_.index(0);
  const NodeId iterations = loops_.maximum(count, zero);
  const NodeId warps = b_.make(Op::right_shift, {threads_, b_.index(5)});
  const NodeId groups = loops_.ceiling(lanes.blocks_of(iterations), warps);
  std::vector<BlockTree> trees;
  for (size_t i = 0; i < lanes.slots().size(); ++i)
    trees.push_back(BlockTree::in(loops_, lanes.slots()[i].combiner, groups, memory[i].levels));
  // Of no iterations there is no first one.
  Nodes starts;
  loops_.nest({&groups, 1}, [&](std::span<const NodeId> group) {
    starts = lanes.starts(iteration, [&] { return inits; });
    lanes.fold(shared, thread_, loops_.multiply(group[0], warps), warps, iterations, starts, iteration);
    alone([&] {
      for (size_t i = 0; i < trees.size(); ++i) trees[i].push(group[0], loops_.load(shared[i], {&zero, 1}));
    });
  });
  alone([&] {
    for (size_t i = 0; i < trees.size(); ++i) loops_.store(shared[i], {&zero, 1}, trees[i].total());
  });
  Nodes values;
  for (size_t i = 0; i < trees.size(); ++i)
    values.push_back(
        lanes.finish(i, iterations, inits[i], [&] { return loops_.load(shared[i], {&zero, 1}); }));
  wait();
  return values;
}

}  // namespace ingot::transform
