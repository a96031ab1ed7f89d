// The complex functions for CPUs with fused multiply-add. Nothing that other sources have as well may be
// compiled here out of line, or it would need such a CPU everywhere.

#define INGOT_WIDE_WAY with_fma
#include "base/math/complex_functions.h"

namespace ingot::base::math::elementary {

using Double = std::complex<double>;

#define X(name)                \
  Double name##_fma(Double z); \
  Double name##_fma(Double z) { return with_fma::name(z); }
INGOT_COMPLEX_FUNCTIONS(X)
#undef X
Double power_fma(Double base, Double exponent);
Double power_fma(Double base, Double exponent) { return with_fma::power(base, exponent); }

}  // namespace ingot::base::math::elementary
