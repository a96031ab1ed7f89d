#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/exception.h"
#include "frontend/kind.h"

namespace ingot::frontend {

namespace nb = nanobind;
using ir::NodeId;

struct Value;

/// Parts of values are shared, and do not change.
template <class T>
std::shared_ptr<const T> share(T value) {
  return std::make_shared<const T>(std::move(value));
}

/// Throws it again, where memory for compiling has run out: that says nothing of the program.
void rethrow_lack_of_memory(const nb::python_error& error);

/// Known now: an immutable host object (number, string, None, dtype, function, module, type...).
struct Static {
  nb::object object;
};

/// A number known at run time.
struct Scalar {
  Kind kind;
  NodeId node{};
  bool is_mixed = false;  ///< in Python of another kind where another path led here
};

/// Whether an array may be written; `Differs`: on some of the paths that led here.
enum class Access : uint8_t { ReadOnly, Writable, Differs };

/// A NumPy array. `node` is a view (memory, with identity) or, for a value that nothing has named yet, a
/// whole array.
struct Array {
  static constexpr int64_t kOwner = -2;  ///< an origin: none, and `owns` holds

  ir::Type type;
  NodeId node{};
  Access access = Access::Writable;
  int argument = -1;  ///< the parameter that is this very object; -1: none, or `origin` says
  NodeId origin{};    ///< the number of the parameter that is this object, -1 or `kOwner`, known at run time
  uint32_t object = 0;  ///< values of one number are one object; 0: not known
  bool owns = false;    ///< the object that its memory was made with: one of the same memory is the same one
  bool is_constant = false;  ///< nothing writes to it any more
};

/// An array of a structured dtype of NumPy's, whose elements are records of fields, or one record.
struct Structured {
  /// What it is in Python: `np.ndarray`, `np.recarray`, or a single `np.void` or `np.record`.
  enum class Holder : uint8_t { Array, RecArray, Record };

  nb::object dtype;
  Holder holder = Holder::Array;
  std::shared_ptr<const Value> first;   ///< an array: the first byte of each record
  ir::Layout layout = ir::Layout::Any;  ///< how the records lie, each as long as the dtype says
  /// Of a record: its indices in the array, of which all are known to be in range, as the user wrote them.
  std::vector<Value> places{};
};

/// A tuple: immutable, so its members are the value.
struct Tuple {
  std::vector<Value> members;
  nb::object type{};  ///< the class of a namedtuple; invalid: Python's own tuple
};

/// A set of elements that are known when compiling: the cell of the shadow heap that holds its history.
struct Set {
  uint32_t cell;
  bool is_frozen = false;
};

/// A mutable container: a number of the shadow heap.
struct Reference {
  uint32_t object;
};

/// An instance of a class of the user's: a number of the shadow heap.
struct Object {
  uint32_t object;
};

/// An instance of a class that has a pool, or a list that stands in one: its place there, known at run
/// time. `pool` is a number of the shadow heap. Where instances of several classes may stand in one place,
/// these are a family: the pool is that of the first of them, and the lowest bits of the place are the
/// number of the class in its family.
struct Record {
  static constexpr int64_t kNone = -1;     ///< the place of None
  static constexpr int64_t kUnbound = -2;  ///< of what is not bound, or an attribute that is not there
  static constexpr uint32_t kNoPool = 0;   ///< of an attribute that is None or not there in all instances

  uint32_t pool;
  NodeId place{};
  bool may_be_none = false;
  bool may_be_unbound = false;
  bool is_list = false;
  uint64_t classes = 0;  ///< of an instance: the classes of its family that it may be of, a bit for each

  Record at(NodeId other) const {
    Record record = *this;
    record.place = other;
    return record;
  }
};

/// `range(start, stop, step)` and `prange`, of integers known now or at run time.
struct Range {
  std::shared_ptr<const std::array<Value, 3>> bounds;
  bool parallel = false;
  bool endless = false;  ///< what `enumerate` and `itertools.count` count: `stop` has no meaning
};

/// `start:stop:step` in an index; parts may be None.
struct Slice {
  std::shared_ptr<const std::array<Value, 3>> parts;
};

/// A function with a value bound to its first parameter: `a.sum`, `d.values`.
struct Method {
  std::shared_ptr<const Value> self;
  std::string name;
  nb::object function{};  ///< of a class of the user's; invalid: `name` says
};

/// An argument of a kind that compiled code does not have, known by its description alone: it can be passed
/// on; using it is refused, or raises what its type makes Python raise.
struct Foreign {
  nb::object description;
  std::string name;  ///< of the argument
  /// Of arrays with axes: an array of the same shape, whose elements mean nothing.
  std::shared_ptr<const Value> shape{};
  /// Of what stands for the address of an array: the array, as memory.
  std::shared_ptr<const Value> points_to{};
};

/// What `enumerate` and `zip` iterate. Members are iterated over together.
struct Zip {
  std::shared_ptr<const std::vector<Value>> members;
};

/// A text with parts that are not known when compiling: Python's format string and what goes into it.
struct Text {
  std::string form;
  std::shared_ptr<const std::vector<Value>> parts;
};

/// A text of which the characters are known only when the call runs: an array of their code points, or, of a
/// text of one character, a number: its code point, -1 for the empty text in its place.
struct Characters {
  std::shared_ptr<const Value> codes;
};

/// A member of an Enum that is known only when the call runs: its place among the members, a number.
struct Member {
  nb::object type;
  std::shared_ptr<const Value> place;
};

/// The keys, values or items of a dict of the shadow heap, as they are when they are asked for; or the
/// elements of a list or dict from the back.
struct View {
  uint32_t object;
  std::string name;                   ///< dict_keys, dict_values, dict_items or list
  std::optional<size_t> from_back{};  ///< how many there were when iterating began
  size_t skip = 0;                    ///< how many have been taken already
};

/// What can be iterated over once. A cell of the shadow heap holds how far it has been; None: iterated over
/// by a loop.
struct Iterator {
  uint32_t cell;
  std::string name;  ///< of its class
  std::shared_ptr<const Value> iterates;
};

struct Definition;

/// A generator that has not begun: what its function is, and the variables that have values by then. It is
/// evaluated where it is iterated over.
struct Generator {
  std::shared_ptr<const Definition> definition;
  std::shared_ptr<const std::vector<std::string>> names;
  std::shared_ptr<const std::vector<Value>> values;
};

/// An exception: raised by the core with a message, or made of a class and arguments. What it was raised
/// from, and while handling which one, are exceptions of their own.
struct Error {
  nb::object type;
  std::optional<base::ExceptionKind> kind{};  ///< of a message; none: `parts` are its arguments
  std::string message{};
  std::shared_ptr<const std::vector<Value>> parts{};  ///< what fills the message's holes
  nb::object original{};                              ///< it, where it is known; else not valid
  bool own = false;                                   ///< of Ingot alone: no clause catches it
  uint32_t number = 0;                                ///< those of one number are one object
  std::shared_ptr<const Error> cause{};               ///< `__cause__`; none: it has none
  std::shared_ptr<const Error> context{};             ///< `__context__`
  bool is_suppressing = false;                        ///< `__suppress_context__`
  ir::SpanId raised_at{};
  size_t frames = 0;  ///< how many activations it came through until it was caught

  /// Whether its cause is its context.
  bool is_caused_by_context() const { return cause && context && cause->number == context->number; }
  /// Whether it is no more than what its class and arguments say.
  bool is_plain() const { return !cause && !context && !is_suppressing; }
};

/// A function made in the function; its defaults were evaluated there.
struct Closure {
  std::shared_ptr<const Definition> definition;
  std::shared_ptr<const std::vector<Value>> defaults;  ///< of positional, then of keyword-only parameters
};

/// Not bound (a local before its assignment, or deleted).
struct Unbound {};

/// Bound, or not None, on some paths only: an optional. `present` is what it is when it is there, its nodes
/// of no meaning.
struct Maybe {
  NodeId node{};
  std::shared_ptr<const Value> present;
  bool may_be_unbound = false;
  bool may_be_none = false;
};

/// Different things on different paths that nothing can hold both of: harmless until it is used, then
/// refused.
struct Conflict {
  std::string reason;
  /// What would settle the conflict, known when compiling: a loop to unroll or an argument. Not nodes, which
  /// a roll-back takes away.
  std::string loop{};
  int argument = -1;
  std::vector<nb::object> pools{};  ///< the classes whose instances would have to stand in pools
  std::vector<std::string> rows{};  ///< where the lists are made that would

  bool has_source() const { return !loop.empty() || argument >= 0; }
  bool can_be_settled() const { return has_source() || !pools.empty() || !rows.empty(); }
};

struct Value {
  std::variant<Unbound, Static, Scalar, Array, Tuple, Reference, Range, Slice, Method, Zip, Maybe, Conflict,
               Foreign, Structured, Text, Characters, Member, View, Closure, Error, Object, Iterator,
               Generator, Set, Record>
      v;

  Value() = default;
  template <class T>
    requires(!std::is_same_v<std::remove_cvref_t<T>, Value>)
  Value(T&& part) : v(std::forward<T>(part)) {}  // NOLINT(google-explicit-constructor)

  template <class T>
  const T* as() const {
    return std::get_if<T>(&v);
  }
  template <class T>
  T* as() {
    return std::get_if<T>(&v);
  }
  template <class T>
  bool is() const {
    return std::holds_alternative<T>(v);
  }
};

inline bool is_mixed(const Value& value) {
  const Scalar* number = value.as<Scalar>();
  return number != nullptr && number->is_mixed;
}

/// Of a class of the user's.
inline bool is_instance(const Value& value) {
  return value.is<Object>() || (value.is<Record>() && !value.as<Record>()->is_list);
}
/// A list that stands in a pool; null: it is something else.
inline const Record* row_of(const Value& value) {
  const Record* record = value.as<Record>();
  return record != nullptr && record->is_list ? record : nullptr;
}

/// Whether two structured dtypes are one, with elements of one class.
bool is_one_dtype(const nb::object& a, const nb::object& b);

/// The values that a value is made of, in order: members, bounds, what a method is bound to.
std::vector<Value> parts_of(const Value& value);
/// The same with other parts, as many of them.
Value with_parts(const Value& value, std::vector<Value> parts);
/// Whether two values are alike but for their parts.
bool same_form(const Value& a, const Value& b);

/// A list, a dict, an instance or the cell of a shared variable in the shadow heap, of a structure known now.
/// Keys are host objects.
struct HeapObject {
  enum class Type { List, Dict, Cell, Object } type = Type::List;
  std::vector<Value> values;     ///< elements, values of a dict in order, or attributes (not there: unbound)
  std::vector<nb::object> keys;  ///< of dicts; the names of attributes, the same for all of a class, of
                                 ///< instances and pools
  int argument = -1;             ///< the number of the argument's container that this is
  size_t leaves = 0;             ///< how many elements it had when the function was called
  nb::object type_of{};          ///< the class of an instance, or of those in a pool
  std::vector<bool> absent{};    ///< by attribute: whether the caller's instance did not have it
  bool given_away = false;       ///< made in the function, and put into a container of the caller
  std::string conflict{};        ///< why its structure is not known here
  /// Of a list whose length is known only when the call runs: what an element is like, its numbers without
  /// nodes. Its values are then the length and, for each of these numbers, an array of at least that length.
  std::shared_ptr<const Value> element{};
  /// Of a dict whose keys are known only when the call runs: its values are then a list of the keys, a list
  /// of the values and a table of places by hash.
  bool is_mapping = false;
  std::string made_at{};  ///< of a dict: the fact that makes it one
  uint32_t store = 0;     ///< of a pool of lists: the list of the elements of them all
};

/// What has a pool in the shadow heap, which is found while evaluating, and the numbers of these pools.
struct Pools {
  /// What the function has made and holds without pools.
  struct Makings {
    std::map<uint32_t, nb::object> classes{};               ///< of instances
    std::map<uint32_t, std::vector<std::string>> places{};  ///< where lists were made
  };

  std::vector<nb::object> classes{};
  std::vector<size_t> first_of_kin{};             ///< by class: the first one of its family
  std::map<std::string, std::string> families{};  ///< where lists are made, and another such place or itself
  /// Of the objects of pools, by what they are for: the same in all evaluations of a function and in all of
  /// its routines.
  std::map<std::string, uint32_t> numbers{};
  std::map<PyObject*, uint32_t> by_class{};
  std::map<uint32_t, std::vector<nb::object>> kin{};  ///< the classes of a family, by the pool of the first
  std::map<std::string, uint32_t> by_family{};
  std::set<uint32_t> objects{};  ///< pools and stores
  Makings makings{};

  /// Forgets all but what has a pool.
  void begin() {
    by_class.clear();
    kin.clear();
    by_family.clear();
    objects.clear();
    makings = {};
  }
};

/// What an inner function is, apart from its defaults.
struct Definition {
  nb::object node;    ///< its ast.FunctionDef or ast.Lambda
  nb::object hollow;  ///< a host function of the same parameters
  nb::dict globals;
  std::map<std::string, nb::object> outside;  ///< cells of the compiled function
  std::map<std::string, uint32_t> shared;     ///< cells of the functions around it, in the shadow heap
  ir::TextId file;
  std::string qualname;
  uint64_t creator = 0;  ///< of a generator expression, the activation whose variables it uses; 0: others
};

/// The names and objects at one point of the program. Copied at forks. Objects have numbers that are never
/// used twice.
struct State {
  std::map<std::string, Value> locals;
  std::map<uint32_t, HeapObject> heap;
};

}  // namespace ingot::frontend
