#include "base/math/elementary.h"

#include <limits>

// The C library stands behind these. Where its double function errs by more than 1 ulp, the long double one
// is rounded instead; it must be wider than double, as on x86-64 Linux.

namespace ingot::base::math::elementary {

namespace {

using Wide = long double;
static_assert(std::numeric_limits<Wide>::digits >= 64);

double round(Wide value) { return static_cast<double>(value); }

}  // namespace

double exp(double x) { return std::exp(x); }
double exp2(double x) { return std::exp2(x); }
double log(double x) { return std::log(x); }
double log2(double x) { return std::log2(x); }
double sin(double x) { return std::sin(x); }
double cos(double x) { return std::cos(x); }
double tan(double x) { return std::tan(x); }
double arcsin(double x) { return std::asin(x); }
double arccos(double x) { return std::acos(x); }
double arctan(double x) { return std::atan(x); }
double arctan2(double y, double x) { return std::atan2(y, x); }
double power(double x, double y) { return std::pow(x, y); }

double cbrt(double x) { return round(std::cbrt(Wide{x})); }
double expm1(double x) { return round(std::expm1(Wide{x})); }
double log10(double x) { return round(std::log10(Wide{x})); }
double log1p(double x) { return round(std::log1p(Wide{x})); }
double sinh(double x) { return round(std::sinh(Wide{x})); }
double cosh(double x) { return round(std::cosh(Wide{x})); }
double tanh(double x) { return round(std::tanh(Wide{x})); }
double arcsinh(double x) { return round(std::asinh(Wide{x})); }
double arccosh(double x) { return round(std::acosh(Wide{x})); }
double arctanh(double x) { return round(std::atanh(Wide{x})); }
double erf(double x) { return round(std::erf(Wide{x})); }
double erfc(double x) { return round(std::erfc(Wide{x})); }
double gamma(double x) { return round(std::tgamma(Wide{x})); }
double hypot(double x, double y) { return round(std::hypot(Wide{x}, Wide{y})); }

double lgamma(double x) {
  int sign;
  return round(::lgammal_r(Wide{x}, &sign));
}

double logaddexp(double x, double y) {
  // Also infinities of one sign.
  if (x == y) return round(Wide{x} + std::numbers::ln2_v<Wide>);
  const Wide difference = Wide{x} - Wide{y};
  if (difference != difference) return round(difference);
  return round(std::fmax(Wide{x}, Wide{y}) + std::log1p(std::exp(-std::fabs(difference))));
}

double logaddexp2(double x, double y) {
  if (x == y) return round(Wide{x} + 1);
  const Wide difference = Wide{x} - Wide{y};
  if (difference != difference) return round(difference);
  return round(std::fmax(Wide{x}, Wide{y}) +
               std::numbers::log2e_v<Wide> * std::log1p(std::exp2(-std::fabs(difference))));
}

}  // namespace ingot::base::math::elementary
