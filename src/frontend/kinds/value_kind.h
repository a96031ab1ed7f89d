#pragma once

#include "frontend/evaluator_parts.h"

namespace ingot::frontend {

/// Which kind decides an operator of two values. Records and objects of unsupported types do it with all
/// others; what may be one of several things at run time before what is known to be one.
enum class Precedence : uint8_t {
  Numbers,
  Tuples,
  Containers,
  Ranges,
  Sets,
  Strings,
  Rows,
  Foreign,
  Records
};

/// What values of one kind do where Python asks them, as the slots of a CPython type: one object for each
/// alternative of `Value`, in a file of this folder, without state. The evaluator asks `kind_of_value(v)`.
///
/// A slot that results in nothing (none, an invalid object, false) leaves the operation to the rule for all
/// values: what Python raises for such types, else a refusal. A new kind is an alternative of `Value`, a
/// class here that overrides what its values support, and `INGOT_VALUE_KIND`.
class ValueKind {
 public:
  using Visit = std::function<void(uint32_t object)>;
  using Renumber = std::function<uint32_t(uint32_t object)>;
  using OtherNode = std::function<NodeId(NodeId)>;

  // Structure. What a value is made of: parts, which are values; the objects of the shadow heap that it
  // refers to itself; the nodes of its leaves. A value has nodes of its own or parts.

  virtual std::vector<Value> parts(const Value& value) const;
  virtual Value with_parts(const Value& value, std::vector<Value> parts) const;
  /// Whether two values of this kind are equal but for their parts.
  virtual bool same_form(const Value& a, const Value& b) const;
  virtual void each_object(const Value& value, const Visit& visit) const;
  /// Gives the objects other numbers; `array`: also the identities of arrays.
  virtual void renumber(Value& value, const Renumber& object, const Renumber& array) const;
  /// Gives each node, also one that is not set, another one.
  virtual void change_nodes(Value& value, const OtherNode& other) const;
  /// Whether it has nodes of its own, set or not.
  virtual bool is_leaf() const;

  // The type.

  /// The class of an instance, a namedtuple or a member of an Enum; invalid for all other values.
  virtual nb::object class_of(const Evaluator& e, const Value& value) const;
  /// As Python's messages name it; "object" where it has no name.
  virtual std::string type_name(const Evaluator& e, const Value& value) const;
  virtual nb::object type_of(Evaluator& e, const Value& value, nb::handle node) const;
  /// An object of the same type, for what depends on types only; invalid: there is none.
  virtual nb::object stand_in(const Evaluator& e, const Value& value) const;

  /// Whether callable attributes of `stand_in` are its methods.
  virtual bool has_methods(const Evaluator& e, const Value& value) const;
  /// Whether it is, or holds, an argument of an unsupported type.
  virtual bool is_foreign(const Evaluator& e, const Value& value) const;

  // Operations. `node` is where the program asks for them.

  virtual std::optional<Value> attribute(Evaluator& e, const Value& value, const std::string& name,
                                         nb::handle node) const;
  /// Whether `item` takes slices whose bounds may be None at run time.
  virtual bool takes_open_bounds() const;
  virtual std::optional<Value> item(Evaluator& e, const Value& value, const Value& index,
                                    nb::handle node) const;
  /// Its elements where their number is known when compiling, as a loop over it takes them.
  virtual std::optional<std::vector<Value>> elements(Evaluator& e, const Value& value, nb::handle node) const;
  /// `len`, where it is not the number of its `elements`.
  virtual std::optional<Value> length(Evaluator& e, const Value& value, nb::handle node) const;
  /// Its truth where that is known when compiling.
  virtual std::optional<bool> known_truth(Evaluator& e, const Value& value) const;
  virtual std::optional<NodeId> truth(Evaluator& e, const Value& value, nb::handle node) const;

  // Operators of two values.

  /// Of two values, the kind of the greater precedence is asked, of equal ones the left value's, then the
  /// other.
  virtual Precedence precedence() const;
  virtual std::optional<Value> binary(Evaluator& e, Operator op, const Value& a, const Value& b,
                                      nb::handle node) const;
  /// A comparison of two values of which one is of this kind.
  virtual std::optional<Value> compare(Evaluator& e, Operator op, const Value& a, const Value& b,
                                       nb::handle node) const;
  /// Whether two values of this kind are the same object; none: not known.
  virtual std::optional<bool> identical(Evaluator& e, const Value& a, const Value& b, nb::handle node) const;
  /// `wanted in value`.
  virtual std::optional<Value> contains(Evaluator& e, const Value& value, const Value& wanted,
                                        nb::handle node) const;
  /// `value in container` where this kind decides it; asked if the container's has no greater precedence.
  virtual std::optional<Value> contained(Evaluator& e, const Value& value, const Value& container,
                                         nb::handle node) const;

 protected:
  constexpr ValueKind() = default;
  ~ValueKind() = default;
};

/// A kind of which Python has a builtin type of its `type_name`.
class BuiltinKind : public ValueKind {
 public:
  nb::object type_of(Evaluator& e, const Value& value, nb::handle node) const override;

 protected:
  ~BuiltinKind() = default;
};

/// The kind of an alternative of `Value`.
template <class T>
const ValueKind& kind_for();

/// Makes a class the kind of an alternative, in the kind's file.
#define INGOT_VALUE_KIND(Alternative, Class) \
  template <>                                \
  const ValueKind& kind_for<Alternative>() { \
    static constexpr Class kKind{};          \
    return kKind;                            \
  }

const ValueKind& kind_of_value(const Value& value);

/// Calls `visit` with each object that a value refers to, itself or by its parts.
void each_object(const Value& value, const ValueKind::Visit& visit);
/// A value with other numbers for its objects, and for its arrays.
Value renumbered(const Value& value, const ValueKind::Renumber& object, const ValueKind::Renumber& array);
/// A value with other nodes for its leaves that have one.
Value with_nodes(const Value& value, const ValueKind::OtherNode& other);

/// An element of a number of NumPy's, which is an array without axes here.
Value item_of_numpy_number(Evaluator& e, const Value& number, Kind kind, const Value& index, nb::handle node);

}  // namespace ingot::frontend
