#pragma once

#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

namespace ingot::base {

/// Whether different indices of a view with elements are different locations: from the smallest stride to the
/// largest, each is at least as long as all that the smaller ones reach over. `of` does the arithmetic: a
/// transform::LoopWriter on nodes, or PlainArithmetic on numbers.
template <class Arithmetic, class Number>
Number is_disjoint(Arithmetic& of, std::span<const Number> lengths, std::span<const Number> strides,
                   int64_t element_bytes) {
  const Number one = of.index(1);
  std::vector<Number> steps;
  std::vector<Number> reach;
  for (size_t i = 0; i < lengths.size(); ++i) {
    steps.push_back(of.absolute(strides[i]));
    reach.push_back(of.multiply(of.subtract(lengths[i], one), steps[i]));
  }
  Number all = of.truth(true);
  for (size_t i = 0; i < lengths.size(); ++i) {
    Number below = of.index(element_bytes);
    for (size_t k = 0; k < lengths.size(); ++k) {
      if (k == i) continue;
      const Number is_smaller = k < i ? of.less_equal(steps[k], steps[i]) : of.less(steps[k], steps[i]);
      below = of.add(below, of.select(is_smaller, reach[k], of.index(0)));
    }
    const Number holds = of.either(of.less_equal(lengths[i], one), of.less_equal(below, steps[i]));
    all = of.both(all, holds);
  }
  return all;
}

/// What `is_disjoint` asks for, on numbers.
struct PlainArithmetic {
  static int64_t index(int64_t number) { return number; }
  static int64_t truth(bool holds) { return holds ? 1 : 0; }
  static int64_t absolute(int64_t a) { return std::abs(a); }
  static int64_t add(int64_t a, int64_t b) { return a + b; }
  static int64_t subtract(int64_t a, int64_t b) { return a - b; }
  static int64_t multiply(int64_t a, int64_t b) { return a * b; }
  static int64_t less(int64_t a, int64_t b) { return truth(a < b); }
  static int64_t less_equal(int64_t a, int64_t b) { return truth(a <= b); }
  static int64_t both(int64_t a, int64_t b) { return a & b; }
  static int64_t either(int64_t a, int64_t b) { return a | b; }
  static int64_t select(int64_t condition, int64_t a, int64_t b) { return condition != 0 ? a : b; }
};

/// The same of numbers, also of a view without elements.
inline bool is_disjoint(std::span<const int64_t> lengths, std::span<const int64_t> strides,
                        int64_t element_bytes) {
  for (const int64_t length : lengths)
    if (length < 1) return true;
  PlainArithmetic plain;
  return is_disjoint<PlainArithmetic, int64_t>(plain, lengths, strides, element_bytes) != 0;
}

}  // namespace ingot::base
