#include "transform/kernels/kernel_scan.h"

#include <algorithm>
#include <bit>

namespace ingot::transform {

namespace {

/// Iterations of a tile, for each thread of a block.
constexpr int64_t kIterationsOfThread = 8;
constexpr int64_t kMostTilesAtOnce = 1 << 16;
/// ... where the iterations are combined in their order; bytes that a block has for them.
constexpr int64_t kOrderedIterationsOfThread = 4;
constexpr int64_t kOrderedBytes = 48 << 10;
/// So many are loaded before they are combined.
constexpr int64_t kAtOnce = 8;

}  // namespace

KernelScan::KernelScan(KernelWriter& kernels, LoopWriter& loops, std::vector<BlockScan::Slot> slots)
    : kernels_(kernels), loops_(loops), b_(loops.builder()), scan_(kernels, loops, std::move(slots)) {}

/// After the last iteration there are only identities.
Nodes KernelScan::growth_at(NodeId iteration, const Growth& growth) {
  return loops_.branch(
      loops_.less(iteration, count_), scan_.types(), [&] { return growth(iteration); },
      [&] { return scan_.identities(); });
}

NodeId KernelScan::first_of(NodeId tile, NodeId thread) {
  return loops_.add(loops_.multiply(tile, b_.index(kernels_.block_threads() * kIterationsOfThread)), thread);
}

/// What the iterations of a tile give, the first of which is this thread's.
Nodes KernelScan::tile_value(const Nodes& shared, NodeId thread, NodeId first, const Growth& growth) {
  const NodeId threads = b_.index(kernels_.block_threads());
  // Of equal zeros the first is kept.
  const bool any_order =
      std::ranges::none_of(scan_.slots(), [](const BlockScan::Slot& s) { return base::is_float(s.dtype); });
  const Nodes values = loops_.loop(b_.index(kIterationsOfThread), scan_.identities(), [&](auto k, auto sums) {
    const Nodes given = growth_at(loops_.add(first, loops_.multiply(k[0], threads)), growth);
    return scan_.combine(sums, any_order ? given : scan_.scan(shared, thread, given).all);
  });
  return any_order ? scan_.scan(shared, thread, values).all : values;
}

void KernelScan::add_up(NodeId count, const std::function<void()>& prepare, const Growth& growth,
                        const Inits& inits, std::span<const NodeId> cells) {
  count_ = loops_.maximum(count, b_.index(0));
  const NodeId size = b_.index(kIterationsOfThread * kernels_.block_threads());
  tiles_ = loops_.ceiling(count_, size);
  before_.clear();
  for (const BlockScan::Slot& slot : scan_.slots())
    before_.push_back(loops_.new_view({&tiles_, 1}, slot.dtype));
  const NodeId at_once = loops_.minimum(tiles_, b_.index(kMostTilesAtOnce));
  kernels_.blocks(at_once, [&](NodeId block, NodeId thread) {
    prepare();
    const Nodes shared = scan_.places();
    kernels_.strided(block, tiles_, at_once, [&](NodeId tile) {
      const Nodes value = tile_value(shared, thread, first_of(tile, thread), growth);
      kernels_.when(loops_.equal(thread, b_.index(0)), [&] { scan_.store_all(before_, tile, value); });
    });
  });
  add_tiles(prepare, inits, cells);
}

void KernelScan::add_tiles(const std::function<void()>& prepare, const Inits& inits,
                           std::span<const NodeId> cells) {
  kernels_.blocks(b_.index(1), [&](NodeId, NodeId thread) {
    prepare();
    const Nodes shared = scan_.places();
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
      const NodeId is_there = loops_.less(tile, tiles_);
      const Nodes own = loops_.branch(
          is_there, scan_.types(), [&] { return scan_.load_all(before_, tile); },
          [&] { return scan_.identities(); });
      const BlockScan::Scanned sums = scan_.scan(shared, thread, own);
      kernels_.when(is_there,
                    [&] { scan_.store_all(before_, tile, scan_.combine(at.subspan(1), sums.before)); });
      Nodes next{loops_.add(at[0], b_.index(kernels_.block_threads()))};
      const Nodes all = scan_.combine(at.subspan(1), sums.all);
      next.insert(next.end(), all.begin(), all.end());
      return next;
    });
    kernels_.when(loops_.equal(thread, b_.index(0)),
                  [&] { scan_.store_all(cells, b_.index(0), std::span(end).subspan(1)); });
  });
}

void KernelScan::run(const std::function<void()>& prepare, const Growth& growth, const Iteration& iteration) {
  const NodeId at_once = loops_.minimum(tiles_, b_.index(kMostTilesAtOnce));
  kernels_.blocks(at_once, [&](NodeId block, NodeId thread) {
    prepare();
    const Nodes shared = scan_.places();
    const NodeId threads = b_.index(kernels_.block_threads());
    kernels_.strided(block, tiles_, at_once, [&](NodeId tile) {
      const NodeId first = first_of(tile, thread);
      loops_.loop(b_.index(kIterationsOfThread), scan_.load_all(before_, tile), [&](auto k, auto sums) {
        const NodeId at = loops_.add(first, loops_.multiply(k[0], threads));
        const BlockScan::Scanned given = scan_.scan(shared, thread, growth_at(at, growth));
        kernels_.when(loops_.less(at, count_), [&] { iteration(at, scan_.combine(sums, given.before)); });
        return scan_.combine(sums, given.all);
      });
    });
  });
}

/// Combines so many values one after the other; leaves in `held` what there was before each.
Nodes KernelScan::chain(const Nodes& given, const Nodes& held, NodeId count, Nodes carried) {
  const NodeId groups = b_.make(Op::floor_divide, {count, b_.index(kAtOnce)});
  return loops_.loop(groups, carried, [&](auto group, auto start) {
    const NodeId first = loops_.multiply(group[0], b_.index(kAtOnce));
    std::vector<Nodes> own;
    for (int64_t i = 0; i < kAtOnce; ++i)
      own.push_back(scan_.load_all(given, loops_.add(first, b_.index(i))));
    std::vector<Nodes> sums{Nodes(start.begin(), start.end())};
    for (const Nodes& values : own) sums.push_back(scan_.combine(sums.back(), values));
    for (int64_t i = 0; i < kAtOnce && !held.empty(); ++i)
      scan_.store_all(held, loops_.add(first, b_.index(i)), sums[static_cast<size_t>(i)]);
    return sums.back();
  });
}

void KernelScan::run_in_order(NodeId count, const std::function<void()>& prepare, const Growth& growth,
                              const Iteration& iteration, const Inits& inits, std::span<const NodeId> cells) {
  count_ = loops_.maximum(count, b_.index(0));
  int64_t bytes = 0;
  for (const BlockScan::Slot& slot : scan_.slots())
    bytes += static_cast<int64_t>(base::size_of(slot.dtype)) * (iteration ? 2 : 1);
  const int64_t fitting = std::max<int64_t>(kOrderedBytes / (bytes * kernels_.block_threads()), 1);
  const auto most = std::bit_floor(static_cast<uint64_t>(fitting));
  const int64_t iterations = std::min<int64_t>(static_cast<int64_t>(most), kOrderedIterationsOfThread);
  const int64_t size = iterations * kernels_.block_threads();
  kernels_.blocks(b_.index(1), [&](NodeId, NodeId thread) {
    prepare();
    const Nodes given = scan_.shared(size);
    const Nodes held = iteration ? scan_.shared(size) : Nodes();
    const NodeId threads = b_.index(kernels_.block_threads());
    const NodeId length = b_.index(size);
    const NodeId is_one = loops_.equal(thread, b_.index(0));
    const NodeId rounds = loops_.ceiling(count_, length);
    const Nodes end = loops_.loop(rounds, inits(), [&](auto round, auto carried) {
      const NodeId start = loops_.multiply(round[0], length);
      kernels_.strided(thread, length, threads,
                       [&](NodeId k) { scan_.store_all(given, k, growth_at(loops_.add(start, k), growth)); });
      kernels_.barrier();
      const Nodes before(carried.begin(), carried.end());
      const Nodes after = loops_.branch(
          is_one, scan_.types(), [&] { return chain(given, held, length, before); }, [&] { return before; });
      kernels_.barrier();
      if (!iteration) return after;
      const NodeId there = loops_.minimum(length, loops_.subtract(count_, start));
      kernels_.strided(thread, there, threads,
                       [&](NodeId k) { iteration(loops_.add(start, k), scan_.load_all(held, k)); });
      return after;
    });
    kernels_.when(is_one, [&] { scan_.store_all(cells, b_.index(0), end); });
  });
}

}  // namespace ingot::transform
