#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ingot::base {

/// Bytes in memory, from an address to before another one.
struct ByteRange {
  uintptr_t low = 0;
  uintptr_t high = 0;

  bool is_empty() const { return low == high; }
  int64_t size() const { return static_cast<int64_t>(high - low); }
  bool contains(uintptr_t address) const { return low <= address && address < high; }
  /// An empty one overlaps none, and is contained in all.
  bool overlaps(const ByteRange& other) const {
    return low < other.high && other.low < high && !is_empty() && !other.is_empty();
  }
  bool contains(const ByteRange& other) const {
    return other.is_empty() || (low <= other.low && other.high <= high);
  }
};

/// The lowest byte of an array's elements and the one after the highest, counted from the first element's.
template <class Number>
struct BasicReach {
  Number low = 0;
  Number high = 0;

  Number size() const { return high - low; }
  bool is_empty() const { return low == high; }
  /// Of an array whose first element is at the address.
  ByteRange at(uintptr_t address) const {
    return {address + static_cast<uintptr_t>(low), address + static_cast<uintptr_t>(high)};
  }
  ByteRange at(const void* first) const { return at(reinterpret_cast<uintptr_t>(first)); }
};
using Reach = BasicReach<int64_t>;
/// In which no product of lengths and strides overflows.
__extension__ using Wide = __int128;
using WideReach = BasicReach<Wide>;

/// How elements are laid out in memory; holds none of it.
struct Strided {
  std::span<const int64_t> lengths{};  ///< of the axes
  std::span<const int64_t> strides{};  ///< in bytes
  int64_t itemsize = 0;

  size_t rank() const { return lengths.size(); }
  bool is_empty() const { return std::ranges::find(lengths, 0) != lengths.end(); }
  /// How many elements there are.
  int64_t size() const {
    int64_t all = 1;
    for (const int64_t length : lengths) all *= length;
    return all;
  }
  int64_t bytes() const { return size() * itemsize; }

  [[gnu::always_inline]] Reach reach() const { return reach_in<int64_t>(); }
  WideReach wide_reach() const { return reach_in<Wide>(); }

  /// Whether elements are contiguous in C order, in Fortran order, where axes of length 1 do not count; where
  /// there are no elements they are.
  bool is_c() const { return is_empty() || has_order<true, false>(); }
  bool is_f() const { return is_empty() || has_order<false, false>(); }
  /// Whether all strides are those of such an array, of axes of length 1, too.
  [[gnu::always_inline]] bool has_c_strides() const { return has_order<true, true>(); }
  [[gnu::always_inline]] bool has_f_strides() const { return has_order<false, true>(); }
  /// Whether the elements are so many bytes, each once, from the first element's first byte on.
  bool covers(int64_t count) const;
  /// Whether there is nothing between the elements, the first of which is the lowest.
  bool is_dense() const { return covers(bytes()); }

 private:
  template <class Number>
  [[gnu::always_inline]] BasicReach<Number> reach_in() const {
    Number low = 0;
    Number high = itemsize;
    for (size_t axis = 0; axis < rank(); ++axis) {
      if (lengths[axis] == 0) return {};
      const Number last = static_cast<Number>(lengths[axis] - 1) * strides[axis];
      (last < 0 ? low : high) += last;
    }
    return {low, high};
  }
  template <bool kIsC, bool kCountsOnes>
  [[gnu::always_inline]] bool has_order() const {
    int64_t inside = itemsize;
    for (size_t i = 0; i < rank(); ++i) {
      const size_t axis = kIsC ? rank() - 1 - i : i;
      if (strides[axis] != inside && (kCountsOnes || lengths[axis] != 1)) return false;
      inside *= lengths[axis];
    }
    return true;
  }
};

/// Ranges that overlap, directly or by others between them, and all their bytes.
struct Overlaps : ByteRange {
  std::vector<size_t> members{};  ///< the numbers of the ranges, in order

  /// All ranges, in the order of the first of each: an empty one overlaps none.
  static std::vector<Overlaps> among(std::span<const ByteRange> ranges);
};

}  // namespace ingot::base
