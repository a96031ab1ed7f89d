#include "transform/kernels/kernel_writer.h"

#include <limits>

namespace ingot::transform {

namespace {

/// Blocks along the first axis of a grid, and along the others.
constexpr int64_t kMostBlocks = (int64_t{1} << 31) - 1;
/// What is requested where more would be needed: such a launch fails.
constexpr int64_t kTooManyBlocks = kMostBlocks + 1;
constexpr int64_t kMostBlocksAcross = 65535;

}  // namespace

void KernelWriter::launch(std::span<const Extent> axes,
                          const std::function<void(std::span<const NodeId>)>& region) {
  Nodes operands;
  for (size_t i = 0; i < 3; ++i) operands.push_back(i < axes.size() ? axes[i].blocks : b_.index(1));
  for (size_t i = 0; i < 3; ++i) operands.push_back(i < axes.size() ? axes[i].threads : b_.index(1));
  const ir::SpanId location = b_.span();
  const NodeId made = b_.begin(Op::launch, operands);
  region(b_.enter(made, 0, std::vector<Type>(6, ir::kInt64)));
  b_.set_span(location);
  b_.yield({});
  b_.end(made);
}

NodeId KernelWriter::blocks_of(NodeId length, NodeId threads, int64_t most) {
  return loops_.minimum(loops_.maximum(loops_.ceiling(length, threads), b_.index(0)), b_.index(most));
}

void KernelWriter::single(const std::function<void()>& thread) {
  launch({}, [&](std::span<const NodeId>) { thread(); });
}

void KernelWriter::blocks(NodeId count, const std::function<void(NodeId, NodeId)>& thread) {
  const Extent axis{count, b_.index(block_threads())};
  launch({&axis, 1}, [&](std::span<const NodeId> at) { thread(at[0], at[3]); });
}

void KernelWriter::grid(std::span<const NodeId> lengths,
                        const std::function<void(std::span<const NodeId>)>& thread, bool goes_beyond) {
  const size_t rank = lengths.size();
  // Of rows shorter than a block, several share one.
  NodeId across = b_.index(block_threads());
  NodeId rows = b_.index(1);
  if (rank > 1) {
    for (int64_t width = block_threads() / 4, left = 4; width >= 4; width /= 4, left *= 4) {
      const NodeId is_short = loops_.less_equal(lengths.back(), b_.index(width));
      across = loops_.select(is_short, b_.index(width), across);
      rows = loops_.select(is_short, b_.index(left), rows);
    }
  }
  const std::array<NodeId, 3> threads{across, rows, b_.index(1)};
  std::vector<Extent> axes;
  for (size_t i = 0; i < rank; ++i)
    axes.push_back({blocks_of(lengths[rank - 1 - i], threads[i], i == 0 ? kTooManyBlocks : kMostBlocksAcross),
                    threads[i]});
  launch(axes, [&](std::span<const NodeId> at) {
    Nodes indices(rank);
    const std::function<void(size_t)> walk = [&](size_t axis) {
      const NodeId first = loops_.add(loops_.multiply(at[axis], threads[axis]), at[3 + axis]);
      const NodeId length = lengths[rank - 1 - axis];
      const auto inside = [&](NodeId index) {
        indices[rank - 1 - axis] = index;
        if (axis == 0) thread(indices);
        else walk(axis - 1);
      };
      if (axis == 0 && goes_beyond) return inside(first);
      if (axis > 0) return strided(first, length, loops_.multiply(axes[axis].blocks, threads[axis]), inside);
      when(loops_.less(first, length), [&] { inside(first); });
    };
    walk(rank - 1);
  });
}

void KernelWriter::groups(NodeId count, NodeId threads, const std::function<void()>& prepare,
                          const std::function<void(NodeId, NodeId)>& thread) {
  const NodeId at_once = loops_.minimum(count, b_.index(kMostBlocks));
  const Extent axis{at_once, threads};
  launch({&axis, 1}, [&](std::span<const NodeId> at) {
    prepare();
    const NodeId own = at[3];
    strided(at[0], count, at_once, [&](NodeId index) { thread(index, own); });
  });
}

void KernelWriter::strided(NodeId first, NodeId end, NodeId step, const std::function<void(NodeId)>& body) {
  loops_.repeat(
      {&first, 1}, [&](std::span<const NodeId> at) { return Nodes{loops_.less(at[0], end), at[0]}; },
      [&](std::span<const NodeId> at) {
        body(at[0]);
        return Nodes{loops_.add(at[0], step)};
      });
}

void KernelWriter::warps(NodeId count, const std::function<void()>& prepare,
                         const std::function<void(NodeId, NodeId)>& warp) {
  const NodeId in_block = b_.index(block_threads() / kWarp);
  const Extent axis{blocks_of(count, in_block, kMostBlocks), b_.index(block_threads())};
  launch({&axis, 1}, [&](std::span<const NodeId> at) {
    prepare();
    const NodeId lane = loops_.both(at[3], b_.index(kWarp - 1));
    const NodeId own = b_.make(Op::floor_divide, {at[3], b_.index(kWarp)});
    const NodeId first = loops_.add(loops_.multiply(at[0], in_block), own);
    strided(first, count, loops_.multiply(axis.blocks, in_block), [&](NodeId index) { warp(index, lane); });
  });
}

void KernelWriter::warp_barrier() {
  b_.make(Op::barrier, {b_.constant<uint32_t>(~uint32_t{0})}, {static_cast<int64_t>(ir::Scope::Warp)});
}

NodeId KernelWriter::shuffle(ir::Source source, NodeId value, NodeId lane, int64_t part) {
  const NodeId all = b_.constant<uint32_t>(~uint32_t{0});
  return b_.make(Op::shuffle, {all, value, lane}, {static_cast<int64_t>(source), part});
}

NodeId KernelWriter::vote(ir::Question question, NodeId condition) {
  return b_.make(Op::vote, {b_.constant<uint32_t>(~uint32_t{0}), condition},
                 {static_cast<int64_t>(question), static_cast<int64_t>(ir::Scope::Warp)});
}

/// By a ballot for each bit: what `match` takes depends on how many numbers there are.
NodeId KernelWriter::peers(NodeId number, int64_t bits) {
  const NodeId none = b_.constant(uint32_t{0});
  const NodeId all = b_.constant(~uint32_t{0});
  NodeId same = all;
  for (int64_t bit = 0; bit < bits; ++bit) {
    const NodeId is_clear = loops_.equal(loops_.both(number, b_.constant(uint32_t{1} << bit)), none);
    const NodeId clear = vote(ir::Question::Ballot, is_clear);
    const NodeId differs = b_.make(Op::bitwise_xor, {clear, loops_.select(is_clear, all, none)});
    same = loops_.both(same, loops_.negate(differs));
  }
  return same;
}

void KernelWriter::barrier() { b_.make(Op::barrier, {}, {static_cast<int64_t>(ir::Scope::Block)}); }

void KernelWriter::atomic(Op combiner, ir::Scope scope, const Nodes& operands) {
  const int64_t attributes[] = {static_cast<int64_t>(combiner), static_cast<int64_t>(scope),
                                static_cast<int64_t>(ir::Order::Relaxed)};
  b_.make(Op::atomic, operands, attributes);
}

NodeId KernelWriter::shared(int64_t length, DType dtype) {
  const NodeId count = b_.index(length);
  return loops_.new_view({&count, 1}, dtype, ir::Space::Shared);
}

}  // namespace ingot::transform
