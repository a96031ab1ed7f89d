#pragma once

#include "frontend/evaluator_parts.h"

namespace ingot::frontend {

/// Elements of growing lists as numbers, one for each column of the list. A *form* is an element without
/// nodes; of its parts
///   - a number has a column of its kind,
///   - a number that is None or missing in some elements has two: a tag (0: it is there, 1: None, 2:
///   missing),
///     and the number,
///   - an instance of a pool has one, of its place there,
///   - an array has the number of its buffer, its offset, which argument it is, its lengths and its strides,
///   - what is the same in all elements, or missing in all of them, has none.
class Evaluator::Columns {
 public:
  explicit Columns(Evaluator& evaluator) : e_(evaluator) {}

  /// What each column holds.
  static std::vector<Kind> kinds_of(const Value& form);
  /// The numbers of an element.
  std::vector<NodeId> numbers_of(const Value& form, const Value& element);
  /// The element of these numbers.
  Value element_of(const Value& form, std::span<const NodeId> numbers);
  /// The same elements in a wider form: new columns of just so many numbers, made of the columns `before`.
  std::vector<NodeId> converted(const Value& from, const Value& to, std::span<const NodeId> before,
                                NodeId length);

 private:
  class Conversion;
  Value take(const Value& form, std::span<const NodeId>& numbers);
  NodeId zero(Kind kind);

  Evaluator& e_;
};

}  // namespace ingot::frontend
