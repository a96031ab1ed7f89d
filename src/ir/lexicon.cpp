#include "ir/lexicon.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace ingot::ir {

namespace {

using base::DType;
using base::Half;
using base::Scalar;

constexpr char kHexDigits[] = "0123456789abcdef";

template <class T>
constexpr bool is_floating = std::is_floating_point_v<T> || std::is_same_v<T, Half>;

std::string hex(uint64_t bits) {
  char buffer[16];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, bits, 16).ptr;
  return "0x" + std::string(buffer, end);
}

std::string shortest(Half value) {
  for (int digits = 1; digits < 9; ++digits) {
    char buffer[32];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, static_cast<double>(value),
                                   std::chars_format::general, digits)
                         .ptr;
    double back = 0;
    std::from_chars(buffer, end, back);
    if (Half(back).bits == value.bits) return {buffer, end};
  }
  return std::to_string(static_cast<double>(value));
}
template <class T>
std::string shortest(T value) {
  char buffer[40];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr};
}

template <class T>
T default_nan() {
  if constexpr (std::is_same_v<T, Half>) {
    return Half::from_bits(0x7e00);
  } else {
    return std::numeric_limits<T>::quiet_NaN();
  }
}

template <class T>
std::string floating_literal(T value) {
  const auto wide = static_cast<double>(value);
  const uint64_t bits = Scalar::of(value).bits[0];
  if (std::isnan(wide)) return bits == Scalar::of(default_nan<T>()).bits[0] ? "nan" : hex(bits);
  if (std::isinf(wide)) return wide < 0 ? "-inf" : "inf";
  std::string text = shortest(value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

template <class T>
std::optional<Scalar> read_hex(std::string_view digits) {
  uint64_t bits = 0;
  const auto [end, error] = std::from_chars(digits.begin(), digits.end(), bits, 16);
  if (error != std::errc() || end != digits.end()) return std::nullopt;
  if (sizeof(T) < 8 && (bits >> (8 * sizeof(T) % 64)) != 0) return std::nullopt;
  if (std::is_same_v<T, bool> && bits > 1) return std::nullopt;
  return Scalar{{bits, 0}};
}

template <class T>
std::optional<Scalar> read_floating(std::string_view text) {
  const bool negative = text.starts_with('-');
  const std::string_view digits = text.substr(negative ? 1 : 0);
  if (digits == "nan" && !negative) return Scalar::of(default_nan<T>());
  if (digits == "inf") {
    const double infinity = std::numeric_limits<double>::infinity();
    return Scalar::of(static_cast<T>(negative ? -infinity : infinity));
  }
  if (digits.empty() || digits[0] < '0' || digits[0] > '9') return std::nullopt;
  std::conditional_t<std::is_same_v<T, float>, float, double> value = 0;
  const auto [end, error] = std::from_chars(text.begin(), text.end(), value);
  if (error != std::errc() || end != text.end()) return std::nullopt;
  const T narrow(value);
  if (std::isinf(static_cast<double>(narrow))) return std::nullopt;
  return Scalar::of(narrow);
}

template <class T>
std::optional<Scalar> read_integer(std::string_view text) {
  T value = 0;
  const auto [end, error] = std::from_chars(text.begin(), text.end(), value);
  if (error != std::errc() || end != text.end()) return std::nullopt;
  return Scalar::of(value);
}

}  // namespace

bool is_word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
         c == '$' || static_cast<unsigned char>(c) >= 0x80;
}

bool is_word(std::string_view name) { return !name.empty() && std::ranges::all_of(name, is_word_character); }

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char const c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (c == '\n') {
      out += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      out += {'\\', 'x', kHexDigits[byte >> 4], kHexDigits[byte & 15]};
    } else {
      out += c;
    }
  }
  return out += '"';
}

std::string symbol(std::string_view name) { return "@" + (is_word(name) ? std::string(name) : quoted(name)); }

std::string literal(DType dtype, Scalar value) {
  return base::visit_dtype(dtype, [&]<class T>() -> std::string {
    if constexpr (std::is_same_v<T, bool>) {
      if (value.bits[0] > 1) return hex(value.bits[0]);
      return value.bits[0] != 0 ? "true" : "false";
    } else if constexpr (base::is_complex_v<T>) {
      const T z = value.as<T>();
      return "(" + floating_literal(z.real()) + ", " + floating_literal(z.imag()) + ")";
    } else if constexpr (is_floating<T>) {
      return floating_literal(value.as<T>());
    } else {
      return std::to_string(value.as<T>());
    }
  });
}

std::optional<Scalar> read_number(DType dtype, std::string_view text) {
  return base::visit_dtype(base::component_of(dtype), [&]<class T>() -> std::optional<Scalar> {
    if (text.starts_with("0x")) return read_hex<T>(text.substr(2));
    if constexpr (std::is_same_v<T, bool>) {
      if (text != "true" && text != "false") return std::nullopt;
      return Scalar::of(text == "true");
    } else if constexpr (is_floating<T>) {
      return read_floating<T>(text);
    } else if constexpr (std::is_integral_v<T>) {
      return read_integer<T>(text);
    } else {
      return std::nullopt;
    }
  });
}

}  // namespace ingot::ir
