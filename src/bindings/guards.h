#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <cstdint>
#include <vector>

/// What a specialisation read outside, and whether it is still there.
namespace ingot::bindings {

namespace nb = nanobind;

/// What a dict holds under a name, a cell, a tuple at an index (its name in decimal), or an object as an
/// attribute: a new reference. Null with no exception set: nothing.
PyObject* held(PyObject* owner, PyObject* name);

/// Whether `held` runs no code but Python's own: owners are dicts, cells, tuples, methods and partials.
bool is_read_plainly(PyObject* owner);

/// Whether an object is a `functools.partial`, and of no class derived from it.
bool is_partial(PyObject* object);

/// The attributes that a partial is made of: the function, a tuple, a dict.
const std::array<PyObject*, 3>& names_in_partials();

/// What a class or its bases hold under a name, without binding it, and under `__mro__` the order of its
/// bases: a new reference. Null: nothing. Runs no code.
PyObject* held_in_class(PyObject* type, PyObject* name);

/// Whether two objects are one, or the same by `same_plain`, or tuples of such, or dtypes of the
/// same fields; -1 with an exception set.
int same(PyObject* a, PyObject* b);

/// What was outside when a function was compiled, in order.
class Guards {
 public:
  /// From tuples (owner, name, expected, present, in class).
  explicit Guards(const nb::tuple& guards);

  /// The first guard that does not hold, as its tuple; null: all hold. Throws what looking raises.
  PyObject* changed() const;
  /// Whether looking may run code of the user's: attributes of other objects than `is_read_plainly` takes,
  /// functions and modules.
  bool runs_code() const { return runs_code_; }

  int traverse(visitproc visit, void* argument) const;
  void clear() {
    guards_.clear();
    others_.clear();
    dicts_.clear();
  }

 private:
  enum class Owner : uint8_t { Dict, Cell, Function, Class, Other };
  enum class Attribute : uint8_t { Code, Defaults, KeywordDefaults };

  struct Guard {
    nb::tuple given;  ///< keeps owner and expected alive
    PyObject* owner;
    nb::object name;     ///< interned, as the keys of dicts of globals are
    PyObject* expected;  ///< null: nothing
    Owner kind;
    Attribute attribute;           ///< of a function
    size_t dict = 0;               ///< of a dict: its index in `dicts_`
    mutable unsigned version = 0;  ///< of a class: its version when this last held; 0: not known
    nb::object copy{};             ///< of a dtype whose fields may be renamed in place: what is expected
  };
  /// A dict that guards look into, and its version when they last held; 0: not known.
  struct Dict {
    PyObject* object;
    uint64_t version;
  };

  static PyObject* of_function(const Guard& guard);
  static bool holds_at_once(const Guard& guard);
  static bool holds(const Guard& guard);

  size_t index_of(PyObject* dict);

  bool are_dicts_as_they_were() const;
  PyObject* changed_anew() const;

  std::vector<Guard> guards_;
  std::vector<size_t> others_;  ///< the indices of those that look into no dict
  mutable std::vector<Dict> dicts_;
  bool runs_code_ = false;
};

}  // namespace ingot::bindings
