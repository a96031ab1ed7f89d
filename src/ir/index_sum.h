#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>

#include "ir/builder.h"

/// @file Indices as sums, which are compared, bounded and divided.

namespace ingot::ir {

/// A sum of values times constants, and a constant; as indices are, it is one modulo 2**64.
struct IndexSum {
  std::map<NodeId, int64_t> terms;
  int64_t constant = 0;

  void add(const IndexSum& other, int64_t factor = 1);
  void add_term(NodeId value, int64_t factor);
  bool is_constant() const { return terms.empty(); }
  bool operator==(const IndexSum&) const = default;
};

/// The number that an i64 value is known to be.
std::optional<int64_t> known_number(const Function& function, NodeId value);

/// The sum that an i64 value is of its own operands; of itself, if it is none.
IndexSum operand_sum(const Function& function, NodeId value);
/// ... and of what these are, and so on. Sums in sums are looked into, each once and some hundreds in all.
IndexSum index_sum(const Function& function, NodeId value);
/// ... that a sum is, of what `other` gives for its values: nodes of the function.
IndexSum index_sum(const Function& function, const IndexSum& sum,
                   const std::function<NodeId(NodeId)>& other = std::identity());

/// Writes a sum; `use`: the nodes of its values there.
NodeId write(Builder& builder, const IndexSum& sum,
             const std::function<NodeId(NodeId)>& use = std::identity());

}  // namespace ingot::ir
