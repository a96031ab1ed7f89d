#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/message.h"
#include "base/text.h"
#include "runtime/object_info.h"

namespace ingot::runtime {

namespace {

/// The fewest digits that tell a finite binary16 number, not 0, from its neighbours, as "d.ddde±xx".
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
    // The value may lie in the middle between two decimals, of which only the larger reads back.
    for (const double rounded : {value, above}) {
      char text[40];
      auto end = std::to_chars(text, text + sizeof text, rounded, std::chars_format::scientific, digits).ptr;
      double decimal = 0;
      std::from_chars(text, end, decimal);
      if (reads_back(decimal)) return {text, end};
    }
  }
}

/// As NumPy's `str` of a binary16 scalar.
std::string show_half(double value) {
  if (value == 0 || !std::isfinite(value)) return base::repr(value);
  std::string scientific = shortest_half(value);
  if (std::fabs(value) >= 1000 || std::fabs(value) < 1e-4) return scientific;
  // The digits are few: read as a double they are also what Python shows.
  return base::repr(base::parse_float(scientific).value());
}

std::string show(base::DType t, uint64_t bits) {
  if (base::is_bool(t)) return base::repr(bits != 0);
  if (base::is_int(t)) return base::is_signed(t) ? base::repr(static_cast<int64_t>(bits)) : base::repr(bits);
  const auto value = std::bit_cast<double>(bits);
  if (t == base::DType::Float16) return show_half(value);
  return t == base::DType::Float32 ? base::repr(static_cast<float>(value)) : base::repr(value);
}

std::string format_without_site(const Error& error) {
  if (error.status == status_of(base::ExceptionKind::MemoryError))
    return "Unable to allocate " + std::to_string(static_cast<int64_t>(error.arguments[0])) + " bytes";
  if (error.status == status_of(base::ExceptionKind::RecursionError))
    return "maximum recursion depth exceeded";
  return "";
}

}  // namespace

std::string format_error(const ObjectInfo& info, const Error& error) {
  if (error.site == Error::kNoSite) return format_without_site(error);
  INGOT_ASSERT(error.site < info.sites.size(), "runtime: an error of an unknown site");
  const ErrorSite& site = info.sites[error.site];
  INGOT_ASSERT(site.arguments.size() <= Error::kMaxArguments, "runtime: a site with too many arguments");
  std::vector<std::string> values;
  values.reserve(site.arguments.size());
  for (size_t i = 0; i < site.arguments.size(); ++i)
    values.push_back(show(site.arguments[i], error.arguments[i]));
  return base::fill_message(site.message, values);
}

}  // namespace ingot::runtime
