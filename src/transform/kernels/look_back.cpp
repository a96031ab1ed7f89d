#include "transform/kernels/look_back.h"

#include <algorithm>

namespace ingot::transform {

namespace {

constexpr int64_t kCacheLine = 128;
constexpr int64_t kStateShift = 32;
/// Nanoseconds until a warp looks again.
constexpr int32_t kPause = 64;

constexpr auto kDevice = static_cast<int64_t>(ir::Scope::Device);
constexpr auto kRelaxed = static_cast<int64_t>(ir::Order::Relaxed);

DType word_of(DType dtype) {
  const size_t size = base::size_of(dtype);
  return size == 1 ? DType::UInt8 : size == 2 ? DType::UInt16 : DType::UInt32;
}

}  // namespace

PublishedTiles::PublishedTiles(KernelWriter& kernels, LoopWriter& loops, DType word)
    : kernels_(kernels),
      loops_(loops),
      b_(loops.builder()),
      dtype_(word),
      first_(kCacheLine / static_cast<int64_t>(base::size_of(word))) {}

void PublishedTiles::allocate(NodeId words) {
  const NodeId all = loops_.add(b_.index(first_), words);
  words_ = loops_.new_view({&all, 1}, dtype_);
  b_.make(Op::clear, {b_.make(Op::buffer, {words_})});
}

NodeId PublishedTiles::take(NodeId thread) {
  const NodeId zero = b_.index(0);
  kernels_.when(loops_.equal(thread, zero), [&] {
    const NodeId one = b_.cast(b_.index(1), dtype_);
    const NodeId taken =
        b_.make(Op::atomic, {words_, zero, one}, {static_cast<int64_t>(Op::add), kDevice, kRelaxed});
    loops_.store(number_, {&zero, 1}, b_.cast(taken, DType::Int64));
  });
  kernels_.barrier();
  return loops_.load(number_, {&zero, 1});
}

void PublishedTiles::publish(NodeId at, NodeId word) {
  b_.make(Op::atomic_store, {words_, position(at), word}, {kDevice, kRelaxed});
}

NodeId PublishedTiles::look(NodeId at) {
  return b_.make(Op::atomic_load, {words_, position(at)}, {kDevice, kRelaxed});
}

void PublishedTiles::pause() { b_.make(Op::nanosleep, {b_.constant(kPause)}); }

LookBack::LookBack(KernelWriter& kernels, LoopWriter& loops, BlockScan& scan, Order order)
    : kernels_(kernels),
      loops_(loops),
      b_(loops.builder()),
      scan_(scan),
      order_(order),
      published_(kernels, loops, DType::UInt64) {
  for (const BlockScan::Slot& slot : scan_.slots()) {
    const size_t words = std::max<size_t>(base::size_of(slot.dtype) / sizeof(uint32_t), 1);
    words_of_.push_back(static_cast<int64_t>(words));
    words_ += words_of_.back();
  }
}

void LookBack::allocate(NodeId tiles) {
  tiles_ = tiles;
  NodeId rows = tiles;
  if (order_ == Order::Fixed) rows = loops_.add(rows, loops_.ceiling(tiles, b_.index(KernelWriter::kWarp)));
  published_.allocate(loops_.multiply(rows, b_.index(words_)));
}

void LookBack::place() {
  published_.place();
  found_ = scan_.shared(1);
  values_ = scan_.shared(KernelWriter::kWarp);
  bits_.clear();
  for (size_t i = 0; i < values_.size(); ++i) {
    const NodeId length = b_.index(KernelWriter::kWarp * words_of_[i]);
    const NodeId stride = b_.index(static_cast<int64_t>(base::size_of(word_of(scan_.slots()[i].dtype))));
    bits_.push_back(loops_.view(b_.make(Op::buffer, {values_[i]}), b_.index(0), {&length, 1}, {&stride, 1},
                                Type::view(word_of(scan_.slots()[i].dtype), 1, ir::Space::Shared)));
  }
}

Nodes LookBack::before(NodeId tile, NodeId thread, const Nodes& own, const Nodes& inits) {
  const NodeId zero = b_.index(0);
  const NodeId is_first = loops_.equal(tile, zero);
  kernels_.when(loops_.less(thread, b_.index(KernelWriter::kWarp)), [&] {
    const NodeId is_one = loops_.equal(thread, zero);
    const auto others = [&](const std::function<Nodes()>& look) {
      return loops_.branch(is_first, scan_.types(), [&] { return inits; }, look);
    };
    if (order_ == Order::Fixed) {
      kernels_.when(is_one, [&] { publish(tile, thread, word(OfTile), own); });
      const Nodes found = others([&] { return look_into_group(tile, thread, inits); });
      const NodeId group = b_.make(Op::floor_divide, {tile, b_.index(KernelWriter::kWarp)});
      const NodeId begins = loops_.equal(loops_.multiply(group, b_.index(KernelWriter::kWarp)), tile);
      kernels_.when(loops_.both(is_one, begins),
                    [&] { publish(loops_.add(tiles_, group), thread, word(OfAll), found); });
      kernels_.when(is_one, [&] { scan_.store_all(found_, zero, found); });
      return;
    }
    const Nodes all = scan_.combine(inits, own);
    Nodes given;
    for (size_t i = 0; i < own.size(); ++i) given.push_back(loops_.select(is_first, all[i], own[i]));
    kernels_.when(is_one,
                  [&] { publish(tile, thread, loops_.select(is_first, word(OfAll), word(OfTile)), given); });
    const Nodes found = others([&] { return look_back(tile, thread); });
    kernels_.when(is_one, [&] {
      kernels_.when(loops_.negate(is_first),
                    [&] { publish(tile, thread, word(OfAll), scan_.combine(found, own)); });
      scan_.store_all(found_, zero, found);
    });
  });
  kernels_.barrier();
  return scan_.load_all(found_, zero);
}

NodeId LookBack::position(NodeId row, int64_t word) {
  return loops_.add(loops_.multiply(row, b_.index(words_)), b_.index(word));
}

void LookBack::publish(NodeId row, NodeId lane, NodeId state, const Nodes& values) {
  const NodeId high = b_.make(Op::left_shift, {state, word(kStateShift)});
  scan_.store_all(values_, lane, values);
  int64_t number = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    for (int64_t k = 0; k < words_of_[i]; ++k) {
      const NodeId at = loops_.add(loops_.multiply(lane, b_.index(words_of_[i])), b_.index(k));
      const NodeId low = b_.cast(loops_.load(bits_[i], {&at, 1}), DType::UInt64);
      published_.publish(position(row, number++), loops_.either(high, low));
    }
  }
}

/// The words of a row, when those of all lanes' rows are there.
Nodes LookBack::wait_for(NodeId row) {
  Nodes start{loops_.truth(true)};
  start.insert(start.end(), static_cast<size_t>(words_), word(0));
  const auto misses = [](std::span<const NodeId> now) {
    Nodes all{now[0]};
    all.insert(all.end(), now.begin(), now.end());
    return all;
  };
  const Nodes end = loops_.repeat(start, misses, [&](std::span<const NodeId>) {
    Nodes words;
    for (int64_t k = 0; k < words_; ++k) words.push_back(published_.look(position(row, k)));
    const auto state = [&](NodeId of) { return b_.make(Op::right_shift, {of, word(kStateShift)}); };
    const NodeId first = state(words[0]);
    NodeId is_there = b_.make(Op::not_equal, {first, word(Missing)});
    for (int64_t k = 1; k < words_; ++k)
      is_there = loops_.both(is_there, loops_.equal(state(words[static_cast<size_t>(k)]), first));
    const NodeId any_misses = kernels_.vote(ir::Question::Any, loops_.negate(is_there));
    kernels_.when(any_misses, [&] { published_.pause(); });
    Nodes next{any_misses};
    next.insert(next.end(), words.begin(), words.end());
    return next;
  });
  return {end.begin() + 1, end.end()};
}

Nodes LookBack::values_of(NodeId lane, const Nodes& words) {
  size_t number = 0;
  for (size_t i = 0; i < bits_.size(); ++i) {
    for (int64_t k = 0; k < words_of_[i]; ++k) {
      const NodeId at = loops_.add(loops_.multiply(lane, b_.index(words_of_[i])), b_.index(k));
      loops_.store(bits_[i], {&at, 1}, b_.cast(words[number++], word_of(scan_.slots()[i].dtype)));
    }
  }
  return scan_.load_all(values_, lane);
}

/// The values of all lanes, the last lane's first, in all of them.
Nodes LookBack::fold_warp(Nodes values) {
  for (int32_t step = 1; step < KernelWriter::kWarp; step *= 2) {
    Nodes left;
    for (const NodeId value : values) left.push_back(kernels_.shuffle(ir::Source::Down, value, step));
    values = scan_.combine(left, values);
  }
  for (NodeId& value : values) value = kernels_.shuffle(ir::Source::Index, value, 0);
  return values;
}

/// The lanes of a warp have the tiles of the group, the first lane the last tile, with identities for those
/// that are not before this one; before the first tile of a group they have all of the group before.
Nodes LookBack::look_into_group(NodeId tile, NodeId lane, const Nodes& inits) {
  const NodeId size = b_.index(KernelWriter::kWarp);
  const NodeId last = loops_.subtract(tile, b_.index(1));
  const NodeId group = b_.make(Op::floor_divide, {last, size});
  const NodeId index = loops_.subtract(b_.index(KernelWriter::kWarp - 1), lane);
  const NodeId own = loops_.add(loops_.multiply(group, size), index);
  const NodeId counts = loops_.less_equal(own, last);
  const Nodes none = scan_.identities();
  Nodes values = values_of(lane, wait_for(loops_.minimum(own, last)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = loops_.select(counts, values[i], none[i]);
  values = fold_warp(values);
  const Nodes before = loops_.branch(
      loops_.equal(group, b_.index(0)), scan_.types(), [&] { return inits; },
      [&] { return values_of(lane, wait_for(loops_.add(tiles_, group))); });
  return scan_.combine(before, values);
}

/// The lanes of a warp have the 32 tiles before, the first one the nearest; before the first tile of all,
/// they have that.
Nodes LookBack::look_back(NodeId tile, NodeId lane) {
  const auto u32 = [&](uint32_t number) { return b_.constant(number); };
  const NodeId own_bit = b_.make(Op::left_shift, {u32(1), b_.cast(lane, DType::UInt32)});
  const NodeId lower = loops_.subtract(own_bit, u32(1));
  const Nodes none = scan_.identities();
  Nodes start{loops_.subtract(tile, b_.index(1)), loops_.truth(true), loops_.truth(true)};
  start.insert(start.end(), none.begin(), none.end());
  const auto goes_on = [](std::span<const NodeId> now) {
    Nodes all{now[1]};
    all.insert(all.end(), now.begin(), now.end());
    return all;
  };
  const Nodes end = loops_.repeat(start, goes_on, [&](std::span<const NodeId> now) {
    const NodeId own = loops_.maximum(loops_.subtract(now[0], lane), b_.index(0));
    const Nodes words = wait_for(own);
    const NodeId state = b_.make(Op::right_shift, {words[0], word(kStateShift)});
    const NodeId ends = kernels_.vote(ir::Question::Ballot, loops_.equal(state, word(OfAll)));
    const NodeId counts = loops_.equal(loops_.both(ends, lower), u32(0));
    Nodes values = values_of(lane, words);
    for (size_t i = 0; i < values.size(); ++i) values[i] = loops_.select(counts, values[i], none[i]);
    values = fold_warp(values);
    const Nodes both = scan_.combine(values, now.subspan(3));
    Nodes next{loops_.subtract(now[0], b_.index(KernelWriter::kWarp)), loops_.equal(ends, u32(0)),
               loops_.truth(false)};
    for (size_t i = 0; i < values.size(); ++i) next.push_back(loops_.select(now[2], values[i], both[i]));
    return next;
  });
  return {end.begin() + 3, end.end()};
}

}  // namespace ingot::transform
