#pragma once

#include "frontend/kinds/columns.h"

namespace ingot::frontend {

/// Whether a leaf keeps its node in a shape.
using Stays = std::function<bool(NodeId)>;

/// The iterations of a staged loop: their count, and the element of the k-th.
struct Trips {
  NodeId count;
  std::function<Value(NodeId)> element;
};

/// The k-th element of an iterable that is iterated over together with a generator, and whether it exists.
struct Indexed {
  std::function<Value(const Value&)> has;
  std::function<Value(const Value&)> element;
};

/// The values that leave the function: their leaves, and the numbers of the described objects, in order.
struct Outward {
  std::vector<NodeId> leaves;
  std::map<uint32_t, size_t> made;
  size_t count = 0;
  bool is_result = false;         ///< records and lists of arrays may leave
  std::vector<uint32_t> pools;    ///< of the records among them
  std::vector<size_t> buffers{};  ///< the leaves that are columns of buffers' numbers
  /// The description of an object that is described already; none: the next one to be.
  std::optional<Description> again(uint32_t object);
};

/// What a value is as a part of an array's index. `Flag`: one bool.
enum class IndexPart : uint8_t { Number, Numbers, Mask, Flag, Slice, NewAxis, Ellipsis, Other };

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
/// alternative of `Value`, in a file of this folder, without state. The frontend asks `kind_of_value(v)`.
///
/// A slot that results in nothing (none, an invalid object, false) leaves the operation to the rule for all
/// values: what Python raises for such types, else a refusal. A new kind is an alternative of `Value`, a
/// class here that overrides what its values support, and `INGOT_VALUE_KIND`.
// NOLINTBEGIN(misc-unused-parameters, performance-unnecessary-value-param): they are what slots are given
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
class ValueKind {
 public:
  using Visit = std::function<void(uint32_t object)>;
  using Renumber = std::function<uint32_t(uint32_t object)>;
  using OtherNode = std::function<NodeId(NodeId)>;
  using NextNode = std::function<NodeId()>;
  using Answer = std::optional<Value>;  ///< none: left to the rule for all values
  using Known = std::optional<int64_t>;
  using Nodes = std::vector<NodeId>;
  using Types = std::vector<ir::Type>;
  using Elements = std::vector<Value>;
  using Use = std::function<Value(const Value&)>;
  using Conversion = Columns::Conversion;

  // Structure. What a value is made of: parts, which are values; the objects of the shadow heap that it
  // refers to itself; the nodes of its leaves. A value has nodes of its own or parts.

  virtual std::vector<Value> parts(const Value& value) const { return {}; }
  virtual Value with_parts(const Value& value, std::vector<Value> parts) const { return value; }
  /// Whether two values of this kind are equal but for their parts.
  virtual bool same_form(const Value& a, const Value& b) const { return true; }
  virtual void each_object(const Value& value, const Visit& visit) const {}
  /// Gives the objects other numbers; `array`: also the identities of arrays.
  virtual void renumber(Value& value, const Renumber& object, const Renumber& array) const {}
  /// Gives each node, also one that is not set, another one.
  virtual void change_nodes(Value& value, const OtherNode& other) const {}
  /// Whether it has nodes of its own, set or not.
  virtual bool is_leaf() const { return false; }

  // Joins of paths and routines (joins/, routines/). Values with nodes of their own answer; others do
  // by their parts, but for those that have a rule besides.

  virtual Value shape(const Value& value, const Stays& stays) const;
  /// Whether two values of this kind are the same, with the same nodes.
  virtual bool is_same(const Value& a, const Value& b) const;
  /// The shape of two values, one of this kind, that are not the same and neither a `Maybe` nor a conflict;
  /// none: this kind does not join them. `what`: the words for the variable.
  virtual Answer join(Tracer& t, const Value& a, const Value& b, const std::string& what) const;
  virtual void slot_types(ir::TypeTable& types, const Value& shape, Types& out) const;
  /// The nodes that carry a value into the slots of a shape.
  virtual void carry(Tracer& t, const Value& shape, const Value& actual, Nodes& out) const;
  virtual Value fill(Tracer& t, const Value& shape, const NextNode& next) const;
  /// A dummy of a leaf's shape.
  virtual Value blank(Tracer& t, const Value& shape) const { return shape; }
  /// What calls of one routine have in common of a value: its type, and what is known when compiling.
  virtual Value key(const Tracer& t, const Value& value) const;
  /// Whether values with these keys may be passed to one routine.
  virtual bool has_same_key(const Value& a, const Value& b) const;
  /// What to pass instead to a routine; null: the value itself, as far as its parts can be passed.
  virtual const char* passed_instead(const Value& value) const { return nullptr; }

  /// It, checked to be there; raises or refuses it otherwise. `name`: of the variable. The value may be in
  /// the state, which a check replaces within a `try`.
  virtual Value present(Tracer& t, const Value& value, const std::string& name, nb::handle node) const {
    return value;
  }
  /// It, checked to be bound; else raises. Perhaps None.
  virtual Value bound(Tracer& t, const Value& value, const std::string& name) const { return value; }
  /// Whether it is None, where only the run time decides that.
  virtual std::optional<NodeId> is_missing(Tracer& t, const Value& value) const { return {}; }
  /// Applies `use` to it on the path where it is there, and to None on the other; none: it is there.
  virtual Answer by_presence(Tracer& t, const Value& value, const Use& use, nb::handle node) const {
    return {};
  }

  // What is known when compiling.

  /// The object of Python's that it is; invalid: it is not known.
  virtual nb::object known(const Value& value) const { return {}; }
  /// The same where it is demanded: of a tuple's members, and of numbers that can become known
  /// (`source_of`). `what`: the words for it.
  virtual nb::object demanded(Tracer& t, const Value& value, const char* what, nb::handle node) const {
    return known(value);
  }
  /// Whether it is a function that is known.
  virtual bool is_function(const Value& value) const { return false; }

  // Elements of list buffers (`frontend/kinds/columns`), and results.

  /// Itself without nodes, if list buffers can hold it.
  virtual Answer form(Tracer& t, const Value& value) const { return {}; }
  virtual void column_kinds(const Value& form, std::vector<Kind>& kinds) const;
  virtual void numbers(Tracer& t, const Value& form, const Value& element, Nodes& out) const;
  virtual Value element(Tracer& t, const Value& form, const NextNode& next) const;
  virtual void convert(Tracer& t, const Value& from, const Value& to, Conversion& columns) const;
  /// The description of a value that leaves the function; none: it cannot.
  virtual std::optional<Description> describe(Tracer& t, const Value& value, Outward& outward) const {
    return {};
  }

  // The type.

  /// The class of an instance, a namedtuple or a member of an Enum; invalid for all other values.
  virtual nb::object class_of(const Tracer& t, const Value& value) const { return {}; }
  /// As Python's messages name it; "object" where it has no name.
  virtual std::string type_name(const Tracer& t, const Value& value) const { return "object"; }
  virtual nb::object type_of(Tracer& t, const Value& value, nb::handle node) const { return {}; }
  /// As messages describe it: "an int"; empty: not worth mentioning.
  virtual std::string words(const Tracer& t, const Value& value) const;
  /// An object of the same type, for what depends on types only; invalid: there is none.
  virtual nb::object stand_in(const Tracer& t, const Value& value) const { return {}; }

  /// The node of Python's AST that a function is made of; invalid: of none.
  virtual nb::object definition(const Value& value) const { return {}; }

  /// Whether callable attributes of `stand_in` are its methods.
  virtual bool has_methods(const Tracer& t, const Value& value) const { return false; }
  /// Whether it is, or holds, an argument of an unsupported type.
  virtual bool is_foreign(const Tracer& t, const Value& value) const { return false; }

  // Operations. `node` is where the program asks for them.

  virtual Answer attribute(Tracer& t, const Value& value, const std::string& name, nb::handle node) const {
    return {};
  }
  /// What fills the hole `form` of a string, such as `{!r}`; none: a method of its class or nothing does.
  virtual Answer text(Tracer& t, const Value& value, const std::string& form, nb::handle node) const {
    return {};
  }
  virtual IndexPart index_part(const Value& value) const { return IndexPart::Other; }
  /// Whether `item` takes slices whose bounds may be None at run time.
  virtual bool takes_open_bounds() const { return false; }
  virtual Answer item(Tracer& t, const Value& value, const Value& index, nb::handle node) const { return {}; }
  /// Assigns to an item; false: it takes no such assignments.
  virtual bool set_item(Tracer& t, const Value& value, const Value& index, const Value& item,
                        nb::handle node) const {
    return false;
  }
  virtual bool delete_item(Tracer& t, const Value& value, const Value& index, nb::handle node) const {
    return false;
  }
  /// Assigns to an attribute; false: it takes no such assignments.
  virtual bool set_attribute(Tracer& t, const Value& value, const std::string& name, const Value& attribute,
                             nb::handle node) const {
    return false;
  }
  virtual Answer call(Tracer& t, const Value& value, Call& call) const { return {}; }
  virtual Answer method(Tracer& t, const Value& value, const std::string& name, Call& call) const {
    return {};
  }
  virtual Answer unary(Tracer& t, Operator op, const Value& value, nb::handle node) const { return {}; }
  /// `value op= right`; none: as `value = value op right`; Unbound: it has changed itself.
  virtual Answer in_place(Tracer& t, Operator op, const Value& value, const Value& right,
                          nb::handle node) const {
    return {};
  }
  /// A NumPy array of its elements; none: they are taken one by one.
  virtual Answer array(Tracer& t, const Value& value, std::optional<DType> wanted, nb::handle node) const {
    return {};
  }
  /// The type of an array of numbers; none: it is none.
  virtual std::optional<ir::Type> array_type(const Value& value) const { return {}; }
  /// The number of axes of an array; none: it is no array.
  virtual std::optional<int> rank(const Value& value) const { return {}; }
  /// `len`, where it is not the number of its `elements`.
  virtual Answer length(Tracer& t, const Value& value, nb::handle node) const { return {}; }
  /// Its truth where that is known when compiling.
  virtual std::optional<bool> known_truth(Tracer& t, const Value& value) const { return {}; }
  virtual std::optional<NodeId> truth(Tracer& t, const Value& value, nb::handle node) const { return {}; }

  // Iteration.

  /// Its elements where their number is known when compiling, as a loop over it takes them.
  virtual std::optional<Elements> elements(Tracer& t, const Value& value, nb::handle node) const {
    return {};
  }
  /// How often a staged loop over it runs, and with which elements.
  virtual std::optional<Trips> trips(Tracer& t, const Value& value, nb::handle node) const { return {}; }
  /// Refuses it if only Python can iterate over it.
  virtual void refuse_iterate(Tracer& t, const Value& value, nb::handle node) const {}
  /// What a loop over it iterates over, once it has begun; none: it itself.
  virtual Answer iterated(Tracer& t, const Value& value, nb::handle node) const { return {}; }
  /// Its k-th element, and whether it exists, where it is iterated over together with a generator.
  virtual Indexed indexed(Tracer& t, const Value& value, nb::handle node) const;
  /// What is left of it after `taken` elements; none: not known. `known`: that number, if it is.
  virtual Answer rest(Tracer& t, const Value& value, const Value& taken, Known known, nb::handle node) const {
    return {};
  }
  /// The result of `reversed`; none: an iterator over its elements.
  virtual Answer reversed(Tracer& t, const Value& value, nb::handle node) const { return {}; }
  virtual bool has_open_length(const Tracer& t, const Value& value) const { return false; }
  /// Whether iterating over it evaluates a generator, so that it provides one element at a time.
  virtual bool generates(const Value& value) const { return false; }
  /// Whether it is a list or dict, or consists of several iterables of which one is.
  virtual bool may_change_length(const Value& value) const { return false; }

  // Operators of two values.

  /// Of two values, the kind of the greater precedence is asked, of equal ones the left value's, then the
  /// other.
  virtual Precedence precedence() const { return Precedence::Numbers; }
  virtual Answer binary(Tracer& t, Operator op, const Value& a, const Value& b, nb::handle node) const {
    return {};
  }
  /// A comparison of two values of which one is of this kind.
  virtual Answer compare(Tracer& t, Operator op, const Value& a, const Value& b, nb::handle node) const {
    return {};
  }
  /// Whether two values of this kind are the same object; none: not known.
  virtual std::optional<bool> identical(Tracer& t, const Value& a, const Value& b, nb::handle node) const {
    return {};
  }
  /// `wanted in value`.
  virtual Answer contains(Tracer& t, const Value& value, const Value& wanted, nb::handle node) const {
    return {};
  }
  /// `value in container` where this kind decides it; asked if the container's has no greater precedence.
  virtual Answer contained(Tracer& t, const Value& value, const Value& container, nb::handle node) const {
    return {};
  }

 protected:
  constexpr ValueKind() = default;
  ~ValueKind() = default;
};
#pragma GCC diagnostic pop
// NOLINTEND(misc-unused-parameters, performance-unnecessary-value-param)

/// A kind of which Python has a builtin type of its `type_name`.
class BuiltinKind : public ValueKind {
 public:
  nb::object type_of(Tracer& t, const Value& value, nb::handle node) const override;

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
/// The object of Python's that a value is; invalid: it is not known when compiling.
inline nb::object known_of(const Value& value) { return kind_of_value(value).known(value); }

/// The same with other parts, each made of the present one.
template <class Change>
Value with_each_part(const Value& value, const Change& change) {
  std::vector<Value> parts = parts_of(value);
  if (parts.empty()) return value;
  for (Value& part : parts) part = change(part);
  return with_parts(value, std::move(parts));
}

/// The join of two values of equal form, by their parts; `takes_optionals`: these may be optionals, and
/// conflicts.
std::optional<Value> joined_parts(Tracer& t, const Value& a, const Value& b, const std::string& what,
                                  bool takes_optionals);
std::optional<Value> form_of_parts(Tracer& t, const Value& value);
std::vector<Description> descriptions_of(Tracer& t, const std::vector<Value>& values, Outward& outward);

/// The kind of a number; none: it is none, such as an array.
std::optional<Kind> number_kind(const Value& value);
/// A number, or the value of an array, of a dtype.
NodeId node_as(Tracer& t, const Value& value, DType dtype);
/// The element of an array without axes; other values as they are.
Value without_0d(Tracer& t, const Value& value);
/// Whether NumPy makes an array of it: a tuple, a list, a dict or a range.
bool is_sequence(const Value& value);
bool is_known_string(const Value& value);  ///< or bytes
/// Whether the types of two values show that these are different objects.
bool is_distinct(const Value& a, const Value& b);
/// The type of an array of numbers; none: it is none.
inline std::optional<ir::Type> array_type_of(const Value& value) {
  return kind_of_value(value).array_type(value);
}
/// The number of axes of an array, or an array of records; none: it is neither.
inline std::optional<int> rank_of(const Value& value) { return kind_of_value(value).rank(value); }

/// Whether a range is endless, as that of `enumerate` and `count`.
bool counts_on(const Value& iterable);
/// Whether iterating over a value evaluates a generator.
inline bool iterates_generator(const Value& iterable) { return kind_of_value(iterable).generates(iterable); }

/// `an int`, `a float`.
std::string with_article(const std::string& name);
/// The words for an instance, list or dict, which may be of another path.
std::string words_of_object(const Tracer& t, const Value& value, const ValueKind& kind);
/// The number of the list or dict that a value is; 0: it is neither.
uint32_t container_of(const Value& value);
/// The number of the instance, list or dict that a value is; 0: it is none.
uint32_t object_of(const Value& value);

/// Whether two values are the same, with the same nodes.
bool same(const Value& a, const Value& b);
bool same(const State& a, const State& b);
/// Whether two list buffers have elements of one form.
bool same_element(const HeapObject& a, const HeapObject& b);
/// What joins hold of a value or state: its leaves keep the nodes that stay, others are slots.
Value shape_of(const Value& value, const Stays& stays);
State shape_of(const State& state, const Stays& stays);
/// Whether a node is seen from a region.
Stays seen_from(const ir::Builder& builder, ir::RegionId region);
/// The types of the slots of a shape.
void slot_types(ir::TypeTable& types, const Value& shape, std::vector<ir::Type>& out);
void slot_types(ir::TypeTable& types, const State& shape, std::vector<ir::Type>& out);

/// Calls `visit` with each object that a value refers to, itself or by its parts.
void each_object(const Value& value, const ValueKind::Visit& visit);
/// A value with other numbers for its objects, and for its arrays.
Value renumbered(const Value& value, const ValueKind::Renumber& object, const ValueKind::Renumber& array);
/// A value with other nodes for its leaves that have one.
Value with_nodes(const Value& value, const ValueKind::OtherNode& other);

}  // namespace ingot::frontend
