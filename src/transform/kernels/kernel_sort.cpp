// A pass of radix sort where blocks do not look back: tiles count their digits; what is before each tile's
// elements of a digit, in its line, is added up; then each tile is sorted by the digit within its block, in
// two steps of four bits, and its elements go where those of their digit begin. Each thread has contiguous
// elements, so equal ones keep their order. No block waits for another one.

#include "transform/kernels/kernel_sort.h"

#include <algorithm>
#include <bit>

namespace ingot::transform {

namespace {

constexpr int64_t kMostAtOnce = 1 << 16;
/// A tile is split by so many bits at once.
constexpr int64_t kSplitBits = 4;
constexpr int64_t kBins = int64_t{1} << kSplitBits;

}  // namespace

KernelSort::KernelSort(KernelWriter& kernels, LoopWriter& loops)
    : kernels_(kernels),
      loops_(loops),
      b_(loops.builder()),
      scan_(kernels, loops, {{Op::add, DType::Int64, base::Scalar{}}}) {}

int64_t KernelSort::digit_bits() const {
  // Each digit has a thread.
  const auto bits = static_cast<int64_t>(std::bit_width(static_cast<uint64_t>(kernels_.block_threads()))) - 1;
  return std::min(bits, DigitSweeps::kMostDigitBits);
}

void KernelSort::store(NodeId view, NodeId at, NodeId value) {
  loops_.store(view, {&at, 1}, b_.cast(value, b_.function().type(view).dtype()));
}

void KernelSort::iterations_of(NodeId thread, NodeId count, const std::function<void(NodeId)>& body) {
  kernels_.strided(thread, count, b_.index(kernels_.block_threads()), body);
}

KernelSort::Tile KernelSort::make_tile() {
  return {kernels_.shared(2 * tile(), DType::UInt16),
          kernels_.shared(kBins * kernels_.block_threads(), DType::UInt16), scan_.places()};
}

/// Orders the indices in one half of a tile's order into the other half, by the bins of the elements that
/// they name.
void KernelSort::split(const Tile& tile, NodeId thread, NodeId count, NodeId from, NodeId to,
                       const std::function<NodeId(NodeId)>& bin_of) {
  const NodeId threads = b_.index(kernels_.block_threads());
  const NodeId zero = b_.index(0);
  const NodeId bins = b_.index(kBins);
  const NodeId first = loops_.multiply(thread, b_.index(kIterationsOfThread));
  const NodeId left = loops_.maximum(loops_.subtract(count, first), zero);
  const NodeId own = loops_.minimum(left, b_.index(kIterationsOfThread));
  const auto each = [&](const std::function<void(NodeId named, NodeId counter)>& body) {
    loops_.nest({&own, 1}, [&](std::span<const NodeId> at) {
      const NodeId named = load_index(tile.order, loops_.add(from, loops_.add(first, at[0])));
      body(named, loops_.add(loops_.multiply(bin_of(named), threads), thread));
    });
  };
  loops_.nest({&bins, 1}, [&](std::span<const NodeId> bin) {
    store(tile.counters, loops_.add(loops_.multiply(bin[0], threads), thread), zero);
  });
  each([&](NodeId, NodeId counter) {
    store(tile.counters, counter, loops_.add(load_index(tile.counters, counter), b_.index(1)));
  });
  kernels_.barrier();
  // Bin by bin, and thread by thread in each: a thread adds up as many counters as there are bins.
  const NodeId begin = loops_.multiply(thread, bins);
  const NodeId sum = loops_.loop(bins, {&zero, 1}, [&](auto k, auto before) {
    return Nodes{loops_.add(before[0], load_index(tile.counters, loops_.add(begin, k[0])))};
  })[0];
  const Nodes before = scan_.scan(tile.sums, thread, {sum}).before;
  loops_.loop(bins, before, [&](auto k, auto indices) {
    const NodeId at = loops_.add(begin, k[0]);
    const NodeId counted = load_index(tile.counters, at);
    store(tile.counters, at, indices[0]);
    return Nodes{loops_.add(indices[0], counted)};
  });
  kernels_.barrier();
  each([&](NodeId named, NodeId counter) {
    const NodeId index = load_index(tile.counters, counter);
    store(tile.order, loops_.add(to, index), named);
    store(tile.counters, counter, loops_.add(index, b_.index(1)));
  });
  kernels_.barrier();
}

void KernelSort::in_blocks(NodeId lines, NodeId count, NodeId elements, int64_t bits, const SortKey& key,
                           const std::function<void(NodeId, NodeId, NodeId)>& give) {
  const NodeId at_once = loops_.minimum(lines, b_.index(kMostAtOnce));
  const NodeId steps = b_.index((bits + kSplitBits - 1) / kSplitBits);
  const NodeId half = b_.index(tile());
  const DType dtype = b_.function().type(elements).dtype();
  kernels_.blocks(at_once, [&](NodeId block, NodeId thread) {
    const Tile own = make_tile();
    const NodeId keys = kernels_.shared(tile(), dtype);
    kernels_.strided(block, lines, at_once, [&](NodeId line) {
      const NodeId first = loops_.multiply(line, count);
      iterations_of(thread, count, [&](NodeId k) {
        store(keys, k, key.bits(b_, load(elements, loops_.add(first, k))));
        store(own.order, k, k);
      });
      kernels_.barrier();
      loops_.nest({&steps, 1}, [&](std::span<const NodeId> step) {
        const NodeId from = loops_.multiply(loops_.both(step[0], b_.index(1)), half);
        const NodeId shift = b_.cast(loops_.multiply(step[0], b_.index(kSplitBits)), dtype);
        split(own, thread, count, from, loops_.subtract(half, from), [&](NodeId named) {
          const NodeId rest = b_.make(Op::right_shift, {load(keys, named), shift});
          return loops_.both(b_.cast(rest, DType::Int64), b_.index(kBins - 1));
        });
      });
      const NodeId sorted = loops_.multiply(loops_.both(steps, b_.index(1)), half);
      iterations_of(thread, count,
                    [&](NodeId k) { give(line, k, load_index(own.order, loops_.add(sorted, k))); });
      kernels_.barrier();
    });
  });
}

/// The elements, and two views for them in turns; and so their indices.
Nodes KernelSort::views_of(const KeyLines& what) {
  const NodeId all = what.elements(loops_);
  const DType dtype = b_.function().type(what.keys).dtype();
  Nodes views{what.keys, loops_.new_view({&all, 1}, dtype), loops_.new_view({&all, 1}, dtype)};
  if (!what.order) return views;
  for (int i = 0; i < 3; ++i) views.push_back(loops_.new_view({&all, 1}, DType::Int64));
  kernels_.grid({&all, 1}, [&](std::span<const NodeId> k) {
    loops_.store(views[3], k, b_.make(Op::fmod, {k[0], what.count}));
  });
  return views;
}

void KernelSort::by_digits(const KeyLines& what, const SortKey& key) {
  if (DigitSweeps::are_possible(kernels_)) return DigitSweeps(kernels_, loops_, what, key).write();
  const NodeId size = b_.index(tile());
  const NodeId tiles = loops_.ceiling(what.count, size);
  const NodeId numbers = loops_.multiply(what.lines, this->digits());
  const Nodes lengths{numbers, tiles};
  const NodeId all = loops_.product(lengths);
  const NodeId counts = loops_.new_view({&all, 1}, DType::Int64);
  const NodeId totals = loops_.new_view({&numbers, 1}, DType::Int64);
  const Nodes sorted = loops_.loop(what.digits, views_of(what), [&](auto step, auto now) {
    const NodeId shift = loops_.multiply(step[0], b_.index(digit_bits()));
    const Nodes views(now.begin(), now.end());
    const Pass pass{what.lines, what.count, tiles, shift, views, counts, totals, key};
    count_digits(pass);
    add_digits(pass);
    move(pass);
    Nodes next;
    for (size_t i = 0; i < now.size(); i += 3) next.insert(next.end(), {now[i + 1], now[i + 2], now[i + 1]});
    return next;
  });
  const NodeId elements = what.elements(loops_);
  const auto keep = [&](NodeId to, NodeId from) {
    kernels_.grid({&elements, 1},
                  [&](std::span<const NodeId> k) { loops_.store(to, k, loops_.load(from, k)); });
  };
  if (what.sorted) keep(what.sorted, sorted[0]);
  if (what.order) keep(what.order, sorted[3]);
}

NodeId KernelSort::digit_at(const Pass& pass, NodeId at) {
  const NodeId key = pass.key.bits(b_, load(pass.views[0], at));
  const DType dtype = b_.function().type(key).dtype();
  const NodeId rest = b_.make(Op::right_shift, {key, b_.cast(pass.shift, dtype)});
  return loops_.both(b_.cast(rest, DType::Int64), loops_.subtract(digits(), b_.index(1)));
}

/// A block for each tile of each line: `first` is the index of its first element, `count` how many it has.
void KernelSort::each_tile(
    const Pass& pass, const std::function<Nodes()>& at_top,
    const std::function<void(NodeId, NodeId, NodeId, NodeId, NodeId, const Nodes&)>& body) {
  const NodeId all = loops_.multiply(pass.lines, pass.tiles);
  const NodeId at_once = loops_.minimum(all, b_.index(kMostAtOnce));
  const NodeId size = b_.index(tile());
  kernels_.blocks(at_once, [&](NodeId block, NodeId thread) {
    const Nodes common = at_top();
    kernels_.strided(block, all, at_once, [&](NodeId number) {
      const NodeId line = b_.make(Op::floor_divide, {number, pass.tiles});
      const NodeId own = b_.make(Op::fmod, {number, pass.tiles});
      const NodeId start = loops_.multiply(own, size);
      const NodeId first = loops_.add(loops_.multiply(line, pass.count), start);
      body(thread, line, own, first, loops_.minimum(size, loops_.subtract(pass.count, start)), common);
    });
  });
}

void KernelSort::count_digits(const Pass& pass) {
  const int64_t number = int64_t{1} << digit_bits();
  const auto at_top = [&] { return Nodes{kernels_.shared(number, DType::Int32)}; };
  each_tile(pass, at_top, [&](auto thread, auto line, auto own, auto first, auto count, auto& common) {
    const NodeId found = common[0];
    const NodeId one = b_.constant<int32_t>(1);
    iterations_of(thread, digits(), [&](NodeId digit) { store(found, digit, b_.index(0)); });
    kernels_.barrier();
    iterations_of(thread, count, [&](NodeId k) {
      const int64_t attributes[] = {static_cast<int64_t>(Op::add), static_cast<int64_t>(ir::Scope::Block),
                                    static_cast<int64_t>(ir::Order::Relaxed)};
      const Nodes operands{found, digit_at(pass, loops_.add(first, k)), one};
      b_.make(Op::atomic, operands, attributes);
    });
    kernels_.barrier();
    iterations_of(thread, digits(), [&](NodeId digit) {
      const NodeId row = loops_.add(loops_.multiply(line, digits()), digit);
      store(pass.counts, loops_.add(loops_.multiply(row, pass.tiles), own), load(found, digit));
    });
    kernels_.barrier();
  });
}

/// A block for each digit of each line.
void KernelSort::add_digits(const Pass& pass) {
  const NodeId rows = loops_.multiply(pass.lines, digits());
  const NodeId at_once = loops_.minimum(rows, b_.index(kMostAtOnce));
  const NodeId threads = b_.index(kernels_.block_threads());
  kernels_.blocks(at_once, [&](NodeId block, NodeId thread) {
    const Nodes sums = scan_.places();
    kernels_.strided(block, rows, at_once, [&](NodeId row) {
      const NodeId begin = loops_.multiply(row, pass.tiles);
      const Nodes start{b_.index(0), b_.index(0)};
      const auto is_more = [&](std::span<const NodeId> at) {
        return Nodes{loops_.less(at[0], pass.tiles), at[0], at[1]};
      };
      const Nodes end = loops_.repeat(start, is_more, [&](std::span<const NodeId> at) {
        const NodeId tile = loops_.add(at[0], thread);
        const NodeId is_there = loops_.less(tile, pass.tiles);
        const NodeId index = loops_.add(begin, tile);
        const NodeId own = loops_.branch(
            is_there, {ir::kInt64}, [&] { return Nodes{load(pass.counts, index)}; },
            [&] { return Nodes{b_.index(0)}; })[0];
        const auto sum = scan_.scan(sums, thread, {own});
        kernels_.when(is_there, [&] { store(pass.counts, index, loops_.add(at[1], sum.before[0])); });
        return Nodes{loops_.add(at[0], threads), loops_.add(at[1], sum.all[0])};
      });
      kernels_.when(loops_.equal(thread, b_.index(0)), [&] { store(pass.totals, row, end[1]); });
    });
  });
}

/// Where the elements of each digit go that a tile has.
void KernelSort::place_digits(const Pass& pass, NodeId thread, NodeId line, NodeId tile, const Nodes& sums,
                              NodeId first_indices) {
  const NodeId row = loops_.add(loops_.multiply(line, digits()), thread);
  const NodeId is_there = loops_.less(thread, digits());
  const NodeId own = loops_.branch(
      is_there, {ir::kInt64}, [&] { return Nodes{load(pass.totals, row)}; },
      [&] { return Nodes{b_.index(0)}; })[0];
  const NodeId before = scan_.scan(sums, thread, {own}).before[0];
  kernels_.when(is_there, [&] {
    const NodeId in_digit = load(pass.counts, loops_.add(loops_.multiply(row, pass.tiles), tile));
    const NodeId in_line = loops_.add(before, in_digit);
    store(first_indices, thread, loops_.add(loops_.multiply(line, pass.count), in_line));
  });
}

void KernelSort::move(const Pass& pass) {
  const NodeId half = b_.index(tile());
  const NodeId zero = b_.index(0);
  const NodeId one = b_.index(1);
  Tile common;
  const auto at_top = [&] {
    common = make_tile();
    return Nodes{kernels_.shared(tile(), DType::UInt16),
                 kernels_.shared(int64_t{1} << digit_bits(), DType::Int64)};
  };
  each_tile(pass, at_top, [&](auto thread, auto line, auto own, auto first, auto count, auto& shared) {
    const NodeId found = shared[0];
    const NodeId indices = shared[1];
    iterations_of(thread, count, [&](NodeId k) {
      store(found, k, digit_at(pass, loops_.add(first, k)));
      store(common.order, k, k);
    });
    place_digits(pass, thread, line, own, common.sums, indices);
    kernels_.barrier();
    const auto digit_of = [&](NodeId named) { return load_index(found, named); };
    split(common, thread, count, zero, half,
          [&](NodeId named) { return loops_.both(digit_of(named), b_.index(kBins - 1)); });
    split(common, thread, count, half, zero,
          [&](NodeId named) { return b_.make(Op::right_shift, {digit_of(named), b_.index(kSplitBits)}); });
    // The first element of a digit subtracts its own index in the tile.
    iterations_of(thread, count, [&](NodeId k) {
      const NodeId digit = digit_of(load_index(common.order, k));
      const NodeId last = loops_.select(loops_.equal(k, zero), zero, loops_.subtract(k, one));
      const NodeId before = digit_of(load_index(common.order, last));
      const NodeId is_first =
          loops_.either(loops_.equal(k, zero), loops_.negate(loops_.equal(before, digit)));
      kernels_.when(is_first, [&] { store(indices, digit, loops_.subtract(load(indices, digit), k)); });
    });
    kernels_.barrier();
    iterations_of(thread, count, [&](NodeId k) {
      const NodeId named = load_index(common.order, k);
      const NodeId from = loops_.add(first, named);
      const NodeId to = loops_.add(load(indices, digit_of(named)), k);
      for (size_t i = 0; i < pass.views.size(); i += 3)
        store(pass.views[i + 1], to, load(pass.views[i], from));
    });
    kernels_.barrier();
  });
}

}  // namespace ingot::transform
