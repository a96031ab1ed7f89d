#pragma once

#include "frontend/tracer/frame.h"

namespace ingot::frontend {

/// Elements of list buffers as numbers, one for each column of the list. A *form* is an element without
/// nodes; of its parts
///   - a number has a column of its kind,
///   - a number that is None or missing in some elements has two: a tag (0: present, 1: None, 2: missing)
///     and the number,
///   - an instance of a pool has one, of its index there,
///   - an array has columns for its buffer's number, its offset, the argument that it is, its lengths and
///     its strides,
///   - a part that is the same, or missing, in all elements has none.
class Columns {
 public:
  explicit Columns(Tracer& t) : t_(t) {}

  /// The kind of each column.
  static std::vector<Kind> kinds_of(const Value& form);
  /// What an element is like, with the numbers of its columns; `other` has those of instances and arrays,
  /// which come first.
  using Other = std::function<Description::Kinds(const Value& form, size_t column)>;
  static Description described(const Value& form, const Other& other);
  /// The numbers of an element.
  std::vector<NodeId> numbers_of(const Value& form, const Value& element);
  /// The element of these numbers.
  Value element_of(const Value& form, std::span<const NodeId> numbers);
  /// The same elements in a wider form: new columns of length `length`, made of the columns `before`.
  std::vector<NodeId> converted(const Value& from, const Value& to, std::span<const NodeId> before,
                                NodeId length);

  class Conversion;

 private:
  static Description described(const Value& form, const Other& other, size_t& column);

  Tracer& t_;
};

/// One conversion: the columns that are yet to be converted, and the new ones.
class Columns::Conversion {
 public:
  Conversion(Tracer& t, std::span<const NodeId> before, NodeId length)
      : t_(t), rest_(before), length_(length) {}

  /// The numbers of the next column.
  NodeId next();
  /// A new column, or one of equal numbers.
  void add(NodeId numbers) { made_.push_back(t_.builder->make(ir::Op::materialize, {numbers})); }
  void fill(NodeId number) { add(t_.builder->make(ir::Op::broadcast, {number, length_})); }
  /// The next column, with numbers of another kind.
  void add_next_as(Kind kind, Kind wanted);
  std::vector<NodeId> made() { return std::move(made_); }

 private:
  Tracer& t_;
  std::span<const NodeId> rest_;
  NodeId length_;
  std::vector<NodeId> made_;
};

}  // namespace ingot::frontend
