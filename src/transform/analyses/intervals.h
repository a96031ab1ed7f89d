#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "transform/analyses/from_outside.h"
#include "transform/writers/loop_writer.h"

namespace ingot::transform {

/// What is known, before a loop is entered, of the values that its iterations compute: code before the loop
/// computes bounds, and whether conditions hold in all iterations.
///
/// A carried number that moves by constants is bounded by the number of iterations: of a `for` that is its
/// count, of any other loop 2**61, which takes years to reach.
class Intervals {
 public:
  /// `writer` writes before `loop` into a new function; `use` gives the new node of an old one before the
  /// loop.
  Intervals(const Function& source, NodeId loop, LoopWriter& writer, std::function<NodeId(NodeId)> use)
      : f_(source),
        loop_(loop),
        loops_(writer),
        b_(writer.builder()),
        use_(std::move(use)),
        is_invariant_(source, [&source, loop](NodeId value) {
          const Origin origin = origin_in(source, loop, value);
          return origin == Origin::Operands && !source.type(value).is_scalar() ? Origin::Inside : origin;
        }) {}

  /// A new node that is true only if `condition`, wherever in the loop it is computed, is `wanted`; none
  /// where nothing is known.
  std::optional<NodeId> always(NodeId condition, bool wanted);
  /// From now on this select is known to give its last operand.
  void assume_last(NodeId select) { last_.push_back(select); }
  /// Whether the value is the same in all iterations, and can be computed before the loop.
  bool is_invariant(NodeId value) { return is_invariant_(value); }

 private:
  struct Interval {
    NodeId low;
    NodeId high;
    NodeId holds;  ///< that the bounds are right: nothing has wrapped; none: certainly
  };
  using Maybe = std::optional<NodeId>;

  bool is_inside(NodeId node) const;
  NodeId before(NodeId value);
  std::optional<Interval> interval(NodeId value);
  std::optional<Interval> find_interval(NodeId value);
  std::optional<Interval> of_index(NodeId parameter);
  std::optional<Interval> of_arithmetic(NodeId value);
  std::optional<Interval> of_range(NodeId sum);
  Interval hull(const Interval& a, const Interval& b);
  std::optional<Interval> of_choice(NodeId value);
  std::optional<Interval> of_division(NodeId value);
  std::optional<Interval> of_parameter(NodeId parameter);
  std::optional<Interval> of_result(NodeId node, size_t index);
  std::optional<Interval> of_counter(NodeId loop, size_t slot, bool after);
  Maybe always_in_order(Op op, NodeId a, NodeId b);
  Maybe never_overflows(NodeId condition);
  Maybe bounded_overflow(NodeId condition);
  NodeId both(NodeId a, NodeId b) { return !a ? b : !b ? a : loops_.both(a, b); }

  const Function& f_;
  NodeId loop_;
  LoopWriter& loops_;
  ir::Builder& b_;
  std::function<NodeId(NodeId)> use_;
  std::unordered_map<uint32_t, NodeId> hoisted_;
  FromOutside is_invariant_;
  bool by_time_ = false;  ///< iterations of a `for` are bounded by time too, not by its count
  std::unordered_map<uint32_t, std::optional<Interval>> intervals_[2];  ///< by `by_time_`
  std::vector<NodeId> last_;
};

}  // namespace ingot::transform
