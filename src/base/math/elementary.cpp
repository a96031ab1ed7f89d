#include "base/math/elementary.h"

#include <limits>

#include "base/math/kernels/all.h"

// The C library stands behind what kernels leave out: its long double functions, rounded. They must be
// wider than double, as on x86-64 Linux.

namespace ingot::base::math {

namespace kernels {

using Wide = long double;
static_assert(std::numeric_limits<Wide>::digits >= 64);

double library_gamma(double x) { return static_cast<double>(std::tgamma(Wide{x})); }

double library_log_gamma(double x) {
  int sign;
  return static_cast<double>(::lgammal_r(Wide{x}, &sign));
}

}  // namespace kernels

namespace elementary {

#define KERNEL(name)                                                                   \
  double name(double x) { return kernels::name(kernels::Plain<double>::of(x)).value; } \
  float name(float x) { return kernels::name(kernels::Plain<float>::of(x)).value; }
INGOT_UNARY_KERNELS(KERNEL)
#undef KERNEL
#define KERNEL(name)                                                                          \
  double name(double x, double y) {                                                           \
    return kernels::name(kernels::Plain<double>::of(x), kernels::Plain<double>::of(y)).value; \
  }                                                                                           \
  float name(float x, float y) {                                                              \
    return kernels::name(kernels::Plain<float>::of(x), kernels::Plain<float>::of(y)).value;   \
  }
INGOT_BINARY_KERNELS(KERNEL)
#undef KERNEL

}  // namespace elementary

}  // namespace ingot::base::math
