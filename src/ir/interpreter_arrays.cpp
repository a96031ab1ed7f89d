#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/float_state.h"
#include "ir/evaluate.h"
#include "ir/interpreter_machine.h"

namespace ingot::ir {

namespace {

/// An operand of an elementwise op: its elements, and the step from one to the next.
struct Elements {
  const std::byte* data;
  int64_t stride;
};

Elements elements(const Step& step, size_t i) {
  if (step.type(i).is_scalar()) return {reinterpret_cast<const std::byte*>(step.scalar(i).bits.data()), 0};
  const ArrayValue& array = step.array(i);
  return {array.data.data(), static_cast<int64_t>(base::size_of(array.dtype))};
}

/// The lengths that all array operands have.
std::vector<int64_t> common_lengths(const Step& step) {
  const std::vector<int64_t>* lengths = nullptr;
  for (size_t i = 0; i < step.count(); ++i) {
    if (!step.type(i).is_array()) continue;
    const std::vector<int64_t>& own = step.array(i).lengths;
    if (lengths != nullptr && *lengths != own) step.fail("takes arrays of different lengths");
    lengths = &own;
  }
  return *lengths;
}

void apply(Step& step, ElementLoop loop) {
  const Elements a = elements(step, 0);
  const Elements b = step.count() > 1 ? elements(step, 1) : a;
  if (step.type().is_scalar()) {
    Scalar result;
    loop(a.data, 0, b.data, 0, result.bits.data(), 1);
    return step.give(result);
  }
  ArrayValue result = make_array(step.type().dtype(), common_lengths(step));
  loop(a.data, a.stride, b.data, b.stride, result.data.data(), element_count(result.lengths));
  step.give(std::move(result));
}

}  // namespace

void interp_elementwise(Step& step) {
  const DType dtype = step.type(0).dtype();
  const ElementLoop loop = element_loop(step.op(), dtype);
  if (!wants_default_state(step.op(), dtype)) return apply(step, loop);
  const base::InFloatState state;
  apply(step, loop);
}

void interp_cast(Step& step) { apply(step, cast_loop(step.type(0).dtype(), step.type().dtype())); }

void interp_select(Step& step) {
  if (step.type().is_scalar()) return step.give(step.value(step.truth(0) ? 1 : 2));
  const Elements condition = elements(step, 0);
  const Elements arms[] = {elements(step, 2), elements(step, 1)};
  ArrayValue result = make_array(step.type().dtype(), common_lengths(step));
  const size_t size = base::size_of(result.dtype);
  const int64_t count = element_count(result.lengths);
  for (int64_t i = 0; i < count; ++i) {
    const Elements& arm = arms[condition.data[i * condition.stride] != std::byte{0}];
    std::memcpy(result.data.data() + static_cast<size_t>(i) * size, arm.data + i * arm.stride, size);
  }
  step.give(std::move(result));
}

void interp_length(Step& step) {
  const auto axis = static_cast<size_t>(step.attribute(0));
  step.give_number(step.type(0).is_view() ? step.view(0).lengths[axis] : step.array(0).lengths[axis]);
}

void interp_stride(Step& step) {
  step.give_number(step.view(0).strides[static_cast<size_t>(step.attribute(0))]);
}

namespace {

int64_t wrapping_add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
int64_t wrapping_multiply(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

ViewValue broadcast(const Step& step, ViewValue v) {
  const std::vector<int64_t> lengths = step.indices(1, step.count() - 1);
  std::vector<int64_t> strides(lengths.size(), 0);
  const size_t added = lengths.size() - v.lengths.size();
  for (size_t i = 0; i < v.lengths.size(); ++i) {
    const int64_t wanted = lengths[added + i];
    step.need(v.lengths[i] == wanted || v.lengths[i] == 1, "broadcasts an axis that is not 1 long");
    strides[added + i] = v.lengths[i] == wanted && wanted != 1 ? v.strides[i] : 0;
  }
  v.lengths = lengths;
  v.strides = std::move(strides);
  return v;
}

ViewValue transpose(const Step& step, const ViewValue& v) {
  ViewValue turned = v;
  const auto axes = step.function.ints(step.node);
  for (size_t i = 0; i < axes.size(); ++i) {
    turned.lengths[i] = v.lengths[static_cast<size_t>(axes[i])];
    turned.strides[i] = v.strides[static_cast<size_t>(axes[i])];
  }
  return turned;
}

ViewValue slice(const Step& step, ViewValue v) {
  __extension__ using Wide = __int128;
  std::vector<int64_t> lengths(v.lengths.size());
  for (size_t i = 0; i < lengths.size(); ++i) lengths[i] = step.index(2 + 3 * i);
  const bool is_empty = std::ranges::find(lengths, 0) != lengths.end();
  for (size_t i = 0; i < lengths.size(); ++i) {
    const int64_t start = step.index(1 + 3 * i);
    const int64_t stride = step.index(3 + 3 * i);
    const Wide last = start + (static_cast<Wide>(lengths[i]) - 1) * stride;
    const bool inside = start >= 0 && start < v.lengths[i] && last >= 0 && last < v.lengths[i];
    step.need(lengths[i] >= 0 && (lengths[i] == 0 || inside), "slices outside of the axis");
    v.offset = wrapping_add(v.offset, wrapping_multiply(start, v.strides[i]));
    v.strides[i] = wrapping_multiply(v.strides[i], stride);
  }
  v.lengths = std::move(lengths);
  // There is no element; the offset may be any.
  if (is_empty && v.block == nullptr) v.offset = 0;
  return v;
}

ViewValue squeeze(const Step& step, const ViewValue& v) {
  const auto axes = step.function.ints(step.node);
  ViewValue squeezed{v.dtype, v.block, v.offset, {}, {}};
  for (size_t i = 0; i < v.lengths.size(); ++i) {
    if (std::ranges::find(axes, static_cast<int64_t>(i)) != axes.end()) {
      step.need(v.lengths[i] == 1, "squeezes an axis that is not 1 long");
      continue;
    }
    squeezed.lengths.push_back(v.lengths[i]);
    squeezed.strides.push_back(v.strides[i]);
  }
  return squeezed;
}

ViewValue expand(const Step& step, ViewValue v) {
  for (int64_t axis : step.function.ints(step.node)) {
    v.lengths.insert(v.lengths.begin() + axis, 1);
    v.strides.insert(v.strides.begin() + axis, static_cast<int64_t>(base::size_of(v.dtype)));
  }
  return v;
}

ViewValue reshape(const Step& step, ViewValue v) {
  const std::vector<int64_t> lengths = step.indices(1, step.count() - 1);
  for (int64_t length : lengths) step.need(length >= 0, "takes a negative length");
  step.need(byte_count(lengths, v.dtype) == byte_count(v.lengths, v.dtype),
            "reshapes to another number of elements");
  const std::vector<int64_t> strides = c_strides(v.lengths, v.dtype);
  const bool is_empty = byte_count(lengths, v.dtype) == 0;
  for (size_t i = 0; i < strides.size(); ++i)
    step.need(is_empty || v.lengths[i] == 1 || v.strides[i] == strides[i],
              "reshapes a view that is not C-contiguous");
  v.lengths = lengths;
  v.strides = c_strides(lengths, v.dtype);
  return v;
}

ViewValue sized(const Step& step, ViewValue v) {
  step.need(step.indices(1, step.count() - 1) == v.lengths, "states other lengths than the array has");
  return v;
}

void give_rearranged(Step& step) {
  if (step.type(0).is_view()) {
    ViewValue view = rearrange(step, step.view(0));
    for (int64_t length : view.lengths) step.need(length >= 0, "takes a negative length");
    return step.give(std::move(view));
  }
  const Elements x = elements(step, 0);
  ViewValue source{step.type(0).dtype(), nullptr, 0, {}, {}};
  if (step.type(0).is_array()) {
    source.lengths = step.array(0).lengths;
    source.strides = c_strides(source.lengths, source.dtype);
  }
  source = rearrange(step, std::move(source));
  for (int64_t length : source.lengths) step.need(length >= 0, "takes a negative length");
  ArrayValue result = make_array(source.dtype, source.lengths);
  const size_t size = base::size_of(result.dtype);
  copy_out(x.data + source.offset, source.lengths, source.strides, size, result.data.data());
  step.give(std::move(result));
}

}  // namespace

ViewValue rearrange(const Step& step, ViewValue v) {
  switch (step.op()) {
    case Op::broadcast: return broadcast(step, std::move(v));
    case Op::transpose: return transpose(step, v);
    case Op::slice: return slice(step, std::move(v));
    case Op::squeeze: return squeeze(step, v);
    case Op::expand: return expand(step, std::move(v));
    case Op::reshape: return reshape(step, std::move(v));
    case Op::sized: return sized(step, std::move(v));
    default: step.fail("is no rearrangement");
  }
}

void interp_broadcast(Step& step) { give_rearranged(step); }
void interp_transpose(Step& step) { give_rearranged(step); }
void interp_slice(Step& step) { give_rearranged(step); }
void interp_squeeze(Step& step) { give_rearranged(step); }
void interp_expand(Step& step) { give_rearranged(step); }
void interp_reshape(Step& step) { give_rearranged(step); }
void interp_sized(Step& step) { give_rearranged(step); }

void interp_iota(Step& step) {
  const std::vector<int64_t> lengths = step.indices(0, step.count());
  for (int64_t length : lengths) step.need(length >= 0, "takes a negative length");
  ArrayValue result = make_array(DType::Int64, lengths);
  const auto axis = static_cast<size_t>(step.attribute(0));
  std::byte* to = result.data.data();
  for_each_index(lengths, [&](std::span<const int64_t> index) {
    std::memcpy(to, &index[axis], sizeof(int64_t));
    to += sizeof(int64_t);
  });
  step.give(std::move(result));
}

IndexArrays index_arrays(const Step& step, size_t first, std::span<const int64_t> lengths) {
  const auto axes = step.function.ints(step.node);
  IndexArrays found;
  found.lengths = step.array(first).lengths;
  for (size_t i = 0; i < axes.size(); ++i) {
    const ArrayValue& index = step.array(first + i);
    step.need(index.lengths == found.lengths, "takes index arrays of different lengths");
    const auto* at = reinterpret_cast<const int64_t*>(index.data.data());
    const int64_t length = lengths[static_cast<size_t>(axes[i])];
    for (int64_t k = 0; k < element_count(found.lengths); ++k)
      step.need(at[k] >= 0 && at[k] < length, "takes an index out of range");
    found.at.push_back(at);
  }
  for (size_t axis = 0; axis < lengths.size(); ++axis)
    if (std::ranges::find(axes, static_cast<int64_t>(axis)) == axes.end())
      found.rest.push_back(static_cast<int64_t>(axis));
  return found;
}

void interp_gather(Step& step) {
  const ArrayValue& x = step.array(0);
  const auto axes = step.function.ints(step.node);
  const IndexArrays index = index_arrays(step, 1, x.lengths);
  const std::vector<int64_t> strides = c_strides(x.lengths, x.dtype);
  std::vector<int64_t> rest_lengths;
  std::vector<int64_t> rest_strides;
  for (int64_t axis : index.rest) {
    rest_lengths.push_back(x.lengths[static_cast<size_t>(axis)]);
    rest_strides.push_back(strides[static_cast<size_t>(axis)]);
  }
  std::vector<int64_t> lengths = index.lengths;
  lengths.insert(lengths.end(), rest_lengths.begin(), rest_lengths.end());
  ArrayValue result = make_array(x.dtype, lengths);
  const size_t size = base::size_of(x.dtype);
  const size_t row = byte_count(rest_lengths, x.dtype);
  std::byte* to = result.data.data();
  for (int64_t k = 0; k < element_count(index.lengths) && row > 0; ++k, to += row) {
    int64_t offset = 0;
    for (size_t i = 0; i < axes.size(); ++i) offset += index.at[i][k] * strides[static_cast<size_t>(axes[i])];
    copy_out(x.data.data() + offset, rest_lengths, rest_strides, size, to);
  }
  step.give(std::move(result));
}

void interp_compress(Step& step) {
  const ArrayValue& x = step.array(0);
  const ArrayValue& mask = step.array(1);
  const auto leading = mask.lengths.size();
  step.need(std::equal(mask.lengths.begin(), mask.lengths.end(), x.lengths.begin()),
            "takes a mask of other lengths");
  std::vector<int64_t> lengths(x.lengths.begin() + static_cast<ptrdiff_t>(leading), x.lengths.end());
  const size_t row = byte_count(lengths, x.dtype);
  lengths.insert(lengths.begin(), std::ranges::count(mask.data, std::byte{1}));
  ArrayValue result = make_array(x.dtype, lengths);
  std::byte* to = result.data.data();
  for (size_t k = 0; k < mask.data.size() && row > 0; ++k) {
    if (mask.data[k] == std::byte{0}) continue;
    std::memcpy(to, x.data.data() + k * row, row);
    to += row;
  }
  step.give(std::move(result));
}

void interp_concat(Step& step) {
  const auto axis = static_cast<size_t>(step.attribute(0));
  std::vector<int64_t> lengths = step.array(0).lengths;
  lengths[axis] = 0;
  for (size_t i = 0; i < step.count(); ++i) {
    std::vector<int64_t> own = step.array(i).lengths;
    lengths[axis] += own[axis];
    own[axis] = lengths[axis];
    step.need(own == lengths, "takes arrays whose other lengths differ");
  }
  ArrayValue result = make_array(step.type().dtype(), lengths);
  if (result.data.empty()) return step.give(std::move(result));
  const auto outer = static_cast<size_t>(element_count(std::span(lengths).first(axis)));
  std::byte* to = result.data.data();
  for (size_t k = 0; k < outer; ++k) {
    for (size_t i = 0; i < step.count(); ++i) {
      const ArrayValue& x = step.array(i);
      const size_t run = x.data.size() / outer;
      if (run > 0) std::memcpy(to, x.data.data() + k * run, run);
      to += run;
    }
  }
  step.give(std::move(result));
}

}  // namespace ingot::ir
