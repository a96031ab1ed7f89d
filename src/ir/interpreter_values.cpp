#include <algorithm>
#include <cstring>

#include "base/strided.h"
#include "ir/interpreter_machine.h"

namespace ingot::ir {

namespace {

using Optional = std::shared_ptr<const OptionalValue>;

/// The most bytes of one array or buffer; and of one whose lengths that are 0 were 1, so that no product of
/// lengths and strides overflows.
constexpr int64_t kMaxBytes = int64_t{1} << 32;
constexpr int64_t kMaxExtent = int64_t{1} << 48;

}  // namespace

size_t byte_count(std::span<const int64_t> lengths, DType dtype) {
  int64_t bytes = static_cast<int64_t>(base::size_of(dtype));
  bool is_empty = false;
  for (int64_t length : lengths) {
    is_empty |= length == 0;
    if (__builtin_mul_overflow(bytes, length == 0 ? 1 : length, &bytes) || bytes > kMaxExtent)
      throw OutOfMemory();
  }
  if (is_empty) return 0;
  if (bytes > kMaxBytes) throw OutOfMemory();
  return static_cast<size_t>(bytes);
}

int64_t element_count(std::span<const int64_t> lengths) {
  uint64_t count = 1;
  for (int64_t length : lengths) count *= static_cast<uint64_t>(length);
  return static_cast<int64_t>(count);
}

ArrayValue make_array(DType dtype, std::vector<int64_t> lengths) {
  const size_t bytes = byte_count(lengths, dtype);
  return {dtype, std::move(lengths), std::vector<std::byte>(bytes)};
}

std::vector<int64_t> c_strides(std::span<const int64_t> lengths, DType dtype) {
  std::vector<int64_t> strides(lengths.size());
  uint64_t stride = base::size_of(dtype);
  for (size_t i = lengths.size(); i-- > 0;) {
    strides[i] = static_cast<int64_t>(stride);
    stride *= static_cast<uint64_t>(lengths[i]);
  }
  return strides;
}

namespace {

bool conforms_optional(const TypeTable& types, Type type, const OptionalValue& value) {
  return value.tag == 0 ? conforms(types, types.members(type)[0], value.inside)
                        : value.tag == 1 || value.tag == 2;
}

bool conforms_scalar(DType dtype, const Scalar& value) {
  Scalar kept;
  std::memcpy(kept.bits.data(), value.bits.data(), base::size_of(dtype));
  return kept == value && !(base::is_bool(dtype) && value.bits[0] > 1);
}

bool conforms_array(Type type, const ArrayValue& value) {
  if (value.dtype != type.dtype() || value.lengths.size() != static_cast<size_t>(type.rank())) return false;
  if (std::ranges::any_of(value.lengths, [](int64_t n) { return n < 0; })) return false;
  if (byte_count(value.lengths, value.dtype) != value.data.size()) return false;
  return !base::is_bool(type.dtype()) ||
         std::ranges::all_of(value.data, [](std::byte b) { return b <= std::byte{1}; });
}

bool conforms_view(Type type, const ViewValue& value) {
  return value.dtype == type.dtype() && value.lengths.size() == static_cast<size_t>(type.rank()) &&
         value.strides.size() == value.lengths.size() && value.block && value.block->space == type.space() &&
         view_fault(value) == nullptr;
}

}  // namespace

bool conforms(const TypeTable& types, Type type, const Value& value) {
  switch (type.kind()) {
    case TypeKind::Void: return std::holds_alternative<std::monostate>(value);
    case TypeKind::Scalar: {
      const auto* scalar = std::get_if<Scalar>(&value);
      return scalar != nullptr && conforms_scalar(type.dtype(), *scalar);
    }
    case TypeKind::Array: {
      const auto* array = std::get_if<std::shared_ptr<const ArrayValue>>(&value);
      return array != nullptr && *array && conforms_array(type, **array);
    }
    case TypeKind::View: {
      const auto* view = std::get_if<ViewValue>(&value);
      return view != nullptr && conforms_view(type, *view);
    }
    case TypeKind::Buffer: {
      const auto* block = std::get_if<BlockRef>(&value);
      return block != nullptr && *block && (*block)->space == type.space();
    }
    case TypeKind::Optional: {
      const auto* optional = std::get_if<Optional>(&value);
      return optional != nullptr && *optional && conforms_optional(types, type, **optional);
    }
    default: return false;
  }
}

Value unspecified(Type type) { return type.is_scalar() ? Value(Scalar{}) : Value(); }

const char* view_fault(const ViewValue& view) {
  if (std::ranges::any_of(view.lengths, [](int64_t length) { return length < 0; }))
    return "a view has a negative length";
  const base::Strided strided{view.lengths, view.strides, static_cast<int64_t>(base::size_of(view.dtype))};
  if (strided.is_empty()) return nullptr;
  const base::WideReach reach = strided.wide_reach();
  if (view.offset + reach.low < 0 || view.offset + reach.high > view.block->size)
    return "a view reaches outside its buffer";
  return nullptr;
}

void normalise(DType dtype, std::span<std::byte> bytes) {
  if (!base::is_bool(dtype)) return;
  for (std::byte& b : bytes) b = static_cast<std::byte>(b != std::byte{0});
}

void interp_some(Step& step) {
  step.give(std::make_shared<const OptionalValue>(OptionalValue{0, step.value(0)}));
}
void interp_none(Step& step) {
  step.give(std::make_shared<const OptionalValue>(OptionalValue{static_cast<int>(step.attribute(0)), {}}));
}
void interp_tag(Step& step) { step.give_number(static_cast<int8_t>(step.as<Optional>(0)->tag)); }
void interp_value(Step& step) {
  const OptionalValue& optional = *step.as<Optional>(0);
  step.give(optional.tag == 0 ? optional.inside : unspecified(step.type()));
}

/// Interpreted after `derive` alone.
void interp_lift(Step& step) { step.fail("a derivative that has not been made"); }
void interp_tangent(Step& step) { interp_lift(step); }
void interp_primal(Step& step) { interp_lift(step); }
void interp_pull(Step& step) { interp_lift(step); }
void interp_back(Step& step) { interp_lift(step); }
void interp_cotangent(Step& step) { interp_lift(step); }
void interp_give(Step& step) { interp_lift(step); }

void copy_out(const std::byte* from, std::span<const int64_t> lengths, std::span<const int64_t> strides,
              size_t size, std::byte* to) {
  for_each_index(lengths, [&](std::span<const int64_t> index) {
    std::memcpy(to, from + dot_product(index, strides), size);
    to += size;
  });
}

}  // namespace ingot::ir
