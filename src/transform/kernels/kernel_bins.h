#pragma once

#include <functional>

#include "transform/kernels/kernel_writer.h"

namespace ingot::transform {

/// Few elements of an array, *bins*, that many iterations add whole numbers to, or take extremes of, in any
/// order: blocks of threads have bins of their own in shared memory, and several copies of few bins, so that
/// threads that are neighbours add to different ones. What a block has come to is combined into the array.
class KernelBins {
 public:
  /// `largest`: iterations add numbers of this size at most, which are counted in 32 bits then; 0: it is not
  /// known.
  KernelBins(KernelWriter& kernels, LoopWriter& loops, Op combiner, NodeId array, int64_t largest);

  /// Shared memory for a block's bins: of `Few`, many blocks run on a processor at once.
  enum class Size : uint8_t { Few, Many };
  bool fit(Size size) const;
  /// Whether a block has memory for the bins, and there are enough iterations for each.
  NodeId are_worth(Size size, NodeId iterations);
  /// A launch. `prepare` writes what is at its top, `iteration` the iteration of a number, which comes to
  /// `add`.
  void write(Size size, NodeId iterations, const std::function<void()>& prepare,
             const std::function<void(NodeId iteration)>& iteration);
  void add(NodeId bin, NodeId value);

 private:
  int64_t most_of(Size size) const;
  NodeId copies_of(Size size, NodeId bins);
  NodeId total_of(NodeId bin, NodeId thread);

  KernelWriter& kernels_;
  LoopWriter& loops_;
  ir::Builder& b_;
  Op combiner_;
  NodeId array_;
  int64_t largest_;
  DType dtype_;    ///< of the array
  DType own_;      ///< of a block's bins
  NodeId view_;    ///< of the block: the copies of the first bin, of the second one, ...
  NodeId copies_;  ///< a power of two
  NodeId copy_;    ///< of the thread
};

}  // namespace ingot::transform
