#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/dtype.h"

namespace ingot::base {

/// The order of reductions on all CPUs: of the interpreter, of compiled code, of the library.
///
/// A reduction runs over a range x[0] ... x[n - 1]. Over some axes of several there is one range for each
/// index of the kept axes: the elements at it, in C order of the reduced axes, ascending.
///
///  - The range is cut into blocks of B elements, the last one perhaps shorter.
///  - A block has L lanes. Lane j holds first the *start*, then repeatedly
///    `lane[j] = combine(lane[j], x[B b + L k + j])` for k = 0, 1, ... as far as the range goes.
///    An element that is masked out leaves its lane as it is; the others keep their lanes.
///  - Then `lane[j] = combine(lane[j], lane[j + s])` for j < s and s = L/2, L/4 ... 1; lane[0] is the block's
///    value. Lanes that no element reached take part with the start.
///  - Blocks first ... first + count - 1 have the value of the one block, or with m the largest power of two
///    below count, combine(value of the first m, value of the rest).
///  - An empty range has the start as its value.
///  - Half elements are converted to float, combined as float, and the value is rounded once, at the end (as
///    NumPy's sums and products of them); all other dtypes are combined as they are.
///
/// Where the last axis is reduced - neighbours in memory are combined - B is 1024 and L 32. Where it is kept,
/// so that rows are added to rows, B is 128 and L 1.
///
/// The start is the combiner's identity: +0 (both components) for add, 1 for multiply, and so on. The
/// combiners without one (minimum, maximum, fmin, fmax) start from x[0], in every lane of every block; their
/// range is never empty and never masked.
///
/// A parallel loop's value is combine(init, value of its contributions in the order of the iterations); the
/// init when there are no iterations.
struct ReductionOrder {
  int64_t block;
  int64_t lanes;
};
inline constexpr int64_t kReductionBlock = 1024;
inline constexpr int64_t kReductionLanes = 32;
inline constexpr ReductionOrder kOrderOfElements{kReductionBlock, kReductionLanes};
inline constexpr ReductionOrder kOrderOfRows{128, 1};

constexpr ReductionOrder reduction_order(bool reduces_last_axis) {
  return reduces_last_axis ? kOrderOfElements : kOrderOfRows;
}

/// The dtype that lanes have for elements of dtype `t`.
constexpr DType lane_dtype(DType t) { return t == DType::Float16 ? DType::Float32 : t; }

/// The value of block `b` of a range of n. `accumulate(lane, i)` combines element i into the lane, or leaves
/// it (masked out); `combine(a, b)` combines two lanes.
template <class T, class Accumulate, class Combine>
T reduce_block(const ReductionOrder& order, int64_t b, int64_t n, const T& start, Accumulate&& accumulate,
               Combine&& combine) {
  std::array<T, static_cast<size_t>(kReductionLanes)> lanes;
  lanes.fill(start);
  const int64_t first = b * order.block;
  const int64_t count = n - first < order.block ? n - first : order.block;
  for (int64_t i = 0; i < count; ++i) accumulate(lanes[static_cast<size_t>(i % order.lanes)], first + i);
  for (auto s = static_cast<size_t>(order.lanes / 2); s > 0; s /= 2)
    for (size_t j = 0; j < s; ++j) lanes[j] = combine(lanes[j], lanes[j + s]);
  return lanes[0];
}

/// The value of blocks first ... first + count - 1, count > 0, of a range of n.
template <class T, class Accumulate, class Combine>
T reduce_blocks(const ReductionOrder& order, int64_t first, int64_t count, int64_t n, const T& start,
                Accumulate&& accumulate, Combine&& combine) {
  if (count == 1) return reduce_block(order, first, n, start, accumulate, combine);
  const int64_t left = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(count - 1)));
  const T a = reduce_blocks(order, first, left, n, start, accumulate, combine);
  const T b = reduce_blocks(order, first + left, count - left, n, start, accumulate, combine);
  return combine(a, b);
}

/// The value of a range of n elements, in the order above.
template <class T, class Accumulate, class Combine>
T reduce_in_order(const ReductionOrder& order, int64_t n, const T& start, Accumulate&& accumulate,
                  Combine&& combine) {
  if (n <= 0) return start;
  return reduce_blocks(order, 0, (n + order.block - 1) / order.block, n, start, accumulate, combine);
}

}  // namespace ingot::base
