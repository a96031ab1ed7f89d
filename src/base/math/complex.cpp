#include "base/math/complex.h"

namespace ingot::base::math::elementary {

namespace {

using Double = std::complex<double>;
using Real = long double;
using Wide = std::complex<Real>;

Double round(const Wide& z) { return {static_cast<double>(z.real()), static_cast<double>(z.imag())}; }
Wide scaled(const Wide& z, Real factor) { return {z.real() * factor, z.imag() * factor}; }

}  // namespace

Double sqrt(Double z) { return round(std::sqrt(Wide(z))); }
Double exp(Double z) { return round(std::exp(Wide(z))); }
Double exp2(Double z) { return round(std::exp(scaled(Wide(z), std::numbers::ln2_v<Real>))); }
Double log(Double z) { return round(std::log(Wide(z))); }
Double log2(Double z) { return round(scaled(std::log(Wide(z)), std::numbers::log2e_v<Real>)); }
Double log10(Double z) { return round(scaled(std::log(Wide(z)), std::numbers::log10e_v<Real>)); }
Double sin(Double z) { return round(std::sin(Wide(z))); }
Double cos(Double z) { return round(std::cos(Wide(z))); }
Double tan(Double z) { return round(std::tan(Wide(z))); }
Double arcsin(Double z) { return round(std::asin(Wide(z))); }
Double arccos(Double z) { return round(std::acos(Wide(z))); }
Double arctan(Double z) { return round(std::atan(Wide(z))); }
Double sinh(Double z) { return round(std::sinh(Wide(z))); }
Double cosh(Double z) { return round(std::cosh(Wide(z))); }
Double tanh(Double z) { return round(std::tanh(Wide(z))); }
Double arcsinh(Double z) { return round(std::asinh(Wide(z))); }
Double arccosh(Double z) { return round(std::acosh(Wide(z))); }
Double arctanh(Double z) { return round(std::atanh(Wide(z))); }
Double power(Double base, Double exponent) { return round(std::pow(Wide(base), Wide(exponent))); }

Double expm1(Double z) {
  const Real x = z.real();
  const Real y = z.imag();
  const Real half_sine = std::sin(y / 2);
  return round(Wide(std::expm1(x) * std::cos(y) - 2 * half_sine * half_sine, std::exp(x) * std::sin(y)));
}

Double log1p(Double z) {
  const Real x = z.real();
  const Real y = z.imag();
  const Real angle = std::atan2(y, x + 1);
  // Near 0, |1 + z|**2 - 1 keeps what 1 + z loses.
  const bool near = std::fabs(x) < 0.25L && std::fabs(y) < 0.25L;
  const Real size = near ? std::log1p(x * (2 + x) + y * y) / 2 : std::log(std::hypot(x + 1, y));
  return round(Wide(size, angle));
}

}  // namespace ingot::base::math::elementary
