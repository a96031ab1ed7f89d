#pragma once

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <span>
#include <vector>

#include "ir/function.h"
#include "transform/loop_writer.h"

namespace ingot::transform {

/// Whether a `view` states that each of its strides is as long as all that the axes inside it reach over.
bool is_in_c_order(const ir::Function& function, ir::NodeId view);

/// The views that decide whether an element that a node with regions, for example a loop, writes may share
/// its location with another one: its iterations would conflict.
struct Layouts {
  /// Whether what the lengths and strides of `views` are is known before the loop.
  bool known = true;
  std::vector<ir::NodeId> views;
};
Layouts written_layouts(const ir::Function& function, ir::NodeId loop);
/// Whether each element of a view that a loop writes through is known to have a location of its own.
bool stands_once(const ir::Function& function, ir::NodeId loop, ir::NodeId view);

/// The view whose memory, offset and strides the `view` at a node has; none: not known.
ir::NodeId laid_out_as(const ir::Function& function, ir::NodeId view);

/// Whether different indices of a view with elements are different locations: from the smallest stride to the
/// largest, each is at least as long as all that the smaller ones reach over. `of` does the arithmetic: a
/// LoopWriter on nodes, or PlainArithmetic on numbers.
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

/// Whether different indices of each of `views` are different locations, found when the code runs; `use` maps
/// values of a function to the new ones.
ir::NodeId are_disjoint(LoopWriter& loops, const ir::Function& function, std::span<const ir::NodeId> views,
                        const std::function<ir::NodeId(ir::NodeId)>& use);

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

}  // namespace ingot::transform
