#include "transform/kernels/digit_sweeps.h"

#include <algorithm>
#include <bit>

namespace ingot::transform {

namespace {

/// Elements of a tile, for each thread of a block, at most, of up to 4 bytes and of 8, so that registers hold
/// them where a processor has three blocks; bytes that a block has for them.
constexpr int64_t kIterations = 20;
constexpr int64_t kWideIterations = 14;
constexpr int64_t kTileBytes = 32 << 10;
/// Of a word: the number, and above it the state.
constexpr uint32_t kStateShift = 30;
constexpr uint32_t kNumber = (uint32_t{1} << kStateShift) - 1;
/// A register has two numbers, one above the other: a rank and the number of a counter or a digit.
constexpr uint32_t kShift = 16;
constexpr uint32_t kLow = (uint32_t{1} << kShift) - 1;
/// Of a plan: which half elements go to, whether they stay, and above that the bits that keys are shifted by.
constexpr int64_t kStays = 2;
constexpr int64_t kPlanBits = 2;
/// Where digits are counted: elements that a thread loads before it waits for the first, blocks at most.
constexpr int64_t kAtOnce = 8;
constexpr int64_t kMostBlocks = 1 << 10;
constexpr int64_t kMostAtOnce = 1 << 16;

}  // namespace

DigitSweeps::DigitSweeps(KernelWriter& kernels, LoopWriter& loops, const KeyLines& what, const SortKey& key)
    : kernels_(kernels),
      loops_(loops),
      b_(loops.builder()),
      what_(what),
      key_(key),
      dtype_(b_.function().type(what.keys).dtype()),
      scan_(kernels, loops, {{Op::add, DType::UInt32, base::Scalar{}}}),
      sums_(kernels, loops, {{Op::add, DType::Int64, base::Scalar{}}}),
      published_(kernels, loops, DType::UInt32) {
  const auto size = static_cast<int64_t>(base::size_of(dtype_));
  most_digits_ = (8 * size + digit_bits() - 1) / digit_bits();
  const int64_t fitting = kTileBytes / (kernels_.block_threads() * (what.order ? 8 : size));
  iterations_ = std::clamp<int64_t>(fitting, 1, size > 4 ? kWideIterations : kIterations);
}

bool DigitSweeps::are_possible(KernelWriter& kernels) {
  const int64_t threads = kernels.block_threads();
  return kernels.may_look_back() && std::has_single_bit(static_cast<uint64_t>(threads)) &&
         threads <= int64_t{1} << kMostDigitBits;
}

int64_t DigitSweeps::digit_bits() const { return std::countr_zero(static_cast<uint64_t>(bins())); }

void DigitSweeps::write() {
  const NodeId one = b_.index(1);
  all_ = what_.elements(loops_);
  tiles_ = loops_.ceiling(what_.count, b_.index(tile_size()));
  is_long_ = loops_.less(b_.index(kNumber), what_.count);
  const NodeId rows = loops_.multiply(what_.lines, what_.digits);
  const NodeId numbers = loops_.multiply(rows, b_.index(bins()));
  starts_ = loops_.new_view({&numbers, 1}, DType::Int64);
  b_.make(Op::clear, {b_.make(Op::buffer, {starts_})});
  plans_ = loops_.new_view({&rows, 1}, DType::UInt16);
  const NodeId halves = loops_.minimum(loops_.subtract(what_.digits, one), b_.index(2));
  const NodeId length = loops_.multiply(all_, halves);
  keys_ = loops_.new_view({&length, 1}, dtype_);
  if (what_.order) order_ = loops_.new_view({&length, 1}, DType::Int64);
  const NodeId words = loops_.multiply(loops_.multiply(what_.lines, tiles_), b_.index(bins()));
  published_.allocate(loops_.multiply(words, loops_.select(is_long_, b_.index(2), one)));
  count_digits();
  add_digits();
  loops_.nest({&what_.digits, 1}, [&](std::span<const NodeId> step) { write_sweep(step[0]); });
}

NodeId DigitSweeps::lowest_digit(NodeId bits, NodeId shift) {
  const NodeId rest = b_.cast(b_.make(Op::right_shift, {bits, shift}), DType::UInt32);
  return loops_.both(rest, u32(static_cast<uint32_t>(bins() - 1)));
}

NodeId DigitSweeps::digit_of(NodeId element, const Digit& digit) {
  return b_.make(Op::bitwise_xor, {lowest_digit(key_.of(element), digit.shift), digit.flipped});
}

/// Several blocks a line, each of which has bins of its own.
void DigitSweeps::count_digits() {
  const NodeId zero = b_.index(0);
  const NodeId one = b_.index(1);
  const NodeId threads = b_.index(kernels_.block_threads());
  const NodeId size = b_.index(kAtOnce * kernels_.block_threads());
  const NodeId chunks = loops_.ceiling(what_.count, size);
  const NodeId share = b_.make(Op::floor_divide, {b_.index(kMostBlocks), loops_.maximum(what_.lines, one)});
  const NodeId parts = loops_.maximum(loops_.minimum(loops_.ceiling(chunks, b_.index(2)), share), one);
  const NodeId all = loops_.multiply(what_.lines, parts);
  const NodeId at_once = loops_.minimum(all, b_.index(kMostAtOnce));
  const NodeId numbers = loops_.multiply(what_.digits, b_.index(bins()));
  kernels_.blocks(at_once, [&](NodeId block, NodeId thread) {
    const NodeId found = kernels_.shared(most_digits_ * bins(), DType::UInt32);
    kernels_.strided(block, all, at_once, [&](NodeId number) {
      const NodeId line = b_.make(Op::floor_divide, {number, parts});
      kernels_.strided(thread, numbers, threads, [&](NodeId k) { store(found, k, u32(0)); });
      kernels_.barrier();
      kernels_.strided(b_.make(Op::fmod, {number, parts}), chunks, parts, [&](NodeId chunk) {
        count_chunk(found, line, loops_.add(loops_.multiply(chunk, size), thread));
      });
      kernels_.barrier();
      const NodeId first = loops_.multiply(line, numbers);
      kernels_.strided(thread, numbers, threads, [&](NodeId k) {
        const NodeId counted = index(load(found, k));
        kernels_.when(loops_.less(zero, counted), [&] {
          kernels_.atomic(Op::add, ir::Scope::Device, {starts_, loops_.add(first, k), counted});
        });
      });
      kernels_.barrier();
    });
  });
}

/// The elements of a thread, the first of which is at an index of a line.
void DigitSweeps::count_chunk(NodeId found, NodeId line, NodeId first) {
  const NodeId begin = loops_.multiply(line, what_.count);
  const auto at = [&](int64_t i) { return loops_.add(first, b_.index(i * kernels_.block_threads())); };
  const auto at_once = [&] {
    Nodes elements;
    for (int64_t i = 0; i < kAtOnce; ++i) elements.push_back(load(what_.keys, loops_.add(begin, at(i))));
    for (const NodeId element : elements) count_element(found, element);
    return Nodes();
  };
  const auto one_by_one = [&] {
    kernels_.strided(first, what_.count, b_.index(kernels_.block_threads()),
                     [&](NodeId k) { count_element(found, load(what_.keys, loops_.add(begin, k))); });
    return Nodes();
  };
  loops_.branch(loops_.less(at(kAtOnce - 1), what_.count), {}, at_once, one_by_one);
}

void DigitSweeps::count_element(NodeId found, NodeId element) {
  const auto count = [&](NodeId step) {
    const NodeId first = loops_.multiply(step, b_.index(bins()));
    const NodeId shift = b_.cast(shift_of(step), dtype_);
    const NodeId digit = digit_of(element, {shift, lowest_digit(key_.flipped, shift)});
    const NodeId bin = loops_.add(first, index(digit));
    kernels_.atomic(Op::add, ir::Scope::Block, {found, bin, u32(1)});
  };
  if (!b_.function().is_constant(what_.digits))
    return loops_.nest({&what_.digits, 1}, [&](std::span<const NodeId> step) { count(step[0]); });
  for (int64_t step = 0; step < b_.function().constant(what_.digits).as<int64_t>(); ++step)
    count(b_.index(step));
}

/// A block for each line, in which a warp adds up what there is of one digit.
void DigitSweeps::add_digits() {
  const NodeId at_once = loops_.minimum(what_.lines, b_.index(kMostAtOnce));
  kernels_.blocks(at_once, [&](NodeId block, NodeId thread) {
    const NodeId are_same = kernels_.shared(most_digits_, DType::UInt8);
    const NodeId lane = loops_.both(thread, b_.index(KernelWriter::kWarp - 1));
    const NodeId warp = b_.make(Op::floor_divide, {thread, b_.index(KernelWriter::kWarp)});
    kernels_.strided(block, what_.lines, at_once, [&](NodeId line) {
      kernels_.strided(warp, what_.digits, b_.index(warps()),
                       [&](NodeId step) { add_digit(line, step, lane, are_same); });
      kernels_.barrier();
      kernels_.when(loops_.equal(thread, b_.index(0)), [&] { plan(line, are_same); });
      kernels_.barrier();
    });
  });
}

void DigitSweeps::add_digit(NodeId line, NodeId step, NodeId lane, NodeId are_same) {
  const int64_t own = bins() / KernelWriter::kWarp;
  const NodeId row = loops_.add(loops_.multiply(line, what_.digits), step);
  const NodeId first =
      loops_.add(loops_.multiply(row, b_.index(bins())), loops_.multiply(lane, b_.index(own)));
  const auto at = [&](int64_t i) { return loops_.add(first, b_.index(i)); };
  Nodes counts;
  for (int64_t i = 0; i < own; ++i) counts.push_back(load(starts_, at(i)));
  NodeId sum = b_.index(0);
  NodeId has_all = loops_.truth(false);
  for (const NodeId count : counts) {
    sum = loops_.add(sum, count);
    has_all = loops_.either(has_all, loops_.equal(count, what_.count));
  }
  NodeId before = sums_.scan_warp(lane, {sum}).before[0];
  for (int64_t i = 0; i < own; ++i) {
    store(starts_, at(i), before);
    before = loops_.add(before, counts[static_cast<size_t>(i)]);
  }
  const NodeId is_same = kernels_.vote(ir::Question::Any, has_all);
  kernels_.when(loops_.equal(lane, b_.index(0)),
                [&] { store(are_same, step, b_.cast(is_same, DType::UInt8)); });
}

/// A digit that is the same in all keys of a line moves none of it; but for the first one, since elements
/// that are sorted stay, and the last one, which moves them to where they belong.
void DigitSweeps::plan(NodeId line, NodeId are_same) {
  const NodeId zero = b_.index(0);
  const NodeId one = b_.index(1);
  const NodeId last = loops_.subtract(what_.digits, one);
  loops_.loop(what_.digits, {&zero, 1}, [&](std::span<const NodeId> step, std::span<const NodeId> half) {
    const NodeId is_same = loops_.less(zero, index(load(are_same, step[0])));
    const NodeId is_between = loops_.both(loops_.less(zero, step[0]), loops_.less(step[0], last));
    const NodeId stays = loops_.both(is_same, is_between);
    const NodeId flags = loops_.add(half[0], loops_.select(stays, b_.index(kStays), zero));
    const NodeId plan = loops_.add(flags, loops_.multiply(shift_of(step[0]), b_.index(1 << kPlanBits)));
    const NodeId row = loops_.add(loops_.multiply(line, what_.digits), step[0]);
    store(plans_, row, b_.cast(plan, DType::UInt16));
    return Nodes{loops_.select(stays, half[0], loops_.subtract(one, half[0]))};
  });
}

void DigitSweeps::write_sweep(NodeId step) {
  const auto choose = [&](NodeId condition, NodeId a, NodeId b) {
    const auto give = [](NodeId view) { return [view] { return Nodes{view}; }; };
    return loops_.branch(condition, {b_.function().type(b)}, give(a), give(b))[0];
  };
  Sweep sweep;
  sweep.step = step;
  sweep.is_first = loops_.equal(step, b_.index(0));
  sweep.is_last = loops_.equal(step, loops_.subtract(what_.digits, b_.index(1)));
  sweep.flipped = lowest_digit(key_.flipped, b_.cast(shift_of(step), dtype_));
  sweep.keys_from = choose(sweep.is_first, what_.keys, keys_);
  sweep.keys_to = what_.sorted ? choose(sweep.is_last, what_.sorted, keys_) : keys_;
  if (what_.order) sweep.order_to = choose(sweep.is_last, what_.order, order_);
  kernels_.blocks(loops_.multiply(what_.lines, tiles_), [&](NodeId, NodeId number) {
    const Shared shared = place();
    Thread own = begin(sweep, number, shared);
    kernels_.when(loops_.negate(own.stays), [&] {
      const NodeId zero = b_.index(0);
      const NodeId from = loops_.select(sweep.is_first, zero, loops_.subtract(b_.index(1), own.half));
      sort_tile(own, half_of(sweep.keys_from, from));
      const NodeId to = loops_.select(sweep.is_last, zero, own.half);
      Views views{half_of(sweep.keys_to, to, own.number), {}, {}};
      if (what_.order) views.order_from = half_of(order_, from);
      if (what_.order) views.order_to = half_of(sweep.order_to, to, own.number);
      const auto move = [&](bool is_whole) { return move_tile(own, sweep, views, is_whole), Nodes(); };
      loops_.branch(is_whole(own), {}, [&] { return move(true); }, [&] { return move(false); });
    });
  });
}

DigitSweeps::Shared DigitSweeps::place() {
  published_.place();
  Shared shared;
  shared.counters = kernels_.shared(warps() * bins(), DType::UInt32);
  shared.keys = kernels_.shared(tile_size(), what_.order ? DType::Int64 : dtype_);
  shared.starts = kernels_.shared(bins(), DType::Int64);
  shared.places = scan_.places();
  if (!what_.order) return shared;
  shared.order = shared.keys;
  const NodeId length = b_.index(tile_size());
  shared.keys = loops_.c_view(b_.make(Op::buffer, {shared.order}), b_.index(0), {&length, 1}, dtype_);
  return shared;
}

DigitSweeps::Thread DigitSweeps::begin(const Sweep& sweep, NodeId number, const Shared& shared) {
  Thread own;
  own.shared = shared;
  own.step = sweep.step;
  own.number = number;
  own.lane = loops_.both(number, b_.index(KernelWriter::kWarp - 1));
  own.warp = b_.make(Op::floor_divide, {number, b_.index(KernelWriter::kWarp)});
  // The counter goes on from sweep to sweep.
  const NodeId taken = loops_.multiply(own.step, loops_.multiply(what_.lines, tiles_));
  own.tile = loops_.subtract(published_.take(number), taken);
  own.line = b_.index(0);
  NodeId in_line = own.tile;
  if (!b_.function().is_constant(what_.lines, 1)) {
    const NodeId tile = b_.cast(own.tile, DType::UInt32);
    const NodeId tiles = b_.cast(tiles_, DType::UInt32);
    own.line = index(b_.make(Op::floor_divide, {tile, tiles}));
    in_line = loops_.subtract(own.tile, loops_.multiply(own.line, tiles_));
  }
  own.first = loops_.multiply(in_line, b_.index(tile_size()));
  const NodeId left = loops_.subtract(what_.count, own.first);
  own.count = b_.cast(loops_.minimum(b_.index(tile_size()), left), DType::UInt32);
  const NodeId row = loops_.add(loops_.multiply(own.line, what_.digits), own.step);
  const NodeId plan = index(load(plans_, row));
  // So no shift is by more bits than there are, which compilers see.
  const NodeId shift = loops_.both(b_.make(Op::right_shift, {plan, b_.index(kPlanBits)}),
                                   b_.index(static_cast<int64_t>(8 * base::size_of(dtype_) - 1)));
  own.digit = {b_.cast(shift, dtype_), sweep.flipped};
  own.half = loops_.both(plan, b_.index(1));
  own.stays = b_.make(Op::not_equal, {loops_.both(plan, b_.index(kStays)), b_.index(0)});
  return own;
}

NodeId DigitSweeps::half_of(NodeId both, NodeId half, NodeId from) {
  const DType dtype = b_.function().type(both).dtype();
  const NodeId size = b_.index(static_cast<int64_t>(base::size_of(dtype)));
  NodeId first = loops_.add(b_.make(Op::offset, {both}), loops_.multiply(half, loops_.multiply(all_, size)));
  if (from) first = loops_.add(first, loops_.multiply(from, size));
  return loops_.c_view(b_.make(Op::buffer, {both}), first, {&all_, 1}, dtype);
}

/// Neighbouring lanes have neighbours, and a warp has all that is before those of the next one.
NodeId DigitSweeps::first_in_tile(const Thread& own) {
  return loops_.add(loops_.multiply(own.warp, b_.index(KernelWriter::kWarp * iterations_)), own.lane);
}

/// Of each iteration of a thread the element of a view; beyond the end `other`.
Nodes DigitSweeps::load_tile(const Thread& own, NodeId from, NodeId other, bool is_whole) {
  const NodeId in_tile = first_in_tile(own);
  const NodeId k = b_.cast(in_tile, DType::UInt32);
  const NodeId line = loops_.multiply(own.line, what_.count);
  const NodeId first = loops_.add(loops_.add(line, own.first), in_tile);
  Nodes elements;
  for (int64_t i = 0; i < iterations_; ++i) {
    const int64_t further = i * KernelWriter::kWarp;
    const auto element = [&] { return Nodes{load(from, loops_.add(first, b_.index(further)))}; };
    if (is_whole) {
      elements.push_back(element()[0]);
      continue;
    }
    const NodeId is_there = loops_.less(loops_.add(k, u32(static_cast<uint32_t>(further))), own.count);
    elements.push_back(
        loops_.branch(is_there, {b_.function().type(other)}, element, [&] { return Nodes{other}; })[0]);
  }
  return elements;
}

/// Leaves the tile sorted in the block's memory, and where each digit goes.
void DigitSweeps::sort_tile(Thread& own, NodeId from) {
  const std::vector<Type> types(static_cast<size_t>(iterations_), Type::scalar(dtype_));
  const auto load_all = [&](bool is_whole) { return load_tile(own, from, key_.last, is_whole); };
  // Only digits are in registers while they are ranked.
  const Nodes keys =
      loops_.branch(is_whole(own), types, [&] { return load_all(true); }, [&] { return load_all(false); });
  for (size_t i = 0; i < keys.size(); ++i) {
    store(own.shared.keys, own_place(own, i), keys[i]);
    own.digits.push_back(digit_of(keys[i], own.digit));
  }
  rank_in_warp(own);
  find_starts(own);
  kernels_.barrier();
}

/// How many elements of the warp have the same digit and are before each.
void DigitSweeps::rank_in_warp(Thread& own) {
  const NodeId counters = own.shared.counters;
  const NodeId first = loops_.multiply(own.warp, b_.index(bins()));
  const NodeId of_lane = loops_.add(first, own.lane);
  for (int64_t k = 0; k < bins(); k += KernelWriter::kWarp)
    store(counters, loops_.add(of_lane, b_.index(k)), u32(0));
  kernels_.warp_barrier();
  const NodeId bit = b_.make(Op::left_shift, {u32(1), b_.cast(own.lane, DType::UInt32)});
  const NodeId lower = loops_.subtract(bit, u32(1));
  const auto count = [&](NodeId lanes) { return b_.make(Op::bitwise_count, {lanes}); };
  for (const NodeId digit : own.digits) {
    const NodeId peers = kernels_.peers(digit, digit_bits());
    const NodeId at = loops_.add(first, index(digit));
    const NodeId before = load(counters, at);
    const NodeId lanes_before = count(loops_.both(peers, lower));
    kernels_.warp_barrier();
    kernels_.when(loops_.equal(lanes_before, u32(0)),
                  [&] { store(counters, at, loops_.add(before, count(peers))); });
    kernels_.warp_barrier();
    const NodeId high = b_.make(Op::left_shift, {b_.cast(at, DType::UInt32), u32(kShift)});
    own.ranks.push_back(loops_.either(loops_.add(before, lanes_before), high));
  }
}

/// A thread has the digit of its number.
void DigitSweeps::find_starts(Thread& own) {
  kernels_.barrier();
  const auto at = [&](int64_t warp) { return loops_.add(own.number, b_.index(warp * bins())); };
  Nodes counts;
  NodeId all = u32(0);
  for (int64_t warp = 0; warp < warps(); ++warp) {
    counts.push_back(load(own.shared.counters, at(warp)));
    all = loops_.add(all, counts.back());
  }
  // What is beyond the end has the last digit.
  const NodeId missing = loops_.subtract(u32(static_cast<uint32_t>(tile_size())), own.count);
  const NodeId is_last = loops_.equal(own.number, b_.index(bins() - 1));
  const NodeId counted = index(loops_.subtract(all, loops_.select(is_last, missing, u32(0))));
  const NodeId is_first = loops_.equal(own.first, b_.index(0));
  publish(own, loops_.select(is_first, u32(OfAll), u32(OfTile)), counted);
  const NodeId in_tile = scan_.scan(own.shared.places, own.number, {all}).before[0];
  NodeId start = in_tile;
  for (int64_t warp = 0; warp < warps(); ++warp) {
    store(own.shared.counters, at(warp), start);
    start = loops_.add(start, counts[static_cast<size_t>(warp)]);
  }
  Nodes keys;
  for (size_t i = 0; i < own.ranks.size(); ++i) keys.push_back(load(own.shared.keys, own_place(own, i)));
  kernels_.barrier();
  for (size_t i = 0; i < keys.size(); ++i) {
    const NodeId counter = index(b_.make(Op::right_shift, {own.ranks[i], u32(kShift)}));
    const NodeId in_warp = loops_.both(own.ranks[i], u32(kLow));
    own.ranks[i] = loops_.add(in_warp, load(own.shared.counters, counter));
    store(own.shared.keys, index(own.ranks[i]), keys[i]);
  }
  const NodeId before = look_back(own);
  kernels_.when(loops_.negate(is_first), [&] { publish(own, u32(OfAll), loops_.add(before, counted)); });
  const NodeId row = loops_.add(loops_.multiply(own.line, what_.digits), own.step);
  const NodeId in_line = load(starts_, loops_.add(loops_.multiply(row, b_.index(bins())), own.number));
  const NodeId first = loops_.add(loops_.multiply(own.line, what_.count), loops_.add(in_line, before));
  store(own.shared.starts, own.number, loops_.subtract(first, index(in_tile)));
}

/// What the sweep before has left is missing in this one: its last state is the first one of a sweep that
/// begins in the other half.
NodeId DigitSweeps::code_of(const Thread& own, NodeId state) {
  const NodeId turn = loops_.multiply(b_.cast(own.half, DType::UInt32), u32(OfAll));
  return loops_.both(loops_.add(state, turn), u32(3));
}

void DigitSweeps::publish(const Thread& own, NodeId state, NodeId number) {
  const NodeId high = b_.make(Op::left_shift, {code_of(own, state), u32(kStateShift)});
  const auto word = [&](NodeId part) {
    return loops_.either(high, loops_.both(b_.cast(part, DType::UInt32), u32(kNumber)));
  };
  const NodeId at = loops_.add(loops_.multiply(own.tile, b_.index(bins())), own.number);
  published_.publish(at, word(number));
  kernels_.when(is_long_, [&] {
    const NodeId more = b_.make(Op::right_shift, {number, b_.index(kStateShift)});
    published_.publish(loops_.add(at, words_of_all()), word(more));
  });
}

NodeId DigitSweeps::words_of_all() {
  return loops_.multiply(loops_.multiply(what_.lines, tiles_), b_.index(bins()));
}

/// How many elements of a digit are in the tiles before, in the line: each thread goes back from tile to
/// tile, up to one that has published what all before it have, too.
NodeId DigitSweeps::look_back(const Thread& own) {
  const NodeId bins = b_.index(this->bins());
  const NodeId at = loops_.add(loops_.multiply(own.tile, bins), own.number);
  const Nodes start{loops_.less(b_.index(0), own.first), loops_.subtract(at, bins), b_.index(0)};
  const auto goes_on = [](std::span<const NodeId> now) { return Nodes{now[0], now[0], now[1], now[2]}; };
  return loops_.repeat(start, goes_on, [&](std::span<const NodeId> now) {
    const NodeId low = published_.look(now[1]);
    const NodeId high = loops_.branch(
        is_long_, {b_.function().type(low)},
        [&] { return Nodes{published_.look(loops_.add(now[1], words_of_all()))}; },
        [&] { return Nodes{loops_.both(low, u32(~kNumber))}; })[0];
    const auto code = [&](NodeId word) { return b_.make(Op::right_shift, {word, u32(kStateShift)}); };
    const auto number = [&](NodeId word) { return index(loops_.both(word, u32(kNumber))); };
    const NodeId state = code_of(own, code(low));
    const NodeId is_there =
        loops_.both(loops_.equal(code(low), code(high)), b_.make(Op::not_equal, {state, u32(Missing)}));
    kernels_.when(loops_.negate(is_there), [&] { published_.pause(); });
    const NodeId more = b_.make(Op::left_shift, {number(high), b_.index(kStateShift)});
    const NodeId counted = loops_.either(number(low), more);
    const NodeId is_end = loops_.both(is_there, loops_.equal(state, u32(OfAll)));
    return Nodes{loops_.negate(is_end), loops_.select(is_there, loops_.subtract(now[1], bins), now[1]),
                 loops_.select(is_there, loops_.add(now[2], counted), now[2])};
  })[2];
}

NodeId DigitSweeps::is_whole(const Thread& own) {
  return loops_.equal(own.count, u32(static_cast<uint32_t>(tile_size())));
}

/// A place of a thread in the block's memory of a tile.
NodeId DigitSweeps::own_place(const Thread& own, size_t iteration) {
  return loops_.add(own.number, b_.index(static_cast<int64_t>(iteration) * kernels_.block_threads()));
}

/// The places of a thread in the sorted tile, and where in all lines what is there goes. All of a whole tile
/// are known before the first is stored. `moves`: whether any are.
void DigitSweeps::each_sorted(const Thread& own, NodeId from,
                              const std::function<NodeId(size_t, NodeId)>& digit, NodeId to, NodeId moves,
                              bool is_whole) {
  const NodeId number = b_.cast(own.number, DType::UInt32);
  std::vector<Nodes> moved;
  for (size_t i = 0; i < own.ranks.size(); ++i) {
    const NodeId value = load(from, own_place(own, i));
    const NodeId start = load(own.shared.starts, index(digit(i, value)));
    moved.push_back({loops_.add(start, b_.index(static_cast<int64_t>(i) * kernels_.block_threads())), value});
  }
  const auto move_all = [&] {
    for (size_t i = 0; i < moved.size(); ++i) {
      const auto move = [&] { store(to, moved[i][0], moved[i][1]); };
      const auto first = static_cast<uint32_t>(i) * static_cast<uint32_t>(kernels_.block_threads());
      if (is_whole) move();
      else kernels_.when(loops_.less(loops_.add(number, u32(first)), own.count), move);
    }
  };
  loops_.when(moves, move_all);
}

/// After `sort_tile`: elements, then indices go from the sorted tile to where they belong.
void DigitSweeps::move_tile(const Thread& own, const Sweep& sweep, const Views& views, bool is_whole) {
  Nodes digits;
  const auto find = [&](size_t, NodeId key) {
    digits.push_back(digit_of(key, own.digit));
    return digits.back();
  };
  const NodeId moves_keys = what_.sorted ? loops_.truth(true) : loops_.negate(sweep.is_last);
  each_sorted(own, own.shared.keys, find, views.keys_to, moves_keys, is_whole);
  if (!what_.order) return;
  const NodeId first = loops_.add(own.first, first_in_tile(own));
  const std::vector<Type> types(own.ranks.size(), ir::kInt64);
  const auto count_up = [&] {
    Nodes all;
    for (int64_t i = 0; i < iterations_; ++i)
      all.push_back(loops_.add(first, b_.index(i * KernelWriter::kWarp)));
    return all;
  };
  const Nodes indices = loops_.branch(sweep.is_first, types, count_up, [&] {
    return load_tile(own, views.order_from, b_.index(0), is_whole);
  });
  kernels_.barrier();
  for (size_t i = 0; i < indices.size(); ++i) store(own.shared.order, index(own.ranks[i]), indices[i]);
  kernels_.barrier();
  const auto known = [&](size_t i, NodeId) { return digits[i]; };
  each_sorted(own, own.shared.order, known, views.order_to, loops_.truth(true), is_whole);
}

}  // namespace ingot::transform
