#include "transform/kernel_scan.h"

namespace ingot::transform {

namespace {

/// Turns of a tile, for each thread of a block.
constexpr int64_t kTurnsOfThread = 8;
constexpr int64_t kMostTilesAtOnce = 1 << 16;

Nodes nothing() { return {}; }

}  // namespace

KernelScan::KernelScan(KernelWriter& kernels, LoopWriter& loops, size_t counters)
    : kernels_(kernels), loops_(loops), b_(loops.builder()), counters_(counters) {}

void KernelScan::write(NodeId count, const std::function<void()>& prepare, const Growth& growth,
                       const Turn& turn, const Inits& inits, std::span<const NodeId> cells) {
  count_ = b_.make(Op::maximum, {count, b_.index(0)});
  const NodeId size = b_.index(kTurnsOfThread * kernels_.block_threads());
  tiles_ = b_.make(Op::floor_divide, {loops_.add(count_, loops_.subtract(size, b_.index(1))), size});
  for (size_t i = 0; i < counters_; ++i) before_.push_back(loops_.new_view({&tiles_, 1}, DType::Int64));
  count_tiles(prepare, growth);
  add_tiles(prepare, inits, cells);
  run_tiles(prepare, growth, turn);
}

/// Behind the last turn nothing grows.
Nodes KernelScan::growth_at(NodeId turn, const Growth& growth) {
  const std::vector<Type> types(counters_, ir::kInt64);
  return loops_.branch(
      loops_.less(turn, count_), types, [&] { return growth(turn); },
      [&] { return Nodes(counters_, b_.index(0)); });
}

/// In the place of each thread, the sum of the places up to it.
void KernelScan::sum_up(std::span<const NodeId> shared, NodeId thread) {
  for (int64_t step = 1; step < kernels_.block_threads(); step *= 2) {
    kernels_.barrier();
    const NodeId has_left = loops_.less_equal(b_.index(step), thread);
    const NodeId left = loops_.subtract(thread, b_.index(step));
    const std::vector<Type> types(counters_, ir::kInt64);
    const auto with_left = [&] {
      Nodes sums;
      for (const NodeId view : shared)
        sums.push_back(loops_.add(loops_.load(view, {&left, 1}), loops_.load(view, {&thread, 1})));
      return sums;
    };
    const auto alone = [&] {
      Nodes sums;
      for (const NodeId view : shared) sums.push_back(loops_.load(view, {&thread, 1}));
      return sums;
    };
    const Nodes sums = loops_.branch(has_left, types, with_left, alone);
    kernels_.barrier();
    for (size_t i = 0; i < counters_; ++i) loops_.store(shared[i], {&thread, 1}, sums[i]);
  }
  kernels_.barrier();
}

void KernelScan::count_tiles(const std::function<void()>& prepare, const Growth& growth) {
  const NodeId at_once = loops_.minimum(tiles_, b_.index(kMostTilesAtOnce));
  kernels_.blocks(at_once, [&](NodeId block, NodeId thread) {
    prepare();
    Nodes shared;
    for (size_t i = 0; i < counters_; ++i)
      shared.push_back(kernels_.shared(kernels_.block_threads(), DType::Int64));
    const NodeId threads = b_.index(kernels_.block_threads());
    kernels_.strided(block, tiles_, at_once, [&](NodeId tile) {
      const NodeId first =
          loops_.add(loops_.multiply(tile, loops_.multiply(threads, b_.index(kTurnsOfThread))), thread);
      const Nodes zeros(counters_, b_.index(0));
      const Nodes own = loops_.loop(b_.index(kTurnsOfThread), zeros, [&](auto k, auto sums) {
        const Nodes grown = growth_at(loops_.add(first, loops_.multiply(k[0], threads)), growth);
        Nodes next;
        for (size_t i = 0; i < counters_; ++i) next.push_back(loops_.add(sums[i], grown[i]));
        return next;
      });
      for (size_t i = 0; i < counters_; ++i) loops_.store(shared[i], {&thread, 1}, own[i]);
      sum_up(shared, thread);
      const auto keep = [&] {
        for (size_t i = 0; i < counters_; ++i)
          loops_.store(before_[i], {&tile, 1}, loops_.load(shared[i], {&thread, 1}));
        return Nodes();
      };
      loops_.branch(loops_.equal(thread, b_.index(kernels_.block_threads() - 1)), {}, keep, nothing);
      kernels_.barrier();
    });
  });
}

void KernelScan::add_tiles(const std::function<void()>& prepare, const Inits& inits,
                           std::span<const NodeId> cells) {
  kernels_.blocks(b_.index(1), [&](NodeId, NodeId thread) {
    prepare();
    Nodes shared;
    for (size_t i = 0; i < counters_; ++i)
      shared.push_back(kernels_.shared(kernels_.block_threads(), DType::Int64));
    const NodeId threads = b_.index(kernels_.block_threads());
    const NodeId last = b_.index(kernels_.block_threads() - 1);
    Nodes start{b_.index(0)};
    const Nodes first = inits();
    start.insert(start.end(), first.begin(), first.end());
    const auto is_more = [&](std::span<const NodeId> at) {
      Nodes all{loops_.less(at[0], tiles_)};
      all.insert(all.end(), at.begin(), at.end());
      return all;
    };
    const Nodes end = loops_.repeat(start, is_more, [&](std::span<const NodeId> at) {
      const NodeId tile = loops_.add(at[0], thread);
      const std::vector<Type> types(counters_, ir::kInt64);
      const NodeId is_there = loops_.less(tile, tiles_);
      const auto there = [&] {
        Nodes own;
        for (const NodeId view : before_) own.push_back(loops_.load(view, {&tile, 1}));
        return own;
      };
      const Nodes own = loops_.branch(is_there, types, there, [&] { return Nodes(counters_, b_.index(0)); });
      for (size_t i = 0; i < counters_; ++i) loops_.store(shared[i], {&thread, 1}, own[i]);
      sum_up(shared, thread);
      Nodes next{loops_.add(at[0], threads)};
      Nodes sums;
      for (size_t i = 0; i < counters_; ++i) {
        sums.push_back(loops_.load(shared[i], {&thread, 1}));
        next.push_back(loops_.add(at[i + 1], loops_.load(shared[i], {&last, 1})));
      }
      const auto keep = [&] {
        for (size_t i = 0; i < counters_; ++i)
          loops_.store(before_[i], {&tile, 1}, loops_.add(at[i + 1], loops_.subtract(sums[i], own[i])));
        return Nodes();
      };
      loops_.branch(is_there, {}, keep, nothing);
      kernels_.barrier();
      return next;
    });
    const auto give = [&] {
      const NodeId zero = b_.index(0);
      for (size_t i = 0; i < counters_; ++i) loops_.store(cells[i], {&zero, 1}, end[i + 1]);
      return Nodes();
    };
    loops_.branch(loops_.equal(thread, b_.index(0)), {}, give, nothing);
  });
}

void KernelScan::run_tiles(const std::function<void()>& prepare, const Growth& growth, const Turn& turn) {
  const NodeId at_once = loops_.minimum(tiles_, b_.index(kMostTilesAtOnce));
  kernels_.blocks(at_once, [&](NodeId block, NodeId thread) {
    prepare();
    Nodes shared;
    for (size_t i = 0; i < counters_; ++i)
      shared.push_back(kernels_.shared(kernels_.block_threads(), DType::Int64));
    const NodeId threads = b_.index(kernels_.block_threads());
    const NodeId last = b_.index(kernels_.block_threads() - 1);
    kernels_.strided(block, tiles_, at_once, [&](NodeId tile) {
      const NodeId first =
          loops_.add(loops_.multiply(tile, loops_.multiply(threads, b_.index(kTurnsOfThread))), thread);
      Nodes start;
      for (const NodeId view : before_) start.push_back(loops_.load(view, {&tile, 1}));
      loops_.loop(b_.index(kTurnsOfThread), start, [&](auto k, auto counters) {
        const NodeId at = loops_.add(first, loops_.multiply(k[0], threads));
        const Nodes grown = growth_at(at, growth);
        for (size_t i = 0; i < counters_; ++i) loops_.store(shared[i], {&thread, 1}, grown[i]);
        sum_up(shared, thread);
        Nodes own;
        Nodes next;
        for (size_t i = 0; i < counters_; ++i) {
          const NodeId sum = loops_.load(shared[i], {&thread, 1});
          own.push_back(loops_.add(counters[i], loops_.subtract(sum, grown[i])));
          next.push_back(loops_.add(counters[i], loops_.load(shared[i], {&last, 1})));
        }
        const auto run = [&] {
          turn(at, own);
          return Nodes();
        };
        loops_.branch(loops_.less(at, count_), {}, run, nothing);
        kernels_.barrier();
        return next;
      });
    });
  });
}

}  // namespace ingot::transform
