#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "ir/builder.h"

// Every elementwise op at every dtype, and every cast, with special operands, judged by ir::evaluate. The
// table makes the cases, so that no card can be forgotten.

namespace ingot::codegen {

using base::DType;
using base::Scalar;
using ir::Op;

inline std::vector<double> float_edges(DType t) {
  const double inf = std::numeric_limits<double>::infinity();
  std::vector<double> v = {0.0,
                           -0.0,
                           1,
                           -1,
                           2,
                           -2,
                           3,
                           -3,
                           0.5,
                           -0.5,
                           1.5,
                           -1.5,
                           2.5,
                           -2.5,
                           0.1,
                           -0.1,
                           0.3,
                           7,
                           -7,
                           10,
                           100.25,
                           -100.25,
                           1e-5,
                           1024,
                           65504,
                           65520,
                           -65520,
                           65519.996,
                           70000,
                           2147483647,
                           2147483648.0,
                           -2147483648.0,
                           -2147483649.0,
                           4294967295.0,
                           4294967296.0,
                           9223372036854775807.0,
                           -9223372036854775808.0,
                           18446744073709551616.0,
                           1e19,
                           -1e19,
                           1.8e19,
                           1e30,
                           -1e30,
                           inf,
                           -inf,
                           std::nan(""),
                           6.103515625e-05,
                           5.960464477539063e-08,
                           2.9802322387695312e-08,
                           3e-8,
                           8.9e-8,
                           1e-40,
                           -1e-310,
                           3.14159,
                           -2.71828,
                           255.5,
                           256,
                           127,
                           128,
                           -128,
                           -129};
  if (t == DType::Float64)
    v.insert(v.end(), {1e300, -1e300, 1e-300, std::numeric_limits<double>::denorm_min(),
                       std::numeric_limits<double>::max(), 0.99999999999999989});
  if (t == DType::Float32) v.insert(v.end(), {1e38, -3.4e38, 1.2e-38, 1e-45});
  return v;
}

inline std::vector<Scalar> edges(DType t) {
  std::vector<Scalar> values;
  if (base::is_bool(t)) return {Scalar::of(false), Scalar::of(true)};
  if (base::is_int(t)) {
    const int width = static_cast<int>(8 * base::size_of(t));
    const uint64_t top = uint64_t{1} << (width - 1);
    for (uint64_t word : {uint64_t{0},   uint64_t{1},
                          ~uint64_t{0},  uint64_t{2},
                          ~uint64_t{1},  uint64_t{3},
                          uint64_t{5},   uint64_t{7},
                          ~uint64_t{6},  uint64_t{10},
                          uint64_t{12},  uint64_t{31},
                          uint64_t{63},  uint64_t{64},
                          uint64_t{100}, ~uint64_t{99},
                          top,           top - 1,
                          top + 1,       top / 2,
                          top / 3,       uint64_t{0x5a5a5a5a5a5a5a5a}}) {
      Scalar s;
      s.bits[0] = width == 64 ? word : word & ((uint64_t{1} << width) - 1);
      values.push_back(s);
    }
    return values;
  }
  const DType part = base::component_of(t);
  std::vector<Scalar> parts;
  for (double x : float_edges(part)) parts.push_back(ir::evaluate_cast(DType::Float64, part, Scalar::of(x)));
  if (!base::is_complex(t)) return parts;
  const size_t size = base::size_of(part);
  for (size_t i = 0; i < parts.size(); ++i)
    for (size_t j = i % 3; j < parts.size(); j += i % 5 + 3) {
      Scalar s;
      std::memcpy(s.bits.data(), &parts[i].bits, size);
      std::memcpy(reinterpret_cast<char*>(s.bits.data()) + size, &parts[j].bits, size);
      values.push_back(s);
    }
  return values;
}

inline bool same_part(DType t, const char* a, const char* b) {
  const auto is_nan = [t](const char* at) {
    const Scalar wide = ir::evaluate_cast(t, DType::Float64, Scalar::load(t, at));
    return std::isnan(wide.as<double>());
  };
  return std::memcmp(a, b, base::size_of(t)) == 0 || (base::is_float(t) && is_nan(a) && is_nan(b));
}
inline bool same(DType t, const Scalar& a, const Scalar& b) {
  const DType part = base::component_of(t);
  for (size_t at = 0; at < base::size_of(t); at += base::size_of(part))
    if (!same_part(part, reinterpret_cast<const char*>(a.bits.data()) + at,
                   reinterpret_cast<const char*>(b.bits.data()) + at))
      return false;
  return true;
}

/// An op at a dtype: out[i] = op(a[i], b[i]).
struct Case {
  std::string name;
  DType from, to;
  int operands;
  Op op;  ///< cast for casts
};

inline std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (int t = 0; t < base::kDTypeCount; ++t) {
    const auto from = static_cast<DType>(t);
    const std::string suffix = "_" + std::string(base::info(from).name);
#define OP(op_name, count, ...)       \
  if (ir::accepts(Op::op_name, from)) \
    cases.push_back({#op_name + suffix, from, ir::result_dtype(Op::op_name, from), count, Op::op_name});
#include "ir/ops.def"
    for (int u = 0; u < base::kDTypeCount; ++u) {
      const auto to = static_cast<DType>(u);
      cases.push_back({"cast" + suffix + "_" + std::string(base::info(to).name), from, to, 1, Op::cast});
    }
  }
  return cases;
}

/// Operands that the case is tried with: special ones, each with each, or with some, and numbers of any bits.
inline std::vector<std::vector<Scalar>> rows_of(const Case& c) {
  const std::vector<Scalar> lattice = edges(c.from);
  std::vector<std::vector<Scalar>> rows;
  for (size_t i = 0; i < lattice.size(); ++i) {
    if (c.operands == 1) {
      rows.push_back({lattice[i]});
      continue;
    }
    const size_t step = lattice.size() > 300 ? 17 : 1;
    for (size_t j = i % step; j < lattice.size(); j += step) rows.push_back({lattice[i], lattice[j]});
  }
  std::mt19937_64 random(1);
  for (int i = 0; i < 100 && !base::is_bool(c.from); ++i) {
    rows.emplace_back();
    for (int k = 0; k < c.operands; ++k) {
      const uint64_t bits[] = {random(), random()};
      rows.back().push_back(Scalar::load(c.from, bits));
    }
  }
  return rows;
}

inline Scalar expected_of(const Case& c, const std::vector<Scalar>& operands) {
  return c.op == Op::cast ? ir::evaluate_cast(c.from, c.to, operands[0])
                          : ir::evaluate(c.op, c.from, operands);
}

/// What a failed case prints.
inline std::string described(const Case& c, const std::vector<Scalar>& operands, const Scalar& got) {
  std::ostringstream text;
  const auto add = [&](const Scalar& value) { text << value.bits[0] << ':' << value.bits[1]; };
  text << std::hex << c.name << " of ";
  add(operands[0]);
  text << ", ";
  add(operands.back());
  text << " gave ";
  add(got);
  text << ", not ";
  add(expected_of(c, operands));
  return text.str();
}

}  // namespace ingot::codegen
