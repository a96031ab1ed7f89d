#pragma once

#include <functional>
#include <map>
#include <optional>
#include <unordered_map>

#include "transform/analyses/from_outside.h"
#include "transform/writers/loop_writer.h"

/// @file Which elements loops read: bounds of indices over the iterations of loops, computed before these
/// run.

namespace ingot::transform {

/// A sum of values times constants, and a constant; as indices are, it is one modulo 2**64.
struct Linear {
  std::map<NodeId, int64_t> terms;
  int64_t constant = 0;

  void add(const Linear& other, int64_t factor = 1);
  bool is_constant() const { return terms.empty(); }
  bool operator==(const Linear&) const = default;
};

/// The sum that an i64 value is.
Linear expand(const Function& function, NodeId value);
/// What of it is known not to be exceeded, or fallen below, by what makes the values; none: nothing.
std::optional<int64_t> most_of(const Function& function, const Linear& sum);
std::optional<int64_t> least_of(const Function& function, const Linear& sum);

/// A value is at least the least of `low`, and at most the largest of `high`.
struct Bounds {
  std::vector<Linear> low;
  std::vector<Linear> high;
};

/// Writes, at the start of a region of loops, what bounds the values in it.
class BoundWriter {
 public:
  /// `scope`: a region of the source; its parameters are known. `use`: the new node of an old one.
  BoundWriter(const Function& source, ir::Builder& builder, RegionId scope,
              std::function<NodeId(NodeId)> use);

  /// From now on, a parameter of the scope is taken to be this.
  void replace(NodeId parameter, NodeId by);

  /// The bounds of a value of the source in all iterations of the loops in the scope; none: it may be any.
  std::optional<Bounds> of(NodeId value);
  std::optional<Bounds> of(const Linear& sum);
  /// The bounds of what has one of two.
  Bounds either(Bounds a, const Bounds& b);

  NodeId emit(const Linear& sum);
  NodeId low(const Bounds& bounds) { return extreme(bounds.low, Op::minimum); }
  NodeId high(const Bounds& bounds) { return extreme(bounds.high, Op::maximum); }
  /// How many values there are between the bounds at most; none: that is not known.
  std::optional<int64_t> most_values(const Bounds& bounds) const;

 private:
  std::optional<Bounds> find(NodeId value);
  std::optional<Bounds> of_index(NodeId parameter);
  std::optional<Bounds> of_product(NodeId value);
  std::optional<Bounds> of_quotient(NodeId value);
  std::optional<Bounds> of_extreme(NodeId value);
  std::optional<int64_t> number(NodeId value) const;
  NodeId known(NodeId value);
  NodeId extreme(const std::vector<Linear>& sums, Op op);
  void prune(Bounds& bounds) const;

  const Function& f_;
  ir::Builder& b_;
  RegionId scope_;
  std::function<NodeId(NodeId)> use_;
  FromOutside is_known_;
  std::map<NodeId, NodeId> made_;  ///< of values in the scope that are known
  std::unordered_map<uint32_t, std::optional<Bounds>> found_;
};

}  // namespace ingot::transform
