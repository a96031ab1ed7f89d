#include "base/math/elementary.h"

#include <limits>

#include "base/math/kernels/all.h"

// The C library stands behind those that are no kernels: its long double functions, rounded. They must be
// wider than double, as on x86-64 Linux.

namespace ingot::base::math::elementary {

namespace {

using Wide = long double;
static_assert(std::numeric_limits<Wide>::digits >= 64);

double round(Wide value) { return static_cast<double>(value); }

}  // namespace

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

double gamma(double x) { return round(std::tgamma(Wide{x})); }

double lgamma(double x) {
  int sign;
  return round(::lgammal_r(Wide{x}, &sign));
}

}  // namespace ingot::base::math::elementary
