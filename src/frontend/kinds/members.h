#pragma once

#include "frontend/kinds/value_kind.h"

namespace ingot::frontend {

/// Members of an Enum that are known only at run time (`Member`), because a variable is a different one on
/// each path. Operations other than comparisons are evaluated for each possible member, on its own path.
class Members {
 public:
  explicit Members(Tracer& t) : t_(t) {}

  /// An operation on a known member, or on two operands of which one is a known member.
  using Use = std::function<Value(const Value&)>;
  using UseBoth = std::function<Value(const Value&, const Value&)>;

  /// The join of two members of one Enum; none: other values.
  static std::optional<Value> join(const Value& a, const Value& b);
  /// Whether a value is an Enum that `in` tests for members by the method of its metaclass.
  static bool holds_members(const Value& value);
  /// A known member as a `Member`.
  Value opened(const Value& member);
  /// All members of an Enum, in order.
  static std::vector<nb::object> members_of(const nb::object& type);
  static nb::object tuple_of(const nb::object& type);
  /// The member of an Enum with a number as its value; raises if there is none.
  Value by_value(const nb::object& type, const Scalar& number, nb::handle node);
  /// Applies `use` to each possible member, on its own path.
  Value on_each(const Member& member, const Use& use);
  /// The same for the operand that is a `Member`; none: neither is.
  std::optional<Value> on_each(const Value& a, const Value& b, const UseBoth& use);
  /// The same for each argument of a call that is a `Member`; none: no argument is.
  std::optional<Value> call(const Value& callee, Call& call);
  /// Applies `use` to an index that is a `Member`: to its number, or to each possible member if it is a key.
  /// None: it is another index, or the container takes the `Member` itself.
  std::optional<Value> by_index(const Value& container, const Value& index, const Use& use);
  /// The same for storing under the index.
  std::optional<Value> by_new_index(const Value& container, const Value& index, const Use& use,
                                    nb::handle node);
  /// A comparison of two values of which one is a `Member`; none: they are compared as numbers, by a method
  /// of the class, or element by element.
  std::optional<Value> compare(Operator op, const Value& a, const Value& b);
  /// The number that a member also is (IntEnum).
  std::optional<Value> number(const Member& member);
  /// An attribute, other than a method.
  std::optional<Value> attribute(const Member& member, const std::string& name, nb::handle node);

 private:
  NodeId place(const Value& member);
  std::optional<Value> is_in(Operator op, const Value& member, const Value& container);
  bool is_own_method(const nb::object& type, const char* name);

  Tracer& t_;
};

}  // namespace ingot::frontend
