// The complex functions for CPUs with fused multiply-add. No function that other sources also have may be
// compiled here out of line, or it would require such a CPU everywhere.

#define INGOT_WIDE_VARIANT with_fma
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
