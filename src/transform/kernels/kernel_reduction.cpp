// A block of threads takes a group of blocks of iterations, one for each of its warps. Groups begin at
// multiples of a power of two of blocks, so the value of each is a node of the tree. The second launch goes
// up the tree from there: neighbours are combined, and a value without a neighbour waits. This is the tree of
// ranges that are split at the largest power of two.

#include "ir/evaluate.h"
#include "transform/kernels/kernel_writer.h"

namespace ingot::transform {

namespace {

constexpr int64_t kBlockBits = 10;
constexpr int64_t kLaneBits = 5;
static_assert(base::kReductionBlock == int64_t{1} << kBlockBits);
static_assert(base::kReductionLanes == int64_t{1} << kLaneBits);
static_assert(base::kReductionLanes == KernelWriter::kWarp);

/// A grid has so many blocks at most; each iterates over groups.
constexpr int64_t kMostGroupsAtOnce = 1 << 16;

Nodes nothing() { return {}; }

}  // namespace

LaneReduction::LaneReduction(KernelWriter& kernels, LoopWriter& loops, std::vector<Slot> slots)
    : kernels_(kernels), loops_(loops), b_(loops.builder()), slots_(std::move(slots)) {}

NodeId LaneReduction::combine(size_t slot, NodeId a, NodeId b) {
  return b_.make(slots_[slot].combiner, {a, b});
}

Nodes LaneReduction::combine_all(std::span<const NodeId> lanes, std::span<const NodeId> values) {
  Nodes all;
  for (size_t i = 0; i < slots_.size(); ++i)
    all.push_back(combine(i, lanes[i], b_.cast(values[i], lane_of(i))));
  return all;
}

Nodes LaneReduction::combine_after(NodeId iteration, std::span<const NodeId> before,
                                   std::span<const NodeId> values) {
  const NodeId is_first = loops_.equal(iteration, b_.index(0));
  Nodes all;
  for (size_t i = 0; i < slots_.size(); ++i)
    all.push_back(loops_.select(is_first, values[i], combine(i, before[i], values[i])));
  return all;
}

Nodes LaneReduction::zeros() {
  Nodes all;
  for (size_t i = 0; i < slots_.size(); ++i) all.push_back(loops_.zero(lane_of(i)));
  return all;
}

std::vector<Type> LaneReduction::lane_types() const {
  std::vector<Type> types;
  for (size_t i = 0; i < slots_.size(); ++i) types.push_back(Type::scalar(lane_of(i)));
  return types;
}

Nodes LaneReduction::shared() const {
  Nodes views;
  for (size_t i = 0; i < slots_.size(); ++i) views.push_back(place(i));
  return views;
}

NodeId LaneReduction::blocks_of(NodeId count) {
  const NodeId up = loops_.add(count, b_.index(base::kReductionBlock - 1));
  return b_.make(Op::right_shift, {up, b_.index(kBlockBits)});
}

bool LaneReduction::starts_from_first() const {
  for (size_t i = 0; i < slots_.size(); ++i)
    if (!ir::identity_of(slots_[i].combiner, lane_of(i)) &&
        ir::is_ordered(slots_[i].combiner, slots_[i].dtype))
      return true;
  return false;
}

Nodes LaneReduction::starts(const Iteration& iteration, const Inits& inits) {
  Nodes first;
  Nodes given;
  Nodes starts;
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (const auto identity = ir::identity_of(slots_[i].combiner, lane_of(i))) {
      starts.push_back(b_.constant(Type::scalar(lane_of(i)), *identity));
    } else if (ir::is_ordered(slots_[i].combiner, slots_[i].dtype)) {
      if (first.empty()) first = iteration(b_.index(0));
      starts.push_back(b_.cast(first[i], lane_of(i)));
    } else {
      if (given.empty()) given = inits();
      starts.push_back(given[i]);
    }
  }
  return starts;
}

/// A lane of the block of iterations that begins at `first` less the lane's number.
Nodes LaneReduction::accumulate(NodeId first, NodeId count, const Nodes& starts, const Iteration& iteration) {
  const NodeId left = loops_.add(loops_.subtract(count, first), b_.index(base::kReductionLanes - 1));
  const NodeId all = b_.make(Op::right_shift, {left, b_.index(kLaneBits)});
  const NodeId most = b_.index(base::kReductionBlock / base::kReductionLanes);
  const NodeId iterations = loops_.minimum(loops_.maximum(all, b_.index(0)), most);
  return loops_.loop(iterations, starts, [&](std::span<const NodeId> k, std::span<const NodeId> lanes) {
    const NodeId step = loops_.multiply(k[0], b_.index(base::kReductionLanes));
    return combine_all(lanes, iteration(loops_.add(first, step)));
  });
}

/// Lanes are combined with those half as far on; the first one's value is that of all.
Nodes LaneReduction::across_warp(Nodes lanes, int64_t part) {
  for (auto half = static_cast<int32_t>(part / 2); half > 0; half /= 2)
    for (size_t i = 0; i < slots_.size(); ++i)
      lanes[i] = combine(i, lanes[i], kernels_.shuffle(ir::Source::Down, lanes[i], b_.constant(half), part));
  return lanes;
}

Nodes LaneReduction::fold_warp(NodeId lane, NodeId block, NodeId count, const Nodes& starts,
                               const Iteration& iteration) {
  const NodeId first = loops_.multiply(block, b_.index(base::kReductionBlock));
  return across_warp(accumulate(loops_.add(first, lane), count, starts, iteration));
}

void LaneReduction::combine_at(std::span<const NodeId> views, NodeId condition, NodeId at, NodeId other) {
  const auto both = [&] {
    for (size_t i = 0; i < views.size(); ++i) {
      const NodeId left = loops_.load(views[i], {&at, 1});
      loops_.store(views[i], {&at, 1}, combine(i, left, loops_.load(views[i], {&other, 1})));
    }
    return Nodes();
  };
  loops_.branch(condition, {}, both, nothing);
}

void LaneReduction::fold(std::span<const NodeId> shared, NodeId thread, NodeId block, NodeId warps,
                         NodeId count, const Nodes& starts, const Iteration& iteration) {
  const NodeId lane = loops_.both(thread, b_.index(KernelWriter::kWarp - 1));
  const NodeId warp = b_.make(Op::right_shift, {thread, b_.index(kLaneBits)});
  const NodeId first = loops_.multiply(loops_.add(block, warp), b_.index(base::kReductionBlock));
  const Nodes lanes = accumulate(loops_.add(first, lane), count, starts, iteration);
  const auto keep = [&](const Nodes& values) {
    for (size_t i = 0; i < slots_.size(); ++i) loops_.store(shared[i], {&thread, 1}, values[i]);
    return Nodes();
  };
  if (kernels_.has_warps()) {
    const Nodes folded = across_warp(lanes);
    loops_.branch(loops_.equal(lane, b_.index(0)), {}, [&] { return keep(folded); }, nothing);
  } else {
    keep(lanes);
    for (int64_t half = KernelWriter::kWarp / 2; half > 0; half /= 2) {
      kernels_.barrier();
      combine_at(shared, loops_.less(lane, b_.index(half)), thread, loops_.add(thread, b_.index(half)));
    }
  }
  const NodeId there = loops_.minimum(loops_.subtract(blocks_of(count), block), warps);
  for (int64_t step = 1; step * KernelWriter::kWarp < kernels_.block_threads(); step *= 2) {
    kernels_.barrier();
    const NodeId below = loops_.both(thread, b_.index(2 * step * KernelWriter::kWarp - 1));
    const NodeId is_there = loops_.less(loops_.add(warp, b_.index(step)), there);
    combine_at(shared, loops_.both(loops_.equal(below, b_.index(0)), is_there), thread,
               loops_.add(thread, b_.index(step * KernelWriter::kWarp)));
  }
}

NodeId LaneReduction::finish(size_t slot, NodeId count, NodeId init, const std::function<NodeId()>& all) {
  const DType dtype = slots_[slot].dtype;
  return loops_.branch(
      loops_.less(b_.index(0), count), {Type::scalar(dtype)},
      [&] { return Nodes{b_.cast(combine(slot, b_.cast(init, lane_of(slot)), all()), dtype)}; },
      [&] { return Nodes{init}; })[0];
}

KernelReduction::KernelReduction(KernelWriter& kernels, LoopWriter& loops,
                                 std::vector<LaneReduction::Slot> slots)
    : kernels_(kernels),
      loops_(loops),
      b_(loops.builder()),
      lanes_(kernels, loops, std::move(slots)),
      warps_(kernels.block_threads() / KernelWriter::kWarp) {}

void KernelReduction::write(NodeId count, const std::function<void()>& prepare, const Iteration& iteration,
                            const Inits& inits, std::span<const NodeId> cells) {
  count_ = loops_.maximum(count, b_.index(0));
  groups_ = loops_.ceiling(lanes_.blocks_of(count_), b_.index(warps_));
  partials_.clear();
  const NodeId twice = loops_.multiply(groups_, b_.index(2));
  for (size_t i = 0; i < lanes_.slots().size(); ++i)
    partials_.push_back(loops_.new_view({&twice, 1}, lanes_.lane_of(i)));
  write_groups(prepare, iteration, inits);
  write_tree(prepare, inits, cells);
}

void KernelReduction::write_groups(const std::function<void()>& prepare, const Iteration& iteration,
                                   const Inits& inits) {
  const NodeId at_once = loops_.minimum(groups_, b_.index(kMostGroupsAtOnce));
  kernels_.blocks(at_once, [&](NodeId block, NodeId thread) {
    prepare();
    const Nodes shared = lanes_.shared();
    const Nodes starts = lanes_.starts(iteration, inits);
    kernels_.strided(block, groups_, at_once, [&](NodeId group) {
      const NodeId first = loops_.multiply(group, b_.index(warps_));
      lanes_.fold(shared, thread, first, b_.index(warps_), count_, starts, iteration);
      const auto keep = [&] {
        for (size_t i = 0; i < partials_.size(); ++i)
          loops_.store(partials_[i], {&group, 1}, loops_.load(shared[i], {&thread, 1}));
        return Nodes();
      };
      loops_.branch(loops_.equal(thread, b_.index(0)), {}, keep, nothing);
      kernels_.barrier();
    });
  });
}

/// Combines neighbours of so many values (`at`: how many, where they begin, where the next ones go).
void KernelReduction::walk_up(NodeId thread, NodeId half, std::span<const NodeId> at) {
  kernels_.strided(thread, half, b_.index(kernels_.block_threads()), [&](NodeId k) {
    const NodeId left = loops_.multiply(k, b_.index(2));
    const NodeId from = loops_.add(at[1], left);
    const NodeId to = loops_.add(at[2], k);
    for (size_t i = 0; i < partials_.size(); ++i) {
      const NodeId value = loops_.load(partials_[i], {&from, 1});
      const auto with_next = [&] {
        const NodeId next = loops_.add(from, b_.index(1));
        return Nodes{lanes_.combine(i, value, loops_.load(partials_[i], {&next, 1}))};
      };
      const NodeId both =
          loops_.branch(loops_.less(loops_.add(left, b_.index(1)), at[0]), {b_.function().type(value)},
                        with_next, [&] { return Nodes{value}; })[0];
      loops_.store(partials_[i], {&to, 1}, both);
    }
  });
}

void KernelReduction::write_tree(const std::function<void()>& prepare, const Inits& inits,
                                 std::span<const NodeId> cells) {
  kernels_.blocks(b_.index(1), [&](NodeId, NodeId thread) {
    prepare();
    const NodeId zero = b_.index(0);
    const NodeId one = b_.index(1);
    const Nodes start{groups_, zero, groups_};
    const auto is_more = [&](std::span<const NodeId> at) {
      return Nodes{loops_.less(one, at[0]), at[0], at[1], at[2]};
    };
    const Nodes end = loops_.repeat(start, is_more, [&](std::span<const NodeId> at) {
      const NodeId half = b_.make(Op::right_shift, {loops_.add(at[0], one), one});
      walk_up(thread, half, at);
      kernels_.barrier();
      return Nodes{half, at[2], at[1]};
    });
    const auto give = [&] {
      const Nodes init = inits();
      for (size_t i = 0; i < partials_.size(); ++i) {
        const auto all = [&] { return loops_.load(partials_[i], {&end[1], 1}); };
        loops_.store(cells[i], {&zero, 1}, lanes_.finish(i, count_, init[i], all));
      }
      return Nodes();
    };
    loops_.branch(loops_.equal(thread, zero), {}, give, nothing);
  });
}

}  // namespace ingot::transform
