#include "transform/kernels/kernel_scan.h"

#include <algorithm>
#include <bit>

namespace ingot::transform {

namespace {

/// Iterations of a tile, for each thread of a block, at most: an odd number, so that threads which each go
/// through their own use different banks. Bytes that a block has for them: two thousand threads share a
/// processor.
constexpr int64_t kIterationsOfThread = 23;
constexpr int64_t kTileBytes = 28 << 10;
/// What is written out for all iterations of a thread has so many nodes at most.
constexpr int64_t kNodesAtOnce = 400;
/// ... where the iterations are combined in their order.
constexpr int64_t kOrderedIterationsOfThread = 4;
/// So many are loaded before they are combined.
constexpr int64_t kAtOnce = 8;

}  // namespace

KernelScan::KernelScan(KernelWriter& kernels, LoopWriter& loops, std::vector<BlockScan::Slot> slots,
                       std::vector<BlockScan::Slot> of_tile)
    : kernels_(kernels),
      loops_(loops),
      b_(loops.builder()),
      scan_(kernels, loops, std::move(slots)),
      in_tile_(kernels, loops, std::move(of_tile)),
      is_narrow_(scan_.types() != in_tile_.types()) {
  int64_t bytes = 0;
  for (const BlockScan::Slot& slot : in_tile_.slots())
    bytes += static_cast<int64_t>(base::size_of(slot.dtype));
  // What threads exchange takes as much as an iteration of each.
  const int64_t most = std::min(kTileBytes, kernels.shared_bytes());
  const int64_t fitting = most / (bytes * kernels_.block_threads()) - 1;
  iterations_ = std::clamp<int64_t>((fitting - 1) | 1, 1, kIterationsOfThread);
}

/// After the last iteration there are only identities.
Nodes KernelScan::growth_at(NodeId iteration, const Growth& growth) {
  return loops_.branch(
      loops_.less(iteration, count_), scan_.types(), [&] { return growth(iteration); },
      [&] { return scan_.identities(); });
}

Nodes KernelScan::narrowed(const Nodes& values) {
  Nodes all;
  for (size_t i = 0; i < values.size(); ++i) all.push_back(b_.cast(values[i], in_tile_.types()[i].dtype()));
  return all;
}

Nodes KernelScan::widened(const Nodes& values) {
  Nodes all;
  for (size_t i = 0; i < values.size(); ++i) all.push_back(b_.cast(values[i], scan_.types()[i].dtype()));
  return all;
}

/// Iterations of a thread of which neighbouring threads have the neighbours; `k`: the number in the tile.
void KernelScan::each_of_tile(NodeId tile, NodeId thread,
                              const std::function<void(NodeId iteration, NodeId k)>& body) {
  const NodeId first = loops_.multiply(tile, b_.index(tile_size()));
  const NodeId threads = b_.index(kernels_.block_threads());
  const NodeId count = b_.index(iterations_);
  loops_.nest({&count, 1}, [&](std::span<const NodeId> at) {
    const NodeId k = loops_.add(loops_.multiply(at[0], threads), thread);
    body(loops_.add(first, k), k);
  });
}

/// What the iterations of a tile give. A thread loads all of its own before it waits for the first, unless
/// that is much code or they go beyond the end.
void KernelScan::load_tile(const Tile& own, NodeId tile, NodeId thread, const Growth& growth) {
  int64_t nodes = 0;
  const auto one_by_one = [&] {
    each_of_tile(tile, thread, [&](NodeId iteration, NodeId k) {
      const auto before = static_cast<int64_t>(b_.function().node_count());
      in_tile_.store_all(own.values, k, narrowed(growth_at(iteration, growth)));
      nodes = static_cast<int64_t>(b_.function().node_count()) - before;
    });
    return Nodes();
  };
  const auto at_once = [&] {
    if (nodes * iterations_ > kNodesAtOnce) return one_by_one();
    const NodeId first = loops_.add(loops_.multiply(tile, b_.index(tile_size())), thread);
    std::vector<Nodes> given;
    given.reserve(static_cast<size_t>(iterations_));
    for (int64_t i = 0; i < iterations_; ++i)
      given.push_back(narrowed(growth(loops_.add(first, b_.index(i * kernels_.block_threads())))));
    for (int64_t i = 0; i < iterations_; ++i) {
      in_tile_.store_all(own.values, loops_.add(thread, b_.index(i * kernels_.block_threads())),
                         given[static_cast<size_t>(i)]);
    }
    return Nodes();
  };
  const NodeId end = loops_.multiply(loops_.add(tile, b_.index(1)), b_.index(tile_size()));
  loops_.branch(loops_.less(count_, end), {}, one_by_one, at_once);
}

/// Then a thread has neighbouring iterations.
BlockScan::Scanned KernelScan::fill(const Tile& own, NodeId tile, NodeId thread, const Growth& growth) {
  load_tile(own, tile, thread, growth);
  kernels_.barrier();
  const NodeId count = b_.index(iterations_);
  const NodeId first = loops_.multiply(thread, count);
  const Nodes sum = loops_.loop(count, in_tile_.identities(), [&](auto k, auto sums) {
    return in_tile_.combine(sums, in_tile_.load_all(own.values, loops_.add(first, k[0])));
  });
  return in_tile_.scan(own.exchanged, thread, sum);
}

/// After `fill`, which has given `given`: the iterations of a tile, with what comes before them; `before`:
/// before the tile. In dtypes of their own, tiles are counted from 0.
void KernelScan::spread(const Tile& own, NodeId tile, NodeId thread, const Nodes& before,
                        const BlockScan::Scanned& given, const Iteration& iteration) {
  const NodeId count = b_.index(iterations_);
  const NodeId first = loops_.multiply(thread, count);
  const Nodes start = is_narrow_ ? given.before : scan_.combine(before, given.before);
  const Nodes after = loops_.loop(count, start, [&](auto k, auto carried) {
    const NodeId at = loops_.add(first, k[0]);
    const Nodes own_growth = in_tile_.load_all(own.values, at);
    in_tile_.store_all(own.values, at, carried);
    return in_tile_.combine(carried, own_growth);
  });
  kernels_.when(loops_.equal(thread, b_.index(kernels_.block_threads() - 1)),
                [&] { in_tile_.store_all(own.values, b_.index(tile_size()), after); });
  kernels_.barrier();
  const auto load = [&](NodeId k) {
    const Nodes values = in_tile_.load_all(own.values, k);
    return is_narrow_ ? scan_.combine(before, widened(values)) : values;
  };
  each_of_tile(tile, thread, [&](NodeId at, NodeId k) {
    kernels_.when(loops_.less(at, count_), [&] { iteration(at, load(k), load(loops_.add(k, b_.index(1)))); });
  });
}

void KernelScan::begin(NodeId count) {
  count_ = loops_.maximum(count, b_.index(0));
  tiles_ = loops_.ceiling(count_, b_.index(tile_size()));
  // A tile of nothing stores what the values end with.
  if (kernels_.may_look_back()) tiles_ = loops_.maximum(tiles_, b_.index(1));
}

void KernelScan::run(NodeId count, const std::function<void()>& prepare, const Growth& growth,
                     const Iteration& iteration, const Inits& inits, std::span<const NodeId> cells,
                     LookBack::Order order) {
  if (!kernels_.may_look_back()) {
    add_up(count, prepare, growth, inits, cells);
    if (iteration) run_after(prepare, growth, iteration);
    return;
  }
  begin(count);
  look_back(
      prepare, growth, inits, cells, order,
      [&](const Tile& own, NodeId tile, NodeId thread, const Nodes& before, const BlockScan::Scanned& given) {
        if (iteration) spread(own, tile, thread, before, given, iteration);
      });
}

void KernelScan::look_back(
    const std::function<void()>& prepare, const Growth& growth, const Inits& inits,
    std::span<const NodeId> cells, LookBack::Order order,
    const std::function<void(const Tile&, NodeId, NodeId, const Nodes&, const BlockScan::Scanned&)>& finish) {
  LookBack others(kernels_, loops_, scan_, order);
  others.allocate(tiles_);
  kernels_.blocks(tiles_, [&](NodeId, NodeId thread) {
    prepare();
    const Tile own = make_tile();
    others.place();
    const NodeId tile = others.take_tile(thread);
    const BlockScan::Scanned given = fill(own, tile, thread, growth);
    const Nodes all = widened(given.all);
    const Nodes before = others.before(tile, thread, all, inits());
    const NodeId is_last = loops_.equal(tile, loops_.subtract(tiles_, b_.index(1)));
    kernels_.when(loops_.both(is_last, loops_.equal(thread, b_.index(0))),
                  [&] { scan_.store_all(cells, b_.index(0), scan_.combine(before, all)); });
    finish(own, tile, thread, before, given);
  });
}

void KernelScan::add_up(NodeId count, const std::function<void()>& prepare, const Growth& growth,
                        const Inits& inits, std::span<const NodeId> cells) {
  begin(count);
  before_.clear();
  for (const BlockScan::Slot& slot : scan_.slots())
    before_.push_back(loops_.new_view({&tiles_, 1}, slot.dtype));
  const auto keep = [&](NodeId tile, NodeId thread, const Nodes& values) {
    kernels_.when(loops_.equal(thread, b_.index(0)), [&] { scan_.store_all(before_, tile, values); });
  };
  if (kernels_.may_look_back()) {
    look_back(prepare, growth, inits, cells, LookBack::Order::Any,
              [&](const Tile&, NodeId tile, NodeId thread, const Nodes& before, const BlockScan::Scanned&) {
                keep(tile, thread, before);
              });
    return;
  }
  kernels_.blocks(tiles_, [&](NodeId tile, NodeId thread) {
    prepare();
    keep(tile, thread, widened(fill(make_tile(), tile, thread, growth).all));
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

void KernelScan::run_after(const std::function<void()>& prepare, const Growth& growth,
                           const Iteration& iteration) {
  kernels_.blocks(tiles_, [&](NodeId tile, NodeId thread) {
    prepare();
    const Tile own = make_tile();
    const BlockScan::Scanned given = fill(own, tile, thread, growth);
    spread(own, tile, thread, scan_.load_all(before_, tile), given, iteration);
  });
}

/// Combines so many values one after the other; leaves in `held` what there was before each.
Nodes KernelScan::chain(const Nodes& given, const Nodes& held, NodeId count, Nodes carried) {
  const NodeId groups = b_.make(Op::floor_divide, {count, b_.index(kAtOnce)});
  return loops_.loop(groups, carried, [&](auto group, auto start) {
    const NodeId first = loops_.multiply(group[0], b_.index(kAtOnce));
    std::vector<Nodes> own;
    own.reserve(kAtOnce);
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
  INGOT_ASSERT(bytes > 0, "a scan of no values");
  const int64_t fitting = std::max<int64_t>(kernels_.shared_bytes() / (bytes * kernels_.block_threads()), 1);
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
      Nodes before(carried.begin(), carried.end());
      Nodes after = loops_.branch(
          is_one, scan_.types(), [&] { return chain(given, held, length, before); }, [&] { return before; });
      kernels_.barrier();
      if (!iteration) return after;
      const NodeId there = loops_.minimum(length, loops_.subtract(count_, start));
      kernels_.strided(thread, there, threads,
                       [&](NodeId k) { iteration(loops_.add(start, k), scan_.load_all(held, k), {}); });
      return after;
    });
    kernels_.when(is_one, [&] { scan_.store_all(cells, b_.index(0), end); });
  });
}

}  // namespace ingot::transform
