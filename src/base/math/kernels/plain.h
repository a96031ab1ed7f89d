#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

/// The elementary functions are templates over a *value*: one definition each, computed here with single
/// numbers (`Plain`), and by codegen with LLVM values, scalars and vectors (codegen/vecmath). What a kernel
/// may use is the common subset, whose operations give the same bits:
///
///   V       + - * /, unary -, comparisons (masks; false of NaN), implicit from a constant
///   V       fma, sqrt, rint, trunc, magnitude; select(mask, V, V); bits, from_bits
///   Bits    signed integers as wide as V: + - & | ^, << and logical >> by a constant, ==, <
///   Mask    & | !
///   split, scale, scale_anything, reduce_large, replace_...: below
///   widen, narrow: between V of float and V of double
///
/// There are no branches but those of reduce_large and replace_..., so that the lanes of a vector do
/// not differ in time.
namespace ingot::base::math::kernels {

/// x = k * pi/2 + (high + low), |high + low| <= pi/4, the quadrant being k modulo 4.
struct Reduced {
  double high;
  double low;
  int64_t quadrant;
};
/// The same of finite x from 1 on as integers: the rest is (first + second / 2**64 + third / 2**128) / 2**62
/// quarters of the circle, the last digit too small.
struct Turns {
  int64_t quadrant;
  int64_t first;
  uint64_t second;
  uint64_t third;
};
Turns turns_of(double x);
/// Of any finite x from 1 on, the error at most 2**-63 of the rest however small that is; NaN of inf and NaN.
/// By those digits of 2/pi that matter for the exponent of x (Payne and Hanek), in integers.
Reduced reduce_by_half_pi(double x);

template <class T>
struct Plain;

template <class T>
struct PlainMask {
  bool value;
  friend PlainMask operator&(PlainMask a, PlainMask b) { return {a.value && b.value}; }
  friend PlainMask operator|(PlainMask a, PlainMask b) { return {a.value || b.value}; }
  friend PlainMask operator!(PlainMask a) { return {!a.value}; }
};

template <class T>
struct PlainBits {
  using Signed = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;
  using Word = std::make_unsigned_t<Signed>;
  Word word;

  PlainBits(int64_t constant) : word(static_cast<Word>(constant)) {}
  static PlainBits of(Word word) { return PlainBits(static_cast<int64_t>(word)); }
  friend PlainBits operator+(PlainBits a, PlainBits b) { return of(a.word + b.word); }
  friend PlainBits operator-(PlainBits a, PlainBits b) { return of(a.word - b.word); }
  friend PlainBits operator&(PlainBits a, PlainBits b) { return of(a.word & b.word); }
  friend PlainBits operator|(PlainBits a, PlainBits b) { return of(a.word | b.word); }
  friend PlainBits operator^(PlainBits a, PlainBits b) { return of(a.word ^ b.word); }
  friend PlainBits operator<<(PlainBits a, int count) { return of(a.word << count); }
  friend PlainBits operator>>(PlainBits a, int count) { return of(a.word >> count); }
  friend PlainMask<T> operator==(PlainBits a, PlainBits b) { return {a.word == b.word}; }
  friend PlainMask<T> operator<(PlainBits a, PlainBits b) {
    return {static_cast<Signed>(a.word) < static_cast<Signed>(b.word)};
  }
  friend PlainBits select(PlainMask<T> mask, PlainBits a, PlainBits b) { return mask.value ? a : b; }
  friend Plain<T> from_bits(PlainBits a) { return Plain<T>::of(std::bit_cast<T>(a.word)); }
};

template <class T>
struct Plain {
  using Element = T;
  using Bits = PlainBits<T>;
  using Mask = PlainMask<T>;
  T value;

  Plain(double constant) : value(static_cast<T>(constant)) {}
  static Plain of(T value) {
    Plain result(0.0);
    result.value = value;
    return result;
  }
  friend Plain operator+(Plain a, Plain b) { return of(a.value + b.value); }
  friend Plain operator-(Plain a, Plain b) { return of(a.value - b.value); }
  friend Plain operator*(Plain a, Plain b) { return of(a.value * b.value); }
  friend Plain operator/(Plain a, Plain b) { return of(a.value / b.value); }
  friend Plain operator-(Plain a) { return of(-a.value); }
  friend Mask operator<(Plain a, Plain b) { return {a.value < b.value}; }
  friend Mask operator<=(Plain a, Plain b) { return {a.value <= b.value}; }
  friend Mask operator>(Plain a, Plain b) { return {a.value > b.value}; }
  friend Mask operator>=(Plain a, Plain b) { return {a.value >= b.value}; }
  friend Mask operator==(Plain a, Plain b) { return {a.value == b.value}; }
  friend Plain fma(Plain a, Plain b, Plain c) { return of(std::fma(a.value, b.value, c.value)); }
  friend Plain sqrt(Plain a) { return of(std::sqrt(a.value)); }
  friend Plain rint(Plain a) { return of(std::nearbyint(a.value)); }
  friend Plain trunc(Plain a) { return of(std::trunc(a.value)); }
  friend Plain magnitude(Plain a) { return of(std::fabs(a.value)); }
  friend Plain select(Mask mask, Plain a, Plain b) { return mask.value ? a : b; }
  friend Bits bits(Plain a) { return Bits::of(std::bit_cast<typename Bits::Word>(a.value)); }
};

inline Plain<double> widen(Plain<float> a) { return Plain<double>::of(static_cast<double>(a.value)); }
inline Plain<float> narrow(Plain<double> a) { return Plain<float>::of(static_cast<float>(a.value)); }

/// An integer as a number and as bits.
template <class V>
struct Integer {
  V real;
  typename V::Bits bits;
};

/// The layout of a type.
template <class T>
inline constexpr int kFractionBits = std::numeric_limits<T>::digits - 1;
template <class T>
inline constexpr int kBias = std::numeric_limits<T>::max_exponent - 1;

/// y * 2**n, rounded once, for |n| <= 2 * (bias - 1).
template <class V>
V scale_in_halves(V y, Integer<V> n) {
  using T = typename V::Element;
  const typename V::Bits sum = n.bits + 2 * kBias<T>;
  const typename V::Bits half = sum >> 1;
  return y * from_bits(half << kFractionBits<T>) * from_bits((sum - half) << kFractionBits<T>);
}
template <class T>
Plain<T> scale(Plain<T> y, Integer<Plain<T>> n) {
  return scale_in_halves(y, n);
}

/// x = mantissa * 2**exponent, 3/4 <= mantissa < 3/2. Of 0 and inf: mantissa 1, exponent -inf and inf; of NaN
/// and negative numbers the mantissa is NaN.
template <class V>
struct Split {
  V mantissa;
  V exponent;
};
template <class V>
Split<V> split_by_bits(V x) {
  using T = typename V::Element;
  using Bits = typename V::Bits;
  constexpr int kShift = kFractionBits<T>;
  constexpr int64_t kFraction = (int64_t{1} << kShift) - 1;
  constexpr int64_t kThreeQuarters = (int64_t{kBias<T> - 1} << kShift) | (int64_t{1} << (kShift - 1));
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kInteger = kShift == 52 ? 0x1p52 : 0x1p23;
  const auto tiny = x < static_cast<double>(std::numeric_limits<T>::min());
  const V normal = select(tiny, x * kInteger, x);
  const Bits moved = bits(normal) - Bits(kThreeQuarters) + Bits(int64_t{kBias<T>} << kShift);
  const V offset = select(tiny, V(kInteger + kBias<T> + kShift), V(kInteger + kBias<T>));
  V exponent = from_bits((moved >> kShift) | bits(V(kInteger))) - offset;
  exponent = select(x == 0.0, -kInfinity, exponent);
  exponent = select(x == kInfinity, kInfinity, exponent);
  const V mantissa = from_bits((moved & Bits(kFraction)) + Bits(kThreeQuarters));
  return {select(x >= 0.0, mantissa, std::numeric_limits<double>::quiet_NaN()), exponent};
}
template <class T>
Split<Plain<T>> split(Plain<T> x) {
  return split_by_bits(x);
}

/// x as a multiple of pi/2 and a rest: x = k * pi/2 + (high + low).
template <class V>
struct Angle {
  V high;
  V low;
  typename V::Bits quadrant;
};
/// |x| + turn * pi/2 = k * pi + rest, |rest| <= pi/2, turn 0 or 1.
template <class V>
struct HalfTurns {
  V rest;
  typename V::Bits count;  ///< k, of which only the lowest bit counts
};
struct HalfTurnsReduced {
  double rest;
  int64_t count;
};
/// By reduce_by_half_pi.
HalfTurnsReduced reduce_by_pi(double x, int turn);
/// Replaces the parts of `turns` where x is above `limit`.
inline void reduce_large(Plain<float> x, double limit, int turn, HalfTurns<Plain<float>>& turns) {
  if (!(x.value > static_cast<float>(limit))) return;
  const HalfTurnsReduced reduced = reduce_by_pi(static_cast<double>(x.value), turn);
  turns.rest = Plain<float>(reduced.rest);
  turns.count = PlainBits<float>(reduced.count);
}
/// Replaces the parts of `angle` where x is above `limit` by those of reduce_by_half_pi.
inline void reduce_large(Plain<double> x, double limit, Angle<Plain<double>>& angle) {
  if (!(x.value > limit)) return;
  const Reduced reduced = reduce_by_half_pi(x.value);
  angle = {Plain<double>(reduced.high), Plain<double>(reduced.low), PlainBits<double>(reduced.quadrant)};
}

/// Replaces, where the mask is set, what is left of `a` by the C library's fmod of a and b.
template <class T>
void replace_remainders(PlainMask<T> mask, Plain<T> a, Plain<T> b, Plain<T>& rest) {
  if (mask.value) rest = Plain<T>::of(std::fmod(a.value, b.value));
}

/// The gamma function, and the logarithm of its size, of x < 0. The latter's error is small against 1, or
/// against the value.
double gamma_of_negative(double x);
double log_gamma_of_negative(double x);
/// Replaces, where the mask is set, the result by these.
inline void replace_gammas(PlainMask<double> mask, Plain<double> x, Plain<double>& result) {
  if (mask.value) result = Plain<double>::of(gamma_of_negative(x.value));
}
inline void replace_log_gammas(PlainMask<double> mask, Plain<double> x, Plain<double>& result) {
  if (mask.value) result = Plain<double>::of(log_gamma_of_negative(x.value));
}

template <class V>
concept OfDouble = std::is_same_v<typename V::Element, double>;
template <class V>
concept OfFloat = std::is_same_v<typename V::Element, float>;

/// c[0] + c[1] x + ..., by Horner's rule.
template <class V, size_t N>
V polynomial(V x, const double (&c)[N]) {
  V sum = fma(x, V(c[N - 1]), V(c[N - 2]));
  for (size_t i = N - 2; i-- > 0;) sum = fma(sum, x, V(c[i]));
  return sum;
}

/// The same by two chains, of even and of odd powers: faster where there is little other work.
template <class V, size_t N>
V polynomial_in_two(V x, const double (&c)[N]) {
  static_assert(N >= 6);
  const V square = x * x;
  const auto chain = [&](size_t first) {
    size_t i = N - 1 - (N - 1 - first) % 2;
    V sum = fma(square, V(c[i]), V(c[i - 2]));
    for (i -= 2; i > first; i -= 2) sum = fma(sum, square, V(c[i - 2]));
    return sum;
  };
  return fma(chain(1), x, chain(0));
}

/// The nearest integer to x * factor, which is below 2**51 (float: 2**22): added to 1.5 * 2**52 the integer
/// is in the low bits.
template <class V>
Integer<V> nearest_integer(V x, double factor) {
  constexpr double kAnchor = OfDouble<V> ? 0x1.8p52 : 0x1.8p23;
  const V moved = factor == 1 ? x + kAnchor : fma(x, V(factor), V(kAnchor));
  constexpr int64_t kAnchorBits =
      OfDouble<V> ? std::bit_cast<int64_t>(0x1.8p52) : std::bit_cast<int32_t>(0x1.8p23f);
  return {moved - kAnchor, bits(moved) - kAnchorBits};
}

/// NaN stays NaN.
template <class V>
V clamp(V x, double low, double high) {
  const V above = select(V(low) > x, V(low), x);
  return select(V(high) < above, V(high), above);
}

template <class V>
V with_sign_of(V magnitude_of, V sign) {
  constexpr int64_t kSign =
      OfDouble<V> ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int32_t>::min();
  return from_bits(bits(magnitude_of) | (bits(sign) & typename V::Bits(kSign)));
}

/// An unevaluated sum, |low| <= ulp(high)/2 where noted.
template <class V>
struct Pair {
  V high;
  V low;
};
/// a + b exactly, for |a| >= |b| or a = 0.
template <class V>
Pair<V> add_smaller(V a, V b) {
  const V sum = a + b;
  return {sum, (a - sum) + b};
}
/// a + b exactly.
template <class V>
Pair<V> add_exactly(V a, V b) {
  const V sum = a + b;
  const V part = sum - a;
  return {sum, (a - (sum - part)) + (b - part)};
}
/// a * b exactly.
template <class V>
Pair<V> multiply_exactly(V a, V b) {
  const V product = a * b;
  return {product, fma(a, b, -product)};
}
/// The quotient of two pairs, to twice the precision less a few bits.
template <class V>
Pair<V> divide_pairs(Pair<V> a, Pair<V> b) {
  const V inverse = 1.0 / b.high;
  const V quotient = a.high * inverse;
  const V rest = fma(-quotient, b.high, a.high) + fma(-quotient, b.low, a.low);
  return {quotient, rest * inverse};
}

}  // namespace ingot::base::math::kernels
