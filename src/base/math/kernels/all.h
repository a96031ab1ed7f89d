#pragma once

// Each elementary function is one C++ template over a value type (`base/math/kernels`), written with a closed
// set of operations without branches: `+ - * /`, fused multiply-add, sqrt, comparisons and selects,
// operations on the bits. It is instantiated twice: with single numbers (`Plain`), which gives `base::math`,
// hence folding, the interpreter and the functions that the runtime exports; and with LLVM values, scalars or
// vectors of any width (`codegen/emitted.h`), which gives compiled code through `emit_math`
// (`codegen/vecmath.h`). All operations are exact or correctly rounded, so the bits are the same everywhere.
// Where the CPU has no fused multiply-add, compiled code calls the runtime's functions. AVX-512's scalef,
// getexp and getmant replace sequences that give the same bits. Sines of angles above 2^40 (float: 2^17)
// branch to a function of the runtime that reduces by the digits of 2/pi, in integers.
//
// `tools/minimax` derives the polynomials; `make accuracy` measures errors and times into `docs/accuracy.md`.

#include "base/math/kernels/error_function.h"
#include "base/math/kernels/exponential.h"
#include "base/math/kernels/gamma.h"
#include "base/math/kernels/hyperbolic.h"
#include "base/math/kernels/inverse.h"
#include "base/math/kernels/inverse_hyperbolic.h"
#include "base/math/kernels/logarithm.h"
#include "base/math/kernels/neighbours.h"
#include "base/math/kernels/power.h"
#include "base/math/kernels/remainder.h"
#include "base/math/kernels/root.h"
#include "base/math/kernels/sum_of_powers.h"
#include "base/math/kernels/trigonometric.h"

/// The kernels that define `base::math`, `X(op)`: for each `template <class V> V op(V)`, or of two operands,
/// V of float or double.
#define INGOT_UNARY_KERNELS(X) \
  X(cube)                      \
  X(fourth_power)              \
  X(cbrt)                      \
  X(exp)                       \
  X(exp2)                      \
  X(expm1)                     \
  X(log)                       \
  X(log2)                      \
  X(log10)                     \
  X(log1p)                     \
  X(sin)                       \
  X(cos)                       \
  X(tan)                       \
  X(arcsin)                    \
  X(arccos)                    \
  X(arctan)                    \
  X(sinh)                      \
  X(cosh)                      \
  X(tanh)                      \
  X(arcsinh)                   \
  X(arccosh)                   \
  X(arctanh)                   \
  X(erf)                       \
  X(erfc)                      \
  X(gamma)                     \
  X(lgamma)
#define INGOT_BINARY_KERNELS(X) X(power) X(hypot) X(arctan2) X(logaddexp) X(logaddexp2)

/// Those of exact operations, for codegen alone: `base::math` defines them differently, with the same bits.
#define INGOT_EXACT_UNARY_KERNELS(X) X(spacing)
#define INGOT_EXACT_BINARY_KERNELS(X) X(fmod) X(remainder) X(floor_divide) X(nextafter) X(scale_by_power)
