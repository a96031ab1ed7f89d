#pragma once

#include <complex>

#include "base/math/arithmetic.h"
#include "base/math/elementary.h"
#include "base/math/floating.h"
#include "base/math/types.h"

namespace ingot::base::math {

/// The definitions, for complex<double>: made of functions of the parts (`exp`, `sqrt`, `sin`, `cos`, `sinh`,
/// `cosh`), or computed wider and rounded once, the error small against the modulus; special values as C's
/// Annex G. complex<float> computes in complex<double>.
namespace elementary {

std::complex<double> sqrt(std::complex<double> z);
std::complex<double> exp(std::complex<double> z);
std::complex<double> exp2(std::complex<double> z);
std::complex<double> expm1(std::complex<double> z);
std::complex<double> log(std::complex<double> z);
std::complex<double> log2(std::complex<double> z);
std::complex<double> log10(std::complex<double> z);
std::complex<double> log1p(std::complex<double> z);
std::complex<double> sin(std::complex<double> z);
std::complex<double> cos(std::complex<double> z);
std::complex<double> tan(std::complex<double> z);
std::complex<double> arcsin(std::complex<double> z);
std::complex<double> arccos(std::complex<double> z);
std::complex<double> arctan(std::complex<double> z);
std::complex<double> sinh(std::complex<double> z);
std::complex<double> cosh(std::complex<double> z);
std::complex<double> tanh(std::complex<double> z);
std::complex<double> arcsinh(std::complex<double> z);
std::complex<double> arccosh(std::complex<double> z);
std::complex<double> arctanh(std::complex<double> z);
/// Of finite numbers, the base not 0.
std::complex<double> power(std::complex<double> base, std::complex<double> exponent);

}  // namespace elementary

/// Only float and double have a complex type.
template <class T>
  requires std::same_as<T, float> || std::same_as<T, double>
std::complex<T> make_complex(T real, T imaginary) {
  return {real, imaginary};
}
template <Complex T>
component_t<T> real(T z) {
  return z.real();
}
template <Complex T>
component_t<T> imaginary(T z) {
  return z.imag();
}

/// The modulus.
template <Complex T>
component_t<T> absolute(T z) {
  return hypot(z.real(), z.imag());
}

/// z / |z|; 0 of 0. Where the modulus is infinite, as NumPy: an infinite real part gives its sign, or NaN
/// next to an infinite imaginary part; else the imaginary part gives its sign, times i.
template <Complex T>
T sign(T z) {
  using Part = component_t<T>;
  const Part size = absolute(z);
  if (size == 0) return T(0, 0);
  if (!std::isinf(size) || (std::isinf(z.real()) && std::isinf(z.imag())))
    return T(z.real() / size, z.imag() / size);
  return std::isinf(z.real()) ? T(sign(z.real()), 0) : T(0, sign(z.imag()));
}

#define INGOT_COMPLEX(name)                                          \
  template <Complex T>                                               \
  T name(T z) {                                                      \
    return cast<T>(elementary::name(cast<std::complex<double>>(z))); \
  }
INGOT_COMPLEX(sqrt)
INGOT_COMPLEX(exp)
/// exp2(z) = exp(z ln 2), expm1(z) = exp(z) - 1, log1p(z) = log(1 + z).
INGOT_COMPLEX(exp2)
INGOT_COMPLEX(expm1)
INGOT_COMPLEX(log)
INGOT_COMPLEX(log2)
INGOT_COMPLEX(log10)
INGOT_COMPLEX(log1p)
INGOT_COMPLEX(sin)
INGOT_COMPLEX(cos)
INGOT_COMPLEX(tan)
INGOT_COMPLEX(arcsin)
INGOT_COMPLEX(arccos)
INGOT_COMPLEX(arctan)
INGOT_COMPLEX(sinh)
INGOT_COMPLEX(cosh)
INGOT_COMPLEX(tanh)
INGOT_COMPLEX(arcsinh)
INGOT_COMPLEX(arccosh)
INGOT_COMPLEX(arctanh)
#undef INGOT_COMPLEX

/// C's product: where both parts are NaN, infinite factors make it infinite.
template <Complex T>
T product_of_infinities(T z, T w) {
  using Part = component_t<T>;
  constexpr Part kInfinity = std::numeric_limits<Part>::infinity();
  const T usual = multiply(z, w);
  if (!std::isnan(usual.real()) || !std::isnan(usual.imag()) || (!isinf(z) && !isinf(w))) return usual;
  // Of an infinite factor only directions count; NaN of the other is 0.
  const auto direction = [](T factor, bool is_infinite) {
    const auto part = [&](Part x) {
      const bool is_one = std::isinf(x) && is_infinite;
      return is_infinite || std::isnan(x) ? std::copysign(Part(is_one ? 1 : 0), x) : x;
    };
    return T(part(factor.real()), part(factor.imag()));
  };
  const T product = multiply(direction(z, isinf(z)), direction(w, isinf(w)));
  return T(kInfinity * product.real(), kInfinity * product.imag());
}

/// NumPy's cases: an exponent of 0 gives 1; base 0 gives 0 for an exponent of positive real part, else NaN;
/// an integer exponent between -100 and 100 multiplies (and divides 1 by the product); any other gives
/// exp(exponent * log(base)).
template <Complex T>
T power(T base, T exponent) {
  using Part = component_t<T>;
  const Part real = exponent.real();
  if (real == 0 && exponent.imag() == 0) return T(1, 0);
  if (base.real() == 0 && base.imag() == 0) {
    const Part nan = std::numeric_limits<Part>::quiet_NaN();
    return real > 0 ? T(0, 0) : T(nan, nan);
  }
  if (exponent.imag() == 0 && real > -100 && real < 100 && std::trunc(real) == real) {
    if (real == 1) return base;
    if (real == 2) return multiply(base, base);
    if (real == 3) return multiply(base, multiply(base, base));
    T result(1, 0);
    T factor = base;
    for (auto rest = static_cast<unsigned>(std::fabs(real));;) {
      if ((rest & 1) != 0) result = multiply(result, factor);
      rest >>= 1;
      if (rest == 0) break;
      factor = multiply(factor, factor);
    }
    return real < 0 ? divide(T(1, 0), result) : result;
  }
  if (!isfinite(base) || !isfinite(exponent))
    return math::exp(product_of_infinities(exponent, math::log(base)));
  using Double = std::complex<double>;
  return cast<T>(elementary::power(cast<Double>(base), cast<Double>(exponent)));
}

}  // namespace ingot::base::math
