#pragma once

#include "frontend/evaluator_parts.h"

namespace ingot::frontend {

/// Members of an Enum that are known only when the call runs (`Member`): a variable that is one on one path
/// and another one on another. What is done with one, other than comparing, is done with each that it may be.
class Evaluator::Members {
 public:
  explicit Members(Evaluator& evaluator) : e_(evaluator) {}

  /// What is done with a known member, or with others of two operands.
  using Use = std::function<Value(const Value&)>;
  using UseBoth = std::function<Value(const Value&, const Value&)>;

  /// What may be either of two members of one Enum; none: other values.
  static std::optional<Value> join(const Value& a, const Value& b);
  /// Whether `in` asks a value whether it has a member: an Enum, by the method of its metaclass.
  static bool holds_members(const Value& value);
  /// A known member as one that is not.
  Value opened(const Value& member);
  /// All that one may be, in order.
  static std::vector<nb::object> members_of(const nb::object& type);
  static nb::object tuple_of(const nb::object& type);
  /// The member of an Enum that has a number as its value; raises where none has.
  Value by_value(const nb::object& type, const Scalar& number, nb::handle node);
  /// What is done with a member, on a path for each that it may be.
  Value on_each(const Member& member, const Use& use);
  /// The same with that of two operands that is such a member; none: neither is.
  std::optional<Value> on_each(const Value& a, const Value& b, const UseBoth& use);
  /// A call, for each of its arguments that is such a member; none: no argument is.
  std::optional<Value> call(const Value& callee, Call& call);
  /// What is done with an index that is such a member: as the number that it is, but as a key with each that
  /// it may be. None: it is another index, or the container takes the member itself.
  std::optional<Value> by_index(const Value& container, const Value& index, const Use& use);
  /// The same where something is put under the index.
  std::optional<Value> by_new_index(const Value& container, const Value& index, const Use& use,
                                    nb::handle node);
  /// A comparison of two values of which one is such a member; none: they are compared as numbers, by a
  /// method of the class, or element by element.
  std::optional<Value> compare(const std::string& ast, const Value& a, const Value& b);
  /// Whether its class has a `__str__`, `__repr__` or `__format__` of the user's.
  bool has_own_text(const Member& member);
  /// The number that a member is, besides.
  std::optional<Value> number(const Member& member);
  /// An attribute, other than a method.
  std::optional<Value> attribute(const Member& member, const std::string& name, nb::handle node);

 private:
  NodeId place(const Value& member);
  std::optional<Value> is_in(const std::string& ast, const Value& member, const Value& container);
  bool is_own_method(const nb::object& type, const char* name);

  Evaluator& e_;
};

}  // namespace ingot::frontend
