#include "transform/kernels/block_scan.h"

#include <utility>

namespace ingot::transform {

BlockScan::BlockScan(KernelWriter& kernels, LoopWriter& loops, std::vector<Slot> slots)
    : kernels_(kernels), loops_(loops), b_(loops.builder()), slots_(std::move(slots)) {
  for (const Slot& slot : slots_) types_.push_back(Type::scalar(slot.dtype));
}

Nodes BlockScan::combine(std::span<const NodeId> a, std::span<const NodeId> b) {
  Nodes all;
  for (size_t i = 0; i < slots_.size(); ++i) all.push_back(b_.make(slots_[i].combiner, {a[i], b[i]}));
  return all;
}

Nodes BlockScan::identities() {
  Nodes all;
  for (size_t i = 0; i < slots_.size(); ++i) all.push_back(b_.constant(types_[i], slots_[i].identity));
  return all;
}

Nodes BlockScan::shared(int64_t length) {
  Nodes all;
  for (const Slot& slot : slots_) all.push_back(kernels_.shared(length, slot.dtype));
  return all;
}

Nodes BlockScan::load_all(std::span<const NodeId> views, NodeId at) {
  Nodes all;
  for (const NodeId view : views) all.push_back(loops_.load(view, {&at, 1}));
  return all;
}

void BlockScan::store_all(std::span<const NodeId> views, NodeId at, std::span<const NodeId> values) {
  for (size_t i = 0; i < views.size(); ++i) loops_.store(views[i], {&at, 1}, values[i]);
}

/// With what the threads of a warp before this one, and itself, give.
Nodes BlockScan::in_warp(NodeId lane, Nodes own) {
  for (int32_t step = 1; step < KernelWriter::kWarp; step *= 2) {
    Nodes left;
    for (const NodeId value : own) left.push_back(kernels_.shuffle(ir::Source::Up, value, step));
    const Nodes both = combine(left, own);
    const NodeId has_left = loops_.less_equal(b_.index(step), lane);
    for (size_t i = 0; i < own.size(); ++i) own[i] = loops_.select(has_left, both[i], own[i]);
  }
  return own;
}

/// What the threads of a warp before this one give, of what they give with it.
Nodes BlockScan::before_in_warp(NodeId lane, const Nodes& sums) {
  const Nodes none = identities();
  const NodeId is_first = loops_.equal(lane, b_.index(0));
  Nodes before;
  for (size_t i = 0; i < sums.size(); ++i)
    before.push_back(loops_.select(is_first, none[i], kernels_.shuffle(ir::Source::Up, sums[i], 1)));
  return before;
}

BlockScan::Scanned BlockScan::scan_warp(NodeId lane, const Nodes& own) {
  const Nodes sums = in_warp(lane, own);
  Nodes all;
  for (const NodeId sum : sums)
    all.push_back(kernels_.shuffle(ir::Source::Index, sum, KernelWriter::kWarp - 1));
  return {before_in_warp(lane, sums), all};
}

BlockScan::Scanned BlockScan::scan_by_warps(const Nodes& indices, NodeId thread, const Nodes& own) {
  const NodeId size = b_.index(KernelWriter::kWarp);
  const NodeId last = b_.index(KernelWriter::kWarp - 1);
  const NodeId lane = loops_.both(thread, last);
  const NodeId warp = b_.make(Op::floor_divide, {thread, size});
  const Nodes sums = in_warp(lane, own);
  kernels_.when(loops_.equal(lane, last), [&] { store_all(indices, warp, sums); });
  kernels_.barrier();
  Nodes start = identities();
  start.insert(start.end(), start.begin(), start.end());
  const NodeId warps = b_.index(kernels_.block_threads() / KernelWriter::kWarp);
  const Nodes found = loops_.loop(warps, start, [&](auto at, auto sofar) {
    const Nodes given = load_all(indices, at[0]);
    Nodes next = combine(sofar.first(given.size()), given);
    const Nodes more = combine(sofar.subspan(given.size()), given);
    const NodeId is_before = loops_.less(at[0], warp);
    for (size_t i = 0; i < given.size(); ++i)
      next.push_back(loops_.select(is_before, more[i], sofar[given.size() + i]));
    return next;
  });
  kernels_.barrier();
  const auto middle = found.begin() + static_cast<ptrdiff_t>(slots_.size());
  return {combine(Nodes(middle, found.end()), before_in_warp(lane, sums)), Nodes(found.begin(), middle)};
}

BlockScan::Scanned BlockScan::scan(const Nodes& indices, NodeId thread, const Nodes& own) {
  if (kernels_.has_warps()) return scan_by_warps(indices, thread, own);
  store_all(indices, thread, own);
  for (int64_t step = 1; step < kernels_.block_threads(); step *= 2) {
    kernels_.barrier();
    const NodeId left = loops_.subtract(thread, b_.index(step));
    const Nodes sums = loops_.branch(
        loops_.less_equal(b_.index(step), thread), types_,
        [&] { return combine(load_all(indices, left), load_all(indices, thread)); },
        [&] { return load_all(indices, thread); });
    kernels_.barrier();
    store_all(indices, thread, sums);
  }
  kernels_.barrier();
  const Nodes before = loops_.branch(
      loops_.equal(thread, b_.index(0)), types_, [&] { return identities(); },
      [&] { return load_all(indices, loops_.subtract(thread, b_.index(1))); });
  const Nodes all = load_all(indices, b_.index(kernels_.block_threads() - 1));
  kernels_.barrier();
  return {before, all};
}

}  // namespace ingot::transform
