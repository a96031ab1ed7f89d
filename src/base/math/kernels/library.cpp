#include <cmath>
#include <limits>

#include "base/math/kernels/plain.h"

// The C library stands behind what kernels leave out: its long double functions, rounded. They must be
// wider than double, as on x86-64 Linux.

namespace ingot::base::math::kernels {

using Wide = long double;
static_assert(std::numeric_limits<Wide>::digits >= 64);

double library_gamma(double x) { return static_cast<double>(std::tgamma(Wide{x})); }

double library_log_gamma(double x) {
  int sign;
  return static_cast<double>(::lgammal_r(Wide{x}, &sign));
}

}  // namespace ingot::base::math::kernels
