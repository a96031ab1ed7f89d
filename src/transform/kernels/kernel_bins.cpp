#include "transform/kernels/kernel_bins.h"

#include <limits>

#include "base/dtype.h"
#include "ir/evaluate.h"

namespace ingot::transform {

namespace {

/// Shared memory for a block's bins.
constexpr int64_t kBytesOfFew = 16 << 10;
constexpr int64_t kBytesOfMany = 32 << 10;
/// Iterations for each bin, and for each thread, at least; blocks at most.
constexpr int64_t kIterations = 16;
constexpr int64_t kMostBlocks = 1 << 9;

int64_t bytes_of(KernelBins::Size size) { return size == KernelBins::Size::Few ? kBytesOfFew : kBytesOfMany; }

constexpr int64_t kMostOfInt32 = std::numeric_limits<int32_t>::max();

}  // namespace

KernelBins::KernelBins(KernelWriter& kernels, LoopWriter& loops, Op combiner, NodeId array, int64_t largest)
    : kernels_(kernels),
      loops_(loops),
      b_(loops.builder()),
      combiner_(combiner),
      array_(array),
      largest_(largest),
      dtype_(loops.builder().function().type(array).dtype()) {
  if (dtype_ != DType::Int64 || combiner != Op::add) largest_ = 0;
  own_ = largest_ > 0 ? DType::Int32 : dtype_;
}

bool KernelBins::fit(Size size) const { return bytes_of(size) <= kernels_.shared_bytes(); }

/// The elements that a block has memory for.
int64_t KernelBins::most_of(Size size) const {
  return bytes_of(size) / static_cast<int64_t>(base::size_of(own_));
}

NodeId KernelBins::are_worth(Size size, NodeId iterations) {
  const NodeId bins = b_.length(array_, 0);
  NodeId worth = loops_.both(loops_.less_equal(bins, b_.index(most_of(size))),
                             loops_.less_equal(loops_.multiply(bins, b_.index(kIterations)), iterations));
  if (largest_ > 0)
    worth = loops_.both(worth, loops_.less_equal(iterations, b_.index(kMostOfInt32 / largest_)));
  return worth;
}

void KernelBins::write(Size size, NodeId iterations, const std::function<void()>& prepare,
                       const std::function<void(NodeId)>& iteration) {
  const NodeId threads = b_.index(kernels_.block_threads());
  const NodeId bins = b_.length(array_, 0);
  const NodeId share = loops_.multiply(threads, b_.index(kIterations));
  const NodeId blocks = loops_.minimum(loops_.ceiling(iterations, share), b_.index(kMostBlocks));
  copies_ = copies_of(size, bins);
  kernels_.blocks(blocks, [&](NodeId block, NodeId thread) {
    prepare();
    view_ = kernels_.shared(most_of(size), own_);
    copy_ = loops_.both(thread, loops_.subtract(copies_, b_.index(1)));
    const NodeId nothing = b_.constant(Type::scalar(own_), *ir::identity_of(combiner_, own_));
    kernels_.strided(thread, loops_.multiply(bins, copies_), threads,
                     [&](NodeId k) { loops_.store(view_, {&k, 1}, nothing); });
    kernels_.barrier();
    const NodeId first = loops_.add(loops_.multiply(block, threads), thread);
    kernels_.strided(first, iterations, loops_.multiply(blocks, threads), iteration);
    kernels_.barrier();
    kernels_.strided(thread, bins, threads, [&](NodeId bin) {
      const NodeId total = total_of(bin, thread);
      kernels_.when(b_.make(Op::not_equal, {total, nothing}), [&] {
        kernels_.atomic(combiner_, ir::Scope::Device, {array_, bin, b_.cast(total, dtype_)});
      });
    });
  });
}

void KernelBins::add(NodeId bin, NodeId value) {
  const NodeId index = loops_.add(loops_.multiply(bin, copies_), copy_);
  kernels_.atomic(combiner_, ir::Scope::Block, {view_, index, b_.cast(value, own_)});
}

/// As many as there is memory for, up to one for each thread of a warp.
NodeId KernelBins::copies_of(Size size, NodeId bins) {
  if (size == Size::Many) return b_.index(1);
  NodeId copies = b_.index(1);
  for (int64_t i = 2; i <= KernelWriter::kWarp; i *= 2)
    copies = loops_.select(loops_.less_equal(bins, b_.index(most_of(size) / i)), b_.index(i), copies);
  return copies;
}

/// Of all copies of a bin; threads begin with different ones, which are in different banks.
NodeId KernelBins::total_of(NodeId bin, NodeId thread) {
  const NodeId first = loops_.multiply(bin, copies_);
  const auto copy = [&](NodeId k) {
    const NodeId own = loops_.both(loops_.add(k, thread), loops_.subtract(copies_, b_.index(1)));
    const NodeId index = loops_.add(first, own);
    return loops_.load(view_, {&index, 1});
  };
  const NodeId one = copy(b_.index(0));
  return loops_.loop(loops_.subtract(copies_, b_.index(1)), {&one, 1}, [&](auto at, auto before) {
    return Nodes{b_.make(combiner_, {before[0], copy(loops_.add(at[0], b_.index(1)))})};
  })[0];
}

}  // namespace ingot::transform
