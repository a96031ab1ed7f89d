#pragma once

#include <cstdint>
#include <optional>

#include "base/dtype.h"
#include "base/scalar.h"
#include "ir/op.h"

namespace ingot::ir {

/// Applies an elementwise op to `count` elements: element i of `a` and `b` is i strides (bytes) from the
/// first, a stride of 0 repeats the first; results are contiguous. `b` of a unary op is not read. Elements
/// need not be aligned; those of bool are 0 or 1. The result may overwrite an operand of the same stride. The
/// thread's floating-point state decides the values; see `wants_default_state`.
using ElementLoop = void (*)(const void* a, int64_t a_stride, const void* b, int64_t b_stride, void* out,
                             int64_t count);

/// The loop of an elementwise op over operands of this dtype; null if the op does not accept it.
ElementLoop element_loop(Op op, base::DType dtype);

/// The conversion of elements; unary.
ElementLoop cast_loop(base::DType from, base::DType to);

/// The identity of an associative op: combining it with x gives x (or |x|, of gcd and lcm). None: the op has
/// none for this dtype, and reductions start from their first element (base/reduction.h).
std::optional<base::Scalar> identity_of(Op op, base::DType dtype);

/// The number that, as the second operand of an op, changes no value, not even the sign of a zero; none:
/// there is none.
std::optional<base::Scalar> neutral_of(Op op, base::DType dtype);

/// The number that no other one is below, or above; of floats an infinity.
base::Scalar limit_of(base::DType dtype, bool largest);

}  // namespace ingot::ir
