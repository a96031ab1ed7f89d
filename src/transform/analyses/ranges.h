#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ir/function.h"

namespace ingot::transform {

/// What is known of scalar i64 values of a function while it is built: from what makes them - lengths are at
/// least 0, the index of a loop is less than its count, a minimum is no more than what it is of - and from
/// conditions that hold at the current node.
///
/// Values are sums of others times constants, as far as the sums are known not to wrap; a relation is decided
/// by the sign of a difference. What it reports is certain; much that is true is not found.
class Ranges {
 public:
  explicit Ranges(const ir::Function& function) : f_(function) {}

  /// What a comparison of two values gives.
  std::optional<bool> compare(ir::Op op, ir::NodeId a, ir::NodeId b);
  /// The one of two values that is their `minimum` or `maximum`; invalid: not known.
  ir::NodeId extreme(ir::Op op, ir::NodeId a, ir::NodeId b);
  /// Whether `add`, `subtract` or `multiply` of two values certainly does not wrap.
  bool is_exact(ir::Op op, ir::NodeId a, ir::NodeId b);

  /// The first value that this was called with, among those available at the current node, and that is
  /// certainly the same: both are one sum, or the largest, or the smallest, of the same sums. Else the value
  /// itself.
  ir::NodeId first_same(ir::NodeId value);

  /// @name The current node
  /// `assume`: from here on a condition holds, or does not; until the `leave` of the last `enter`.
  void enter() {
    scopes_.push_back({bounds_before_.size(), inequalities_.size(), linear_here_.size(),
                       intervals_here_.size(), extremes_here_.size()});
  }
  void leave();
  void assume(ir::NodeId condition, bool holds);
  /// `assume` that a count is at least 1, as that of a loop is in its body.
  void assume_positive(ir::NodeId count);
  /// `assume` that one is in the region of a launch with these extents, which are what launches may have.
  void assume_extents(std::span<const ir::NodeId> extents);

 private:
  __extension__ using Wide = __int128;
  struct Interval {
    Wide low;
    Wide high;
  };
  /// A sum of terms, by node, and a constant.
  struct Linear {
    std::vector<std::pair<ir::NodeId, int64_t>> terms;
    Wide constant = 0;
  };
  /// A bound of a value that certain sums give: all of them do, or (`any`) each one does.
  struct Bounds {
    std::vector<Linear> sums;
    bool any = false;
  };
  struct Scope {
    size_t bounds;
    size_t inequalities;
    size_t linear;
    size_t intervals;
    size_t extremes;
  };
  /// Sums, as numbers in an order of their own.
  using Key = std::vector<int64_t>;

  Linear linear(ir::NodeId value);
  Linear find_linear(ir::NodeId value);
  Linear sum(const Linear& a, const Linear& b, int64_t factor);
  Linear difference(ir::NodeId a, ir::NodeId b);
  Interval interval(const Linear& sum);
  Interval interval(ir::NodeId atom);
  Interval own_interval(ir::NodeId atom);
  Interval product(ir::NodeId a, ir::NodeId b);
  Bounds bounds(ir::NodeId atom, bool upper);
  bool is_natural(const Linear& sum);
  bool prove(const Linear& sum, int depth);
  std::vector<Linear> largest_of(Linear sum);
  Key key_of(std::vector<Linear> sums);
  std::optional<Interval> interval_of_arms(ir::NodeId atom);
  bool prove_of_arms(const Linear& sum, std::pair<ir::NodeId, int64_t> term, int depth);
  void hold(Linear natural);

  const ir::Function& f_;
  // What has been found holds where more conditions do, and is forgotten where they end.
  std::unordered_map<uint32_t, Linear> linear_;
  std::unordered_map<uint32_t, Interval> intervals_;  ///< by what makes the values
  std::unordered_set<uint32_t> may_wrap_;  ///< sums that are no other sum, as far as is known by now
  std::vector<uint32_t> linear_here_;      ///< their keys, in order
  std::vector<uint32_t> intervals_here_;
  std::unordered_map<uint32_t, Interval> bounds_;             ///< that conditions give
  std::vector<std::pair<uint32_t, Interval>> bounds_before_;  ///< what they were, in order of changes
  std::vector<Linear> inequalities_;                          ///< sums that are at least 0
  std::vector<Scope> scopes_;
  std::map<Key, ir::NodeId> extremes_;  ///< by the sums that they, or their negatives, are the largest of
  std::vector<Key> extremes_here_;      ///< these, in order
  int nesting_ = 0;                     ///< of values that are being looked at
  bool in_arm_ = false;                 ///< of an `if` whose result is being looked at
  int steps_ = 0;                       ///< of the search for a proof that are left
};

/// `Ranges::compare` without any condition.
std::optional<bool> known_comparison(const ir::Function& function, ir::Op op, ir::NodeId a, ir::NodeId b);

/// Whether an i64 value is at least 0 by what makes it.
bool is_natural(const ir::Function& function, ir::NodeId value);

}  // namespace ingot::transform
