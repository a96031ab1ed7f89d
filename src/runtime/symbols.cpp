#include "runtime/symbols.h"

#include <math.h>
#include <string.h>

#include "base/random.h"
#include "runtime/device_calls.h"
#include "runtime/math_symbols.h"
#include "runtime/sorts.h"

namespace ingot::runtime {

// clang-format off
#define UNARY(fn)                                 \
  X(#fn, static_cast<double (*)(double)>(::fn))   \
  X(#fn "f", static_cast<float (*)(float)>(::fn##f))
#define BINARY(fn)                                        \
  X(#fn, static_cast<double (*)(double, double)>(::fn))   \
  X(#fn "f", static_cast<float (*)(float, float)>(::fn##f))

// The table: X(name, address). Casts choose among the overloads that C++ adds.
#define INGOT_SYMBOLS                                                                                  \
  X("ingot_v1_allocate", ingot_v1_allocate)                                                            \
  X("ingot_v1_allocate_temporary", ingot_v1_allocate_temporary)                                        \
  X("ingot_v1_release", ingot_v1_release)                                                              \
  X("ingot_v1_outside", ingot_v1_outside)                                                              \
  X("ingot_v1_let_go", ingot_v1_let_go)                                                                \
  X("ingot_v1_poll", ingot_v1_poll)                                                                    \
  X("ingot_v1_parallel", ingot_v1_parallel)                                                            \
  X("ingot_v1_enter_default_state", ingot_v1_enter_default_state)                                      \
  X("ingot_v1_leave_default_state", ingot_v1_leave_default_state)                                      \
  X("ingot_v1_device_allocate", ingot_v1_device_allocate)                                              \
  X("ingot_v1_device_launch", ingot_v1_device_launch)                                                  \
  X("ingot_v1_device_clear", ingot_v1_device_clear)                                                    \
  X("ingot_v1_device_read", ingot_v1_device_read)                                                      \
  X("ingot_v1_device_read_row", ingot_v1_device_read_row)                                              \
  X("ingot_v1_device_outside", ingot_v1_device_outside)                                                \
  X("ingot_v1_device_stage", ingot_v1_device_stage)                                                    \
  X("ingot_v1_device_stage_stream", ingot_v1_device_stage_stream)                                      \
  X("ingot_v1_device_write_back", ingot_v1_device_write_back)                                          \
  X("ingot_v1_device_sort", ingot_v1_device_sort)                                                      \
  X("ingot_v1_device_argsort", ingot_v1_device_argsort)                                                \
  X("ingot_v1_sort", ingot_v1_sort)                                                                    \
  X("ingot_v1_argsort", ingot_v1_argsort)                                                              \
  X("ingot_v1_reduce_angles_f64", ingot_v1_reduce_angles_f64)                                          \
  X("ingot_v1_reduce_angles_f32", ingot_v1_reduce_angles_f32)                                          \
  X("ingot_v1_remainders_f64", ingot_v1_remainders_f64)                                                \
  X("ingot_v1_remainders_f32", ingot_v1_remainders_f32)                                                \
  X("ingot_v1_gammas_f64", ingot_v1_gammas_f64)                                                        \
  X("ingot_v1_log_gammas_f64", ingot_v1_log_gammas_f64)                                                \
  X("memcpy", static_cast<void* (*)(void*, const void*, size_t)>(::memcpy))                            \
  X("memmove", static_cast<void* (*)(void*, const void*, size_t)>(::memmove))                          \
  X("memset", static_cast<void* (*)(void*, int, size_t)>(::memset))                                    \
  UNARY(sin) UNARY(cos) UNARY(tan) UNARY(asin) UNARY(acos) UNARY(atan)                                 \
  UNARY(sinh) UNARY(cosh) UNARY(tanh) UNARY(asinh) UNARY(acosh) UNARY(atanh)                           \
  UNARY(exp) UNARY(exp2) UNARY(exp10) UNARY(expm1) UNARY(log) UNARY(log2) UNARY(log10) UNARY(log1p)    \
  UNARY(cbrt) UNARY(erf) UNARY(erfc) UNARY(lgamma) UNARY(tgamma)                                       \
  UNARY(floor) UNARY(ceil) UNARY(trunc) UNARY(round) UNARY(roundeven) UNARY(rint) UNARY(nearbyint)     \
  BINARY(atan2) BINARY(pow) BINARY(hypot) BINARY(fmod) BINARY(nextafter) BINARY(fmin) BINARY(fmax)     \
  X("fma", static_cast<double (*)(double, double, double)>(::fma))                                     \
  X("fmaf", static_cast<float (*)(float, float, float)>(::fmaf))                                       \
  X("ldexp", static_cast<double (*)(double, int)>(::ldexp))                                            \
  X("ldexpf", static_cast<float (*)(float, int)>(::ldexpf))                                            \
  X("sincos", static_cast<void (*)(double, double*, double*)>(::sincos))                               \
  X("sincosf", static_cast<void (*)(float, float*, float*)>(::sincosf))
// clang-format on

std::span<const std::string_view> symbol_names() {
#define X(name, address) name,                                  // NOLINT(bugprone-macro-parentheses)
  static constexpr std::string_view names[] = {INGOT_SYMBOLS};  // NOLINT(bugprone-suspicious-missing-comma)
#undef X
  return names;
}

void* find_symbol(std::string_view name) {
#define X(candidate, address) \
  if (name == (candidate)) return reinterpret_cast<void*>(address);
  INGOT_SYMBOLS
#undef X
  constexpr std::string_view kDraw = "ingot_v1_draw_";
  if (name.starts_with(kDraw)) {
    const base::DrawInfo* const routine = base::find_draw(name.substr(kDraw.size()));
    return routine == nullptr ? nullptr : routine->address;
  }
  return find_math_function(name);
}

}  // namespace ingot::runtime
