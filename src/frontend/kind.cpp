#include "frontend/kind.h"

#include <algorithm>
#include <array>

namespace ingot::frontend {

std::string_view Kind::name() const {
  if (*this == py_bool()) return "bool";
  if (*this == py_int()) return "int";
  if (*this == py_float()) return "float";
  return *this == py_complex() ? "complex" : base::info(dtype()).numpy;
}

namespace {

/// The dtype that a weak operand takes together with a strong one: the strong one, if its class suffices.
DType indexed_iterable(Kind weak, DType strong) {
  if (weak == Kind::py_int()) return base::is_bool(strong) ? DType::Int64 : strong;
  const bool inexact = base::is_float(strong) || base::is_complex(strong);
  if (weak == Kind::py_float()) return inexact ? strong : DType::Float64;
  if (base::is_complex(strong)) return strong;
  if (strong == DType::Float32 || strong == DType::Float16) return DType::Complex64;
  return DType::Complex128;
}

}  // namespace

std::optional<Kind> join(Kind a, Kind b) {
  if (a == b) return a;
  if (a.is_python() && b.is_python()) {
    constexpr std::array order = {Kind::py_bool(), Kind::py_int(), Kind::py_float(), Kind::py_complex()};
    Kind top = Kind::py_bool();
    for (const Kind k : order)
      if (k == a || k == b) top = k;
    return top;
  }
  if (a.is_python() != b.is_python()) {
    const Kind python = a.is_python() ? a : b;
    const DType strong = (a.is_python() ? b : a).dtype();
    if (python == Kind::py_bool()) return base::is_bool(strong) ? std::optional<Kind>(strong) : std::nullopt;
    return indexed_iterable(python, strong) == strong ? std::optional<Kind>(strong) : std::nullopt;
  }
  const DType common = base::promote(a.dtype(), b.dtype());
  // promote_types(int64, float32) is float64, which cannot represent every int64: it is converted exactly, as
  // Python's ints are. No integer dtype holds both int64 and uint64.
  if (!base::is_int(common) && base::is_int(a.dtype()) != base::is_int(b.dtype())) return Kind(common);
  const auto keeps = [common](DType from) {
    if (from == common) return true;
    if (base::is_int(from) && !base::is_int(common))
      return base::size_of(from) * 2 <= base::size_of(base::component_of(common));
    return true;
  };
  return keeps(a.dtype()) && keeps(b.dtype()) ? std::optional<Kind>(common) : std::nullopt;
}

Kind result_kind(std::span<const Kind> operands) {
  std::optional<DType> strong;
  for (const Kind k : operands)
    if (!k.is_weak()) strong = strong ? base::promote(*strong, k.dtype()) : k.dtype();
  Kind weak = Kind::py_bool();
  for (const Kind k : operands)
    if (k.is_weak()) weak = join(weak, k).value();
  if (!strong) return weak;
  return weak == Kind::py_bool() ? Kind(*strong) : Kind(indexed_iterable(weak, *strong));
}

std::optional<DType> loop_dtype(ir::Op op, std::span<const Kind> operands) {
  const DType common = result_kind(operands).dtype();
  // Division of integers of any size is done in float64.
  if (op == ir::Op::divide && (base::is_int(common) || base::is_bool(common))) return DType::Float64;
  // Each operand is cast by itself: float16 has loops for an int8 and a uint8, which together are an int16.
  const bool any_weak = std::ranges::any_of(operands, &Kind::is_weak);
  const auto takes = [&](DType loop) {
    if (any_weak) return base::can_cast_safely(common, loop);
    return std::ranges::all_of(operands, [&](Kind k) { return base::can_cast_safely(k.dtype(), loop); });
  };
  for (int i = 0; i < base::kDTypeCount; ++i) {
    const DType loop = static_cast<DType>(i);
    if (ir::accepts(op, loop) && takes(loop)) return loop;
  }
  return std::nullopt;
}

}  // namespace ingot::frontend
