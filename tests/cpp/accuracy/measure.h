#pragma once

#include <mpfr.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ir/op.h"

namespace ingot::accuracy {

/// An elementary function with what judges it: MPFR, and for float the C library's double function (long
/// double rounded where that one errs).
struct Function {
  std::string name;  ///< of the op
  std::string libm;  ///< C's name
  double (*of_double)(double, double);
  float (*of_float)(float, float);
  int (*exact)(mpfr_t result, const mpfr_t x, const mpfr_t y);
  double (*reference)(double, double);
  bool binary;
  std::vector<std::pair<double, double>> ranges;  ///< in which arguments are drawn evenly, besides all bits
  bool kernel;                                    ///< base/math/kernels has it, so codegen emits it
  ir::Op op;
  double (*libm_double)(double, double);
  float (*libm_float)(float, float);
  std::pair<double, double> speed_range;  ///< of the arguments that are timed
};

const std::vector<Function>& functions();

/// The largest error seen, and where.
struct Largest {
  double ulp = 0;
  double x = 0;
  double y = 0;
  int64_t count = 0;
  int64_t wrong_specials = 0;  ///< NaN, infinities and signs of zero that are not the exact function's
  void merge(const Largest& other);
};

/// `count` arguments of a function: a lattice of special values and edges first, then alternately random bits
/// and the ranges.
std::vector<std::pair<double, double>> samples(const Function& f, int64_t count, uint64_t seed);

/// Measures results for arguments against MPFR, in units of the last place of the exact result (of the
/// smallest subnormal below that). `reports`: the first wrong special value is printed.
Largest measure(const Function& f, std::span<const std::pair<double, double>> arguments,
                std::span<const double> results, bool reports = true);

/// All floats, results and references (doubles) in hand: the same measure, quickly.
void measure_floats(const Function& f, std::span<const float> x, std::span<const float> results,
                    std::span<const double> exact, Largest& largest);

/// Float results, measured against `Function::reference` at doubles.
void measure_float(const Function& f, float x, float y, float result, Largest& largest, bool reports = true);

}  // namespace ingot::accuracy
