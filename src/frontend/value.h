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
#include "frontend/description.h"
#include "ir/builder.h"

namespace ingot::frontend {

namespace nb = nanobind;
using ir::NodeId;

struct Value;

/// Makes a shared part of a value. Parts are immutable.
template <class T>
std::shared_ptr<const T> share(T value) {
  return std::make_shared<const T>(std::move(value));
}

/// Rethrows an error that reports a lack of memory for compiling: it is no error of the program.
void rethrow_lack_of_memory(const nb::python_error& error);

/// Known now: an immutable host object (number, string, None, dtype, function, module, type...).
struct Static {
  nb::object object;
};

/// A number known at run time.
struct Scalar {
  Kind kind;
  NodeId node{};
  bool is_mixed = false;  ///< it is of another kind in Python, if control came on another path
};

/// Whether an array is writable; `Differs`: on some of the paths that led here.
enum class Access : uint8_t { ReadOnly, Writable, Differs };

/// A NumPy array. `node` is a view (memory, with identity) or, for a value that is not materialised yet, a
/// whole array.
struct Array {
  static constexpr int64_t kOwner = -2;  ///< an origin: no parameter, and `owns` is true

  ir::Type type;
  NodeId node{};
  Access access = Access::Writable;
  int argument = -1;  ///< the parameter that is this very object; -1: none, or see `origin`
  NodeId origin{};    ///< the number of the parameter that is this object, -1 or `kOwner`, known at run time
  uint32_t object = 0;  ///< values of equal numbers are the same object; 0: not known
  bool owns = false;    ///< it is the object that its memory was allocated for: one such object per memory
  bool is_constant = false;  ///< it is not written any more
};

/// An array of one of NumPy's structured dtypes, or one record (element) of such an array.
struct Structured {
  nb::object dtype;
  Holder holder = Holder::Array;
  std::shared_ptr<const Value> first;   ///< an array: the first byte of each record
  ir::Layout layout = ir::Layout::Any;  ///< of the records, each of the dtype's size
  /// Of a record: its indices in the array, as the user wrote them, all known to be in range.
  std::vector<Value> indices{};
};

/// A tuple. Tuples are immutable, so the members are the value.
struct Tuple {
  std::vector<Value> members;
  nb::object type{};  ///< the class of a namedtuple; invalid: Python's own tuple
};

/// A set of known elements: the cell of the shadow heap that holds its history.
struct Set {
  uint32_t cell;
  bool is_frozen = false;
};

/// A list: its number in the shadow heap.
struct List {
  uint32_t object;
};

/// A dict: its number in the shadow heap.
struct Dict {
  uint32_t object;
};

/// The cell of a variable that several functions share: its number in the shadow heap.
struct Cell {
  uint32_t object;
};

/// An instance of a user's class: its number in the shadow heap.
struct Object {
  uint32_t object;
};

/// An instance of a class that has a pool, or a list that is stored in one: its index there, a value of run
/// time. `pool` is a number of the shadow heap. Classes whose instances one variable may hold are a family:
/// the pool is that of the first class, and the lowest bits of the index are the number of the class in its
/// family.
struct Pooled {
  static constexpr int64_t kNone = -1;     ///< the index of None
  static constexpr int64_t kUnbound = -2;  ///< of an unbound variable or attribute
  static constexpr uint32_t kNoPool = 0;   ///< of an attribute that is None or unbound in all instances

  uint32_t pool;
  NodeId index{};
  bool may_be_none = false;
  bool may_be_unbound = false;
  bool is_list = false;
  uint64_t classes = 0;  ///< of an instance: its possible classes in the family, a bit for each

  Pooled at(NodeId other) const {
    Pooled record = *this;
    record.index = other;
    return record;
  }
};

/// `range(start, stop, step)` and `prange`, of integers known now or at run time.
struct Range {
  std::shared_ptr<const std::array<Value, 3>> bounds;
  bool parallel = false;
  bool endless = false;  ///< of `enumerate` and `itertools.count`: `stop` is not used
};

/// `start:stop:step` in an index; parts may be None.
struct Slice {
  std::shared_ptr<const std::array<Value, 3>> parts;
};

/// A function with a value bound to its first parameter: `a.sum`, `d.values`.
struct Method {
  std::shared_ptr<const Value> self;
  std::string name;
  nb::object function{};  ///< of a user's class; invalid: see `name`
};

/// An argument of an unsupported type. Only its description is known. It can be passed on; any other use is
/// refused, or raises what Python raises for this type.
struct Foreign {
  nb::object description;
  std::string name;  ///< of the argument
  /// Of arrays with axes: an array of the same shape, with dummy elements.
  std::shared_ptr<const Value> shape{};
  /// Of an array's address: the array, as memory.
  std::shared_ptr<const Value> points_to{};
};

/// The result of `enumerate` and `zip`. The members are iterated over together.
struct Zip {
  std::shared_ptr<const std::vector<Value>> members;
};

/// A string with parts of run time: a format string of Python, and the values that fill it.
struct String {
  std::string form;
  std::shared_ptr<const std::vector<Value>> parts;
};

/// A string whose characters are known only at run time: an array of their code points, or, for a string of
/// at most one character, a number: its code point, or -1 for the empty string.
struct Characters {
  std::shared_ptr<const Value> codes;
};

/// A member of an Enum that is known only at run time: its index among the members, a number.
struct Member {
  nb::object type;
  std::shared_ptr<const Value> index;
};

/// The keys, values or items of a dict of the shadow heap, as of the time when they are read; or the elements
/// of a list or dict in reverse.
struct View {
  uint32_t object;
  std::string name;                   ///< dict_keys, dict_values, dict_items or list
  std::optional<size_t> from_back{};  ///< in reverse: how many there were when iterating began
  size_t skip = 0;                    ///< how many have been taken already
};

/// An iterator of Python. A cell of the shadow heap holds how many elements have been taken; None: a loop
/// has iterated over it.
struct Iterator {
  uint32_t cell;
  std::string name;  ///< of its class
  std::shared_ptr<const Value> iterates;
};

struct Definition;

/// A generator that has not begun: its function, and the variables that have values already. It is evaluated
/// where it is iterated over.
struct Generator {
  std::shared_ptr<const Definition> definition;
  std::shared_ptr<const std::vector<std::string>> names;
  std::shared_ptr<const std::vector<Value>> values;
};

/// An exception: raised by the core with a message, or made of a class and arguments. Its cause and its
/// context are exceptions of their own.
struct Error {
  nb::object type;
  std::optional<base::ExceptionKind> kind{};  ///< of a message; none: `parts` are its arguments
  std::string message{};
  std::shared_ptr<const std::vector<Value>> parts{};  ///< what fills the message's holes
  nb::object original{};                              ///< the object, if it is known; else invalid
  bool own = false;                                   ///< Ingot's own: no clause catches it
  uint32_t number = 0;                                ///< errors of equal numbers are the same object
  std::shared_ptr<const Error> cause{};               ///< `__cause__`; none: it has none
  std::shared_ptr<const Error> context{};             ///< `__context__`
  bool is_suppressing = false;                        ///< `__suppress_context__`
  ir::SpanId raised_at{};
  size_t frames = 0;  ///< how many activations it left until it was caught

  /// Whether its cause is its context.
  bool is_caused_by_context() const { return cause && context && cause->number == context->number; }
  /// Whether its class and arguments describe it completely.
  bool is_plain() const { return !cause && !context && !is_suppressing; }
};

/// A function that is defined in the compiled function; its defaults were evaluated there.
struct Closure {
  std::shared_ptr<const Definition> definition;
  std::shared_ptr<const std::vector<Value>> defaults;  ///< of positional, then of keyword-only parameters
};

/// Not bound (a local before its assignment, or deleted).
struct Unbound {};

/// An optional: bound, or not None, on some paths only. `present` is its value where it is there; elsewhere
/// the nodes of `present` are dummies.
struct Maybe {
  NodeId node{};
  std::shared_ptr<const Value> present;
  bool may_be_unbound = false;
  bool may_be_none = false;
};

/// The values of several paths that cannot be joined. Harmless until it is used, then refused.
struct Conflict {
  std::string reason;
  /// What would resolve the conflict if it were known: a loop to unroll or an argument. Not a node, because
  /// a roll-back removes nodes.
  std::string loop{};
  int argument = -1;
  std::vector<nb::object> pools{};  ///< classes whose instances would have to be in pools
  std::vector<std::string> rows{};  ///< where the lists are made that would have to be
  const char* advice = "use two names, or make both of one type";

  bool has_source() const { return !loop.empty() || argument >= 0; }
  bool can_be_settled() const { return has_source() || !pools.empty() || !rows.empty(); }
};

struct Value {
  std::variant<Unbound, Static, Scalar, Array, Tuple, List, Dict, Cell, Range, Slice, Method, Zip, Maybe,
               Conflict, Foreign, Structured, String, Characters, Member, View, Closure, Error, Object,
               Iterator, Generator, Set, Pooled>
      v;

  Value() noexcept;
  Value(const Value& other);
  Value(Value&& other) noexcept;
  Value& operator=(const Value& other);
  Value& operator=(Value&& other) noexcept;
  ~Value();
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

/// Whether it is an instance of a user's class.
inline bool is_instance(const Value& value) {
  return value.is<Object>() || (value.is<Pooled>() && !value.as<Pooled>()->is_list);
}
/// A list that is stored in a pool; null: it is something else.
inline const Pooled* row_of(const Value& value) {
  const Pooled* record = value.as<Pooled>();
  return record != nullptr && record->is_list ? record : nullptr;
}

/// Whether two structured dtypes are equal, with elements of the same class.
bool is_one_dtype(const nb::object& a, const nb::object& b);

/// The values that a value is made of, in order: members, bounds, what a method is bound to.
std::vector<Value> parts_of(const Value& value);
/// The same with other parts, as many of them.
Value with_parts(const Value& value, std::vector<Value> parts);
/// Whether two values are equal except for their parts.
bool same_form(const Value& a, const Value& b);

/// A list, a dict, an instance or the cell of a shared variable in the shadow heap. The structure is known;
/// keys are host objects.
struct HeapObject {
  enum class Type { List, Dict, Cell, Object } type = Type::List;
  std::vector<Value> values;     ///< elements, values of a dict in order, or attributes (missing: Unbound)
  std::vector<nb::object> keys;  ///< of dicts; of instances and pools: the names of attributes, which are
  ///< the same for a whole class
  int argument = -1;           ///< its number among the caller's; -1: none; below: see kinds/copies.cpp
  size_t leaves = 0;           ///< how many elements it had when the function was called
  nb::object type_of{};        ///< the class of an instance, or of those in a pool
  std::vector<bool> absent{};  ///< by attribute: whether the caller's instance lacked it
  bool given_away = false;     ///< made in the function, and stored in a container of the caller
  std::string conflict{};      ///< why its structure is not known at this point
  bool is_stale = false;       ///< that is: what may be the same object has been changed
  /// Of a list buffer: the form of its elements, with numbers without nodes. Its values are then the length
  /// and, for each of these numbers, an array of at least that length.
  std::shared_ptr<const Value> element{};
  /// Of a dict whose keys are known only at run time: its values are then a list of the keys, a list of the
  /// values and a hash table of their indices.
  bool is_mapping = false;
  std::string made_at{};  ///< of a dict: the fact that it is such a one
  uint32_t store = 0;     ///< of a pool of lists: the list that holds the elements of all of them
  size_t cell = 0;        ///< of a list buffer of the caller's: the first of its numbers among the cells
  std::shared_ptr<const Conflict> joined{};  ///< of a joined object (joins/objects.h): why it is not changed
  uint32_t origin = 0;          ///< ... the cell of the number of the caller's that it is; in that, -1: none
  std::set<uint32_t> may_be{};  ///< ... the objects that it may be
};

/// The classes and lists that have pools in the shadow heap, a fact found while evaluating, and the numbers
/// of these pools.
struct Pools {
  /// The instances and lists that the function has made without pools.
  struct Makings {
    std::map<uint32_t, nb::object> classes{};              ///< of instances
    std::map<uint32_t, std::vector<std::string>> sites{};  ///< where lists were made
  };

  std::vector<nb::object> classes{};
  std::vector<size_t> first_of_kin{};             ///< by class: the first class of its family
  std::map<std::string, std::string> families{};  ///< where lists are made → another such location, or itself
  /// Of the objects of pools, by purpose: the same in all of a function's evaluations and routines.
  std::map<std::string, uint32_t> numbers{};
  std::map<PyObject*, uint32_t> by_class{};
  std::map<uint32_t, std::vector<nb::object>> kin{};  ///< the classes of a family, by the pool of the first
  std::map<std::string, uint32_t> by_family{};
  std::set<uint32_t> objects{};  ///< pools and stores
  Makings makings{};

  /// Forgets everything but which classes and lists have pools.
  void begin() {
    by_class.clear();
    kin.clear();
    by_family.clear();
    objects.clear();
    makings = {};
  }
};

/// A list, dict or instance of the caller's.
struct CallersContainer {
  uint32_t object = 0;              ///< its number in the shadow heap
  std::string name{};               ///< the same in all evaluations
  int argument = -1;                ///< that it is part of; -1: none
  bool may_be_list_buffer = false;  ///< its elements are alike, though it is described element by element
  bool is_list_buffer = false;      ///< described as one
  int leaf = -1;                    ///< ... its first column; -1: there are none
};

/// What is written into the caller's containers: facts found while evaluating.
struct Writes {
  bool any = false;
  std::set<std::string> lists{};            ///< the list buffers that are changed, by name
  std::map<std::string, Value> elements{};  ///< by name: the form of the elements that empty ones get
};

/// An inner function without its defaults.
struct Definition {
  nb::object node;    ///< its ast.FunctionDef or ast.Lambda
  nb::object hollow;  ///< a host function of the same parameters
  nb::dict globals;
  std::map<std::string, nb::object> outside;  ///< cells of the compiled function
  std::map<std::string, uint32_t> shared;     ///< cells of the functions around it, in the shadow heap
  ir::TextId file;
  std::string qualname;
  uint64_t creator = 0;  ///< of a generator expression: the activation whose variables it uses; else 0
};

/// The names and objects at one point of the program. Copied at forks. Objects have numbers that are never
/// used twice.
struct State {
  std::map<std::string, Value> locals;
  std::map<uint32_t, HeapObject> heap;
};

}  // namespace ingot::frontend

// In value.cpp, as copies of values are: making them in each source took half of the time to compile it.
extern template class std::vector<ingot::frontend::Value>;
