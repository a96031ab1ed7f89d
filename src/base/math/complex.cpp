#include "base/math/complex_functions.h"

namespace ingot::base::math::elementary {

using Double = std::complex<double>;

#ifdef INGOT_ONE_WAY

#define X(name) \
  Double name(Double z) { return of_any_cpu::name(z); }
INGOT_COMPLEX_FUNCTIONS(X)
#undef X
Double power(Double base, Double exponent) { return of_any_cpu::power(base, exponent); }

#else

// The functions of complex_fma.cpp: the same bits, faster.
namespace {
bool has_fma() { return __builtin_cpu_supports("fma") != 0; }
}  // namespace

#define X(name)                \
  Double name##_fma(Double z); \
  Double name(Double z) { return has_fma() ? name##_fma(z) : of_any_cpu::name(z); }
INGOT_COMPLEX_FUNCTIONS(X)
#undef X
Double power_fma(Double base, Double exponent);
Double power(Double base, Double exponent) {
  return has_fma() ? power_fma(base, exponent) : of_any_cpu::power(base, exponent);
}

#endif

}  // namespace ingot::base::math::elementary
