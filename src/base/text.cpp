#include "base/text.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>
#include <type_traits>

namespace ingot::base {

namespace {

/// The shortest digits of a finite magnitude, and the power of ten of the first.
struct Decimal {
  std::string digits;
  int exponent;
};

template <class T>
Decimal shortest(T magnitude) {
  char text[64];
  const auto end = std::to_chars(text, text + sizeof text, magnitude, std::chars_format::scientific).ptr;
  Decimal decimal{{}, 0};
  const char* at = text;
  for (; at != end && *at != 'e'; ++at)
    if (*at != '.') decimal.digits += *at;
  ++at;
  if (at < end && *at == '+') ++at;
  std::from_chars(at, end, decimal.exponent);
  return decimal;
}

/// Appends a magnitude; `whole` is the suffix of an integral value without an exponent.
template <class T>
void append_magnitude(std::string& text, T magnitude, std::string_view whole) {
  if (std::isnan(magnitude) || std::isinf(magnitude)) {
    text += std::isnan(magnitude) ? "nan" : "inf";
    return;
  }
  const auto [digits, exponent] = shortest(magnitude);
  const std::string_view all = digits;
  // From here on an exponent is written, as by Python for double and NumPy for float.
  const double large = std::is_same_v<T, float> ? 1e6 : 1e16;
  const auto wide = static_cast<double>(magnitude);
  if (wide != 0 && (wide < 1e-4 || wide >= large)) {
    text += all[0];
    if (all.size() > 1) (text += '.') += all.substr(1);
    text += exponent < 0 ? "e-" : "e+";
    if (std::abs(exponent) < 10) text += '0';
    text += std::to_string(std::abs(exponent));
  } else if (exponent < 0) {
    text += "0.";
    text.append(static_cast<size_t>(-exponent - 1), '0') += all;
  } else if (const auto before_point = static_cast<size_t>(exponent + 1); all.size() <= before_point) {
    text += all;
    text.append(before_point - all.size(), '0') += whole;
  } else {
    ((text += all.substr(0, before_point)) += '.') += all.substr(before_point);
  }
}

template <class T>
void append(std::string& text, T value, std::string_view whole) {
  if (std::signbit(value) && !std::isnan(value)) text += '-';
  append_magnitude(text, std::fabs(value), whole);
}

template <class T>
std::string real_text(T value) {
  std::string text;
  append(text, value, ".0");
  return text;
}

template <class T>
std::string complex_text(std::complex<T> value) {
  std::string text;
  const T imaginary = value.imag();
  if (value.real() == 0 && !std::signbit(value.real())) {
    append(text, imaginary, "");
    return text += 'j';
  }
  text += '(';
  append(text, value.real(), "");
  if (!std::signbit(imaginary) || std::isnan(imaginary)) text += '+';
  append(text, imaginary, "");
  return text += "j)";
}

/// Whether the number that these digits (and point, and exponent) write, known to leave the type, is a large
/// one.
bool is_large(std::string_view text) {
  int64_t power = 0;
  bool seen_digit = false;
  bool seen_point = false;
  size_t at = 0;
  for (; at < text.size() && (text[at] | 0x20) != 'e'; ++at) {
    if (text[at] == '.') {
      seen_point = true;
      continue;
    }
    seen_digit = seen_digit || text[at] != '0';
    if (seen_digit && !seen_point) ++power;
    if (!seen_digit && seen_point) --power;
  }
  if (at == text.size()) return power > 0;
  ++at;
  const bool minus = at < text.size() && text[at] == '-';
  if (at < text.size() && (minus || text[at] == '+')) ++at;
  int64_t exponent = 0;
  const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), exponent);
  if (error == std::errc::result_out_of_range) return !minus;
  return power + (minus ? -exponent : exponent) > 0;
}

/// The fewest digits that distinguish a finite binary16 number, not 0, from its neighbours, as "d.ddde±xx".
std::string shortest_half(double value) {
  const int exponent = std::max(std::ilogb(value), -14);
  const double spacing = std::ldexp(1.0, exponent - 10);
  const bool is_even = std::fmod(value / spacing, 2) == 0;
  const bool is_power = std::fabs(value) == std::ldexp(1.0, exponent) && exponent > -14;
  auto reads_back = [&](double decimal) {
    // Below a power of two the neighbour is only half as far away.
    const double room = is_power && std::fabs(decimal) < std::fabs(value) ? spacing / 4 : spacing / 2;
    const double distance = std::fabs(decimal - value);
    return distance < room || (distance == room && is_even);
  };
  const double above = std::nextafter(value, std::copysign(INFINITY, value));
  for (int digits = 0;; ++digits) {
    // The value may be in the middle between two decimals, of which only the larger reads back.
    for (const double rounded : {value, above}) {
      char text[40];
      auto end = std::to_chars(text, text + sizeof text, rounded, std::chars_format::scientific, digits).ptr;
      double decimal = 0;
      std::from_chars(text, end, decimal);
      if (reads_back(decimal)) return {text, end};
    }
  }
}

}  // namespace

std::string repr(double value) { return real_text(value); }
std::string repr(float value) { return real_text(value); }
std::string repr(Half half) {
  const double value = static_cast<double>(half);
  if (value == 0 || !std::isfinite(value)) return repr(value);
  std::string scientific = shortest_half(value);
  if (std::fabs(value) >= 1000 || std::fabs(value) < 1e-4) return scientific;
  // The digits are few: read as a double, they print as in Python.
  return repr(parse_float(scientific).value());
}
std::string repr(std::complex<double> value) { return complex_text(value); }
std::string repr(std::complex<float> value) { return complex_text(value); }
std::string repr(bool value) { return value ? "True" : "False"; }
std::string repr(int64_t value) { return std::to_string(value); }
std::string repr(uint64_t value) { return std::to_string(value); }

std::optional<double> parse_float(std::string_view text) {
  const bool minus = text.starts_with('-');
  if (minus || text.starts_with('+')) text.remove_prefix(1);
  // from_chars would accept a second sign, and `nan(...)`.
  if (text.empty() || text[0] == '-' || text[0] == '+' || text.ends_with(')')) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::invalid_argument || end != text.data() + text.size()) return std::nullopt;
  if (error == std::errc::result_out_of_range)
    value = is_large(text) ? std::numeric_limits<double>::infinity() : 0.0;
  return minus ? -value : value;
}

}  // namespace ingot::base
