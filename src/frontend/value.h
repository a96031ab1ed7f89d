#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <array>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "frontend/kind.h"

namespace ingot::frontend {

namespace nb = nanobind;
using ir::NodeId;

struct Value;

/// Known now: an immutable host object (number, string, None, dtype, function, module, type...).
struct Static {
  nb::object object;
};

/// A number known at run time.
struct Scalar {
  Kind kind;
  NodeId node{};
};

/// Whether an array may be written; `Differs`: on some of the paths that led here.
enum class Access : uint8_t { ReadOnly, Writable, Differs };

/// A NumPy array. `node` is a view (memory, with identity) or, for a value that nothing has named yet, a
/// whole array.
struct Array {
  ir::Type type;
  NodeId node{};
  Access access = Access::Writable;
  int argument = -1;  ///< the parameter that is this very object; -1: none, or `origin` says
  NodeId origin{};    ///< the number of the parameter that is this object, or -1, known at run time
};

/// A tuple: immutable, so its members are the value.
struct Tuple {
  std::vector<Value> members;
};

/// A mutable container or an object: a number of the shadow heap.
struct Reference {
  uint32_t object;
};

/// `range(start, stop, step)` and `prange`, of integers known now or at run time.
struct Range {
  std::shared_ptr<const std::array<Value, 3>> bounds;
  bool parallel = false;
};

/// `start:stop:step` in an index; parts may be None.
struct Slice {
  std::shared_ptr<const std::array<Value, 3>> parts;
};

/// A function with a value bound to its first parameter: `a.sum`, `d.values`.
struct Method {
  std::shared_ptr<const Value> self;
  std::string name;
};

/// An argument of a kind that compiled code does not have, known by its description alone: it can be passed
/// on; using it is refused, or raises what its type makes Python raise.
struct Foreign {
  nb::object description;
  std::string name;  ///< of the argument
  /// Of arrays with axes: an array of the same shape, whose elements mean nothing.
  std::shared_ptr<const Value> shape{};
};

/// What an iterator walks: `enumerate`, `zip`, `reversed`, items of a dict. Members are walked together.
struct Zip {
  std::shared_ptr<const std::vector<Value>> members;
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

  bool can_be_settled() const { return !loop.empty() || argument >= 0; }
};

struct Value {
  std::variant<Unbound, Static, Scalar, Array, Tuple, Reference, Range, Slice, Method, Zip, Maybe, Conflict,
               Foreign>
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

/// A list or dict of the shadow heap, of a structure known now. Keys are host objects.
struct HeapObject {
  enum class Type { List, Dict } type = Type::List;
  std::vector<Value> values;     ///< elements, or values of a dict in order
  std::vector<nb::object> keys;  ///< of dicts
  int argument = -1;             ///< the number of the argument's container that this is
  size_t leaves = 0;             ///< how many elements it had when the function was called
  bool given_away = false;       ///< made in the function, and put into a container of the caller
  std::string conflict{};        ///< why its structure is not known here
};

/// The names and objects at one point of the program. Copied at forks. Objects have numbers that are never
/// used twice.
struct State {
  std::map<std::string, Value> locals;
  std::map<uint32_t, HeapObject> heap;
};

}  // namespace ingot::frontend
