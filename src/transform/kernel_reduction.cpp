// A block of threads takes a group of blocks of turns, one for each of its warps, whose threads are the lanes
// of base/reduction.h. Groups begin at multiples of a power of two of blocks, so the value of each is a node
// of the tree. The second launch walks up from there: neighbours are combined, and what has no neighbour
// waits, which is the tree of ranges that are split at the largest power of two.

#include "base/reduction.h"
#include "ir/evaluate.h"
#include "transform/kernel_writer.h"

namespace ingot::transform {

namespace {

constexpr int64_t kBlockBits = 10;
constexpr int64_t kLaneBits = 5;
static_assert(base::kReductionBlock == int64_t{1} << kBlockBits);
static_assert(base::kReductionLanes == int64_t{1} << kLaneBits);
static_assert(base::kReductionLanes == KernelWriter::kWarp);

/// A grid has so many blocks at most; each walks on from group to group.
constexpr int64_t kMostGroupsAtOnce = 1 << 16;

}  // namespace

KernelReduction::KernelReduction(KernelWriter& kernels, LoopWriter& loops, std::vector<Slot> slots)
    : kernels_(kernels),
      loops_(loops),
      b_(loops.builder()),
      slots_(std::move(slots)),
      warps_(kernels.block_threads() / KernelWriter::kWarp) {}

bool KernelReduction::is_ordered(size_t slot) const {
  const auto [combiner, dtype] = slots_[slot];
  return base::is_float(dtype) || base::is_complex(dtype) || combiner == Op::lcm;
}

NodeId KernelReduction::combine(size_t slot, NodeId a, NodeId b) {
  return b_.make(slots_[slot].combiner, {a, b});
}

void KernelReduction::write(NodeId count, const std::function<void()>& prepare, const Turn& turn,
                            const Inits& inits, std::span<const NodeId> cells) {
  count_ = b_.make(Op::maximum, {count, b_.index(0)});
  const auto shifted = [&](NodeId number, int64_t bits) {
    const NodeId up = loops_.add(number, b_.index((int64_t{1} << bits) - 1));
    return b_.make(Op::right_shift, {up, b_.index(bits)});
  };
  blocks_ = shifted(count_, kBlockBits);
  groups_ = b_.make(Op::floor_divide, {loops_.add(blocks_, b_.index(warps_ - 1)), b_.index(warps_)});
  partials_.clear();
  const NodeId twice = loops_.multiply(groups_, b_.index(2));
  for (const Slot& slot : slots_)
    partials_.push_back(loops_.new_view({&twice, 1}, base::lane_dtype(slot.dtype)));
  write_groups(prepare, turn, inits);
  write_tree(prepare, inits, cells);
}

/// What lanes hold first, by slot.
Nodes KernelReduction::starts(const Turn& turn, const Inits& inits) {
  Nodes first;
  Nodes given;
  Nodes starts;
  for (size_t i = 0; i < slots_.size(); ++i) {
    const DType dtype = slots_[i].dtype;
    const DType lane = base::lane_dtype(dtype);
    if (const auto identity = ir::identity_of(slots_[i].combiner, lane)) {
      starts.push_back(b_.constant(Type::scalar(lane), *identity));
      continue;
    }
    if (is_ordered(i)) {
      if (first.empty()) first = turn(b_.index(0));
      starts.push_back(b_.cast(first[i], lane));
    } else {
      if (given.empty()) given = inits();
      starts.push_back(given[i]);
    }
  }
  return starts;
}

/// A lane of the block of turns that begins at `first` less the lane's number.
Nodes KernelReduction::accumulate(NodeId first, const Nodes& starts, const Turn& turn) {
  const NodeId left = loops_.add(loops_.subtract(count_, first), b_.index(base::kReductionLanes - 1));
  const NodeId all = b_.make(Op::right_shift, {left, b_.index(kLaneBits)});
  const NodeId most = b_.index(base::kReductionBlock / base::kReductionLanes);
  const NodeId turns = loops_.minimum(b_.make(Op::maximum, {all, b_.index(0)}), most);
  return loops_.loop(turns, starts, [&](std::span<const NodeId> k, std::span<const NodeId> lanes) {
    const NodeId step = loops_.multiply(k[0], b_.index(base::kReductionLanes));
    const Nodes given = turn(loops_.add(first, step));
    Nodes next;
    for (size_t i = 0; i < slots_.size(); ++i)
      next.push_back(combine(i, lanes[i], b_.cast(given[i], base::lane_dtype(slots_[i].dtype))));
    return next;
  });
}

void KernelReduction::combine_at(std::span<const NodeId> views, NodeId condition, NodeId at, NodeId other) {
  loops_.branch(
      condition, {},
      [&] {
        for (size_t i = 0; i < views.size(); ++i) {
          const NodeId sum = combine(i, loops_.load(views[i], {&at, 1}), loops_.load(views[i], {&other, 1}));
          loops_.store(views[i], {&at, 1}, sum);
        }
        return Nodes();
      },
      [] { return Nodes(); });
}

/// The lanes of each warp, then the warps, as far as there are blocks of turns from `block` on.
void KernelReduction::fold_block(std::span<const NodeId> shared, NodeId thread, NodeId block) {
  const NodeId lane = loops_.both(thread, b_.index(KernelWriter::kWarp - 1));
  for (int64_t half = KernelWriter::kWarp / 2; half > 0; half /= 2) {
    kernels_.barrier();
    combine_at(shared, loops_.less(lane, b_.index(half)), thread, loops_.add(thread, b_.index(half)));
  }
  const NodeId warp = b_.make(Op::right_shift, {thread, b_.index(kLaneBits)});
  const NodeId there = loops_.subtract(blocks_, block);
  for (int64_t step = 1; step < warps_; step *= 2) {
    kernels_.barrier();
    const NodeId is_left =
        loops_.equal(loops_.both(thread, b_.index(2 * step * KernelWriter::kWarp - 1)), b_.index(0));
    const NodeId is_there = loops_.less(loops_.add(warp, b_.index(step)), there);
    combine_at(shared, loops_.both(is_left, is_there), thread,
               loops_.add(thread, b_.index(step * KernelWriter::kWarp)));
  }
}

void KernelReduction::write_groups(const std::function<void()>& prepare, const Turn& turn,
                                   const Inits& inits) {
  const NodeId at_once = loops_.minimum(groups_, b_.index(kMostGroupsAtOnce));
  kernels_.blocks(at_once, [&](NodeId block, NodeId thread) {
    prepare();
    Nodes shared;
    for (const Slot& slot : slots_)
      shared.push_back(kernels_.shared(kernels_.block_threads(), base::lane_dtype(slot.dtype)));
    const Nodes start = starts(turn, inits);
    const NodeId lane = loops_.both(thread, b_.index(KernelWriter::kWarp - 1));
    const NodeId warp = b_.make(Op::right_shift, {thread, b_.index(kLaneBits)});
    kernels_.strided(block, groups_, at_once, [&](NodeId group) {
      const NodeId first_block = loops_.multiply(group, b_.index(warps_));
      const NodeId first = loops_.multiply(loops_.add(first_block, warp), b_.index(base::kReductionBlock));
      const Nodes lanes = accumulate(loops_.add(first, lane), start, turn);
      for (size_t i = 0; i < slots_.size(); ++i) loops_.store(shared[i], {&thread, 1}, lanes[i]);
      fold_block(shared, thread, first_block);
      loops_.branch(
          loops_.equal(thread, b_.index(0)), {},
          [&] {
            for (size_t i = 0; i < slots_.size(); ++i)
              loops_.store(partials_[i], {&group, 1}, loops_.load(shared[i], {&thread, 1}));
            return Nodes();
          },
          [] { return Nodes(); });
      kernels_.barrier();
    });
  });
}

void KernelReduction::write_tree(const std::function<void()>& prepare, const Inits& inits,
                                 std::span<const NodeId> cells) {
  kernels_.blocks(b_.index(1), [&](NodeId, NodeId thread) {
    prepare();
    const NodeId zero = b_.index(0);
    const NodeId one = b_.index(1);
    const Nodes start{groups_, zero, groups_};
    // How many values there are, where they begin, and where the next ones go.
    const Nodes end = loops_.repeat(
        start,
        [&](std::span<const NodeId> at) { return Nodes{loops_.less(one, at[0]), at[0], at[1], at[2]}; },
        [&](std::span<const NodeId> at) {
          const NodeId half = b_.make(Op::right_shift, {loops_.add(at[0], one), one});
          kernels_.strided(thread, half, b_.index(kernels_.block_threads()), [&](NodeId k) {
            const NodeId left = loops_.multiply(k, b_.index(2));
            const NodeId from = loops_.add(at[1], left);
            const NodeId to = loops_.add(at[2], k);
            for (size_t i = 0; i < slots_.size(); ++i) {
              const NodeId value = loops_.load(partials_[i], {&from, 1});
              const NodeId both = loops_.branch(
                  loops_.less(loops_.add(left, one), at[0]), {b_.function().type(value)},
                  [&] {
                    const NodeId next = loops_.add(from, one);
                    return Nodes{combine(i, value, loops_.load(partials_[i], {&next, 1}))};
                  },
                  [&] { return Nodes{value}; })[0];
              loops_.store(partials_[i], {&to, 1}, both);
            }
          });
          kernels_.barrier();
          return Nodes{half, at[2], at[1]};
        });
    loops_.branch(
        loops_.equal(thread, zero), {},
        [&] {
          const Nodes init = inits();
          for (size_t i = 0; i < slots_.size(); ++i) {
            const DType dtype = slots_[i].dtype;
            const NodeId value = loops_.branch(
                loops_.less(zero, count_), {Type::scalar(dtype)},
                [&] {
                  const NodeId all = loops_.load(partials_[i], {&end[1], 1});
                  return Nodes{b_.cast(combine(i, b_.cast(init[i], base::lane_dtype(dtype)), all), dtype)};
                },
                [&] { return Nodes{init[i]}; })[0];
            loops_.store(cells[i], {&zero, 1}, value);
          }
          return Nodes();
        },
        [] { return Nodes(); });
  });
}

}  // namespace ingot::transform
