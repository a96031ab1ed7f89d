#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "base/dtype.h"
#include "ir/op.h"

namespace ingot::frontend {

using base::DType;

/// The type of a scalar in Python: a NumPy dtype, or one of Python's own number types. Python's int, float
/// and complex are weak: together with a NumPy operand they take its dtype if they fit.
class Kind {
 public:
  constexpr Kind() = default;
  constexpr Kind(DType t) : value_(static_cast<uint8_t>(t)) {}  // NOLINT(google-explicit-constructor)
  static constexpr Kind py_bool() { return Kind(uint8_t{base::kDTypeCount}); }
  static constexpr Kind py_int() { return Kind(uint8_t{base::kDTypeCount + 1}); }
  static constexpr Kind py_float() { return Kind(uint8_t{base::kDTypeCount + 2}); }
  static constexpr Kind py_complex() { return Kind(uint8_t{base::kDTypeCount + 3}); }

  constexpr bool is_python() const { return value_ >= base::kDTypeCount; }
  /// int, float or complex.
  constexpr bool is_weak() const { return value_ > base::kDTypeCount; }
  /// The dtype that stores a value of this kind.
  constexpr DType dtype() const {
    if (*this == py_bool()) return DType::Bool;
    if (*this == py_int()) return DType::Int64;
    if (*this == py_float()) return DType::Float64;
    if (*this == py_complex()) return DType::Complex128;
    return static_cast<DType>(value_);  // NOLINT(clang-analyzer-optin.core.EnumCastOutOfRange)
  }
  /// `int`, `float64`.
  std::string_view name() const;

  constexpr bool operator==(const Kind&) const = default;

 private:
  constexpr explicit Kind(uint8_t value) : value_(value) {}
  uint8_t value_ = 0;
};

/// The join of the kinds that a value has on two paths; none: the code is refused.
///   PyBool ⊔ PyInt = PyInt; PyInt ⊔ PyFloat = PyFloat; PyFloat ⊔ PyComplex = PyComplex;
///   weak ⊔ NumPy = the NumPy kind when its class holds the weak one's, the value converted exactly;
///   two NumPy dtypes: the promoted dtype, if it keeps every value of both, or one of them is an integer and
///   the other is not: the integer is converted exactly.
std::optional<Kind> join(Kind a, Kind b);

/// The dtype at which NumPy 2 computes an elementwise function of operands of these kinds: the first loop of
/// `op` to which each operand casts safely, weak ones after promotion. None: the function has no loop for
/// them (a TypeError).
std::optional<DType> loop_dtype(ir::Op op, std::span<const Kind> operands);

/// NumPy 2's result_type of kinds: strong dtypes promote, weak ones follow.
Kind result_kind(std::span<const Kind> operands);

}  // namespace ingot::frontend
