#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/math.h"
#include "base/reduction.h"
#include "base/sort.h"
#include "ir/builder.h"
#include "ir/interpreter_machine.h"

namespace ingot::ir {

namespace {

/// An array seen as ranges along some axes: one for each index of the kept axes, in C order of both.
struct Ranges {
  std::vector<int64_t> kept_lengths;
  std::vector<int64_t> kept_strides;
  std::vector<int64_t> offsets;  ///< of the elements of a range from its first, in bytes of this dtype
};

Ranges ranges(const ArrayValue& x, std::span<const int64_t> axes) {
  const std::vector<int64_t> strides = c_strides(x.lengths, x.dtype);
  Ranges r;
  std::vector<int64_t> lengths;
  std::vector<int64_t> range_strides;
  for (size_t i = 0; i < x.lengths.size(); ++i) {
    const bool reduced = std::ranges::find(axes, static_cast<int64_t>(i)) != axes.end();
    (reduced ? lengths : r.kept_lengths).push_back(x.lengths[i]);
    (reduced ? range_strides : r.kept_strides).push_back(strides[i]);
  }
  if (std::ranges::find(r.kept_lengths, 0) != r.kept_lengths.end()) return r;
  for_each_index(lengths, [&](std::span<const int64_t> index) {
    r.offsets.push_back(dot_product(index, range_strides));
  });
  return r;
}

/// Calls fn(first element's offset, number of the range) for each range.
template <class Fn>
void for_each_range(const Ranges& r, Fn&& fn) {
  size_t number = 0;
  for_each_index(r.kept_lengths,
                 [&](std::span<const int64_t> index) { fn(dot_product(index, r.kept_strides), number++); });
}

/// A scalar when no axis is left.
void give_array_or_scalar(const Step& step, ArrayValue result) {
  if (step.type().is_scalar()) return step.give(Scalar::load(result.dtype, result.data.data()));
  step.give(std::move(result));
}

template <class T>
T element(const std::byte* at) {
  T value;
  std::memcpy(static_cast<void*>(&value), at, sizeof value);
  return value;
}

/// The lines along an axis: `length` elements, at a stride of `stride` bytes, from each of `first` on. None
/// when empty.
struct Lines {
  int64_t length;
  int64_t stride;
  std::vector<int64_t> first;
};
Lines lines(const ArrayValue& x, int64_t axis) {
  const auto a = static_cast<size_t>(axis);
  const int64_t axes[] = {axis};
  const Ranges r = ranges(x, axes);
  Lines found{x.lengths[a], c_strides(x.lengths, x.dtype)[a], {}};
  if (!x.data.empty()) for_each_range(r, [&](int64_t offset, size_t) { found.first.push_back(offset); });
  return found;
}

/// The elements of a line, contiguous.
std::vector<std::byte> elements_of(const std::byte* line, const Lines& l, size_t size) {
  std::vector<std::byte> elements(static_cast<size_t>(l.length) * size);
  for (int64_t k = 0; k < l.length; ++k)
    std::memcpy(elements.data() + static_cast<size_t>(k) * size, line + k * l.stride, size);
  return elements;
}

}  // namespace

void interp_reduce(Step& step) {
  const ArrayValue& x = step.array(0);
  const ArrayValue* where = step.count() > 1 ? &step.array(1) : nullptr;
  step.need(where == nullptr || where->lengths == x.lengths, "takes a mask of other lengths");
  const DType lane = base::lane_dtype(x.dtype);
  const Combiner combine(step.function.op_attribute(step.node, 0), lane);
  const Ranges r = ranges(x, step.function.ints(step.node));
  const auto count = static_cast<int64_t>(r.offsets.size());
  ArrayValue result = make_array(x.dtype, r.kept_lengths);
  step.need(count > 0 || combine.has_identity() || result.data.empty(),
            "reduces an empty range with a combiner that has no identity");
  const auto last = static_cast<int64_t>(x.lengths.size()) - 1;
  const auto axes = step.function.ints(step.node);
  const base::ReductionOrder order = base::reduction_order(std::ranges::find(axes, last) != axes.end());
  const size_t size = base::size_of(x.dtype);
  for_each_range(r, [&](int64_t offset, size_t number) {
    const auto offset_of = [&](int64_t k) {
      return static_cast<size_t>(offset + r.offsets[static_cast<size_t>(k)]);
    };
    const auto load = [&](int64_t k) {
      return evaluate_cast(x.dtype, lane, Scalar::load(x.dtype, x.data.data() + offset_of(k)));
    };
    const Scalar start = combine.start(count > 0 ? load(0) : Scalar{});
    const auto accumulate = [&](Scalar& sum, int64_t k) {
      if (where == nullptr || where->data[offset_of(k) / size] != std::byte{0}) sum = combine(sum, load(k));
    };
    const Scalar value = base::reduce_in_order(order, count, start, accumulate, combine);
    evaluate_cast(lane, x.dtype, value).store(x.dtype, result.data.data() + number * size);
  });
  give_array_or_scalar(step, std::move(result));
}

void interp_scan(Step& step) {
  ArrayValue result = step.array(0);
  const Combiner combine(step.function.op_attribute(step.node, 0), result.dtype);
  const Lines l = lines(result, step.attribute(1));
  for (int64_t first : l.first) {
    for (int64_t k = 1; k < l.length; ++k) {
      std::byte* at = result.data.data() + first + k * l.stride;
      combine(Scalar::load(result.dtype, at - l.stride), Scalar::load(result.dtype, at))
          .store(result.dtype, at);
    }
  }
  step.give(std::move(result));
}

namespace {

/// The first NaN, else the first of the smallest (largest).
template <class T>
int64_t first_extreme(const std::byte* data, const std::vector<int64_t>& offsets, bool smallest) {
  size_t best = 0;
  T best_value = element<T>(data + offsets[0]);
  for (size_t k = 1; k < offsets.size() && !base::math::has_nan(best_value); ++k) {
    const T value = element<T>(data + offsets[k]);
    const bool better =
        smallest ? base::math::less(value, best_value) : base::math::greater(value, best_value);
    if (!better && !base::math::has_nan(value)) continue;
    best = k;
    best_value = value;
  }
  return static_cast<int64_t>(best);
}

}  // namespace

void interp_arg_reduce(Step& step) {
  const ArrayValue& x = step.array(0);
  const bool smallest = step.function.op_attribute(step.node, 0) == Op::minimum;
  std::vector<int64_t> axes{step.attribute(1)};
  if (axes[0] == -1) {
    axes.resize(x.lengths.size());
    std::iota(axes.begin(), axes.end(), int64_t{0});
  }
  const Ranges r = ranges(x, axes);
  ArrayValue result = make_array(DType::Int64, r.kept_lengths);
  step.need(!r.offsets.empty() || result.data.empty(), "searches an empty range");
  for_each_range(r, [&](int64_t offset, size_t number) {
    const int64_t found = base::visit_dtype(
        x.dtype, [&]<class T>() { return first_extreme<T>(x.data.data() + offset, r.offsets, smallest); });
    std::memcpy(result.data.data() + number * sizeof found, &found, sizeof found);
  });
  give_array_or_scalar(step, std::move(result));
}

void interp_sort(Step& step) {
  ArrayValue result = step.array(0);
  const Lines l = lines(result, step.attribute(0));
  const size_t size = base::size_of(result.dtype);
  for (int64_t first : l.first) {
    std::byte* const line = result.data.data() + first;
    std::vector<std::byte> elements = elements_of(line, l, size);
    base::sort_line(result.dtype, elements.data(), l.length);
    for (int64_t k = 0; k < l.length; ++k)
      std::memcpy(line + k * l.stride, elements.data() + static_cast<size_t>(k) * size, size);
  }
  step.give(std::move(result));
}

void interp_argsort(Step& step) {
  const ArrayValue& x = step.array(0);
  ArrayValue result = make_array(DType::Int64, x.lengths);
  const Lines from = lines(x, step.attribute(0));
  const Lines to = lines(result, step.attribute(0));
  std::vector<int64_t> indices(static_cast<size_t>(from.length));
  for (size_t i = 0; i < from.first.size(); ++i) {
    const std::vector<std::byte> elements =
        elements_of(x.data.data() + from.first[i], from, base::size_of(x.dtype));
    std::iota(indices.begin(), indices.end(), int64_t{0});
    base::argsort_line(x.dtype, elements.data(), indices.data(), from.length);
    std::byte* at = result.data.data() + to.first[i];
    for (int64_t index : indices) {
      std::memcpy(at, &index, sizeof index);
      at += to.stride;
    }
  }
  step.give(std::move(result));
}

namespace {

/// The sum over k ascending of a[k] * b[k]; Half in float, rounded at the end, as NumPy's.
template <class T>
T inner_product(const std::byte* a, int64_t a_stride, const std::byte* b, int64_t b_stride, int64_t count) {
  using Sum = std::conditional_t<std::is_same_v<T, base::Half>, float, T>;
  Sum sum{};
  for (int64_t k = 0; k < count; ++k) {
    const auto x = static_cast<Sum>(element<T>(a + k * a_stride));
    const auto y = static_cast<Sum>(element<T>(b + k * b_stride));
    sum = base::math::add(sum, base::math::multiply(x, y));
  }
  return static_cast<T>(sum);
}

}  // namespace

void interp_dot(Step& step) {
  const ArrayValue& a = step.array(0);
  const ArrayValue& b = step.array(1);
  const size_t a_rank = a.lengths.size();
  const size_t b_rank = b.lengths.size();
  std::vector<int64_t> lengths;
  if (a_rank > 2) {
    lengths.assign(a.lengths.begin(), a.lengths.end() - 2);
    step.need(std::equal(lengths.begin(), lengths.end(), b.lengths.begin()),
              "takes batches of other lengths");
  }
  const int64_t batch = element_count(lengths);
  const int64_t rows = a_rank == 1 ? 1 : a.lengths[a_rank - 2];
  const int64_t inner = a.lengths[a_rank - 1];
  const int64_t columns = b_rank == 1 ? 1 : b.lengths[b_rank - 1];
  step.need((b_rank == 1 ? b.lengths[0] : b.lengths[b_rank - 2]) == inner, "takes inner lengths that differ");
  if (a_rank > 1) lengths.push_back(rows);
  if (b_rank > 1) lengths.push_back(columns);
  ArrayValue result = make_array(a.dtype, lengths);
  base::visit_dtype(a.dtype, [&]<class T>() {
    const auto size = static_cast<int64_t>(sizeof(T));
    std::byte* to = result.data.data();
    for (int64_t m = 0; m < batch; ++m)
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j, to += size) {
          const T sum =
              inner_product<T>(a.data.data() + (m * rows + i) * inner * size, size,
                               b.data.data() + (m * inner * columns + j) * size, columns * size, inner);
          std::memcpy(to, &sum, sizeof sum);
        }
  });
  give_array_or_scalar(step, std::move(result));
}

}  // namespace ingot::ir
