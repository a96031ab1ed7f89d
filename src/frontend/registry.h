#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/op.h"

namespace ingot::frontend {

namespace nb = nanobind;

/// A module of Python's. One that has been imported costs a look-up.
nb::module_ imported(const char* name);

/// An attribute, or what stands for one that is missing. A lack of memory is thrown, and says nothing of it.
nb::object attribute_or(nb::handle object, const char* name, nb::object otherwise);
inline bool has_attribute(nb::handle object, const char* name) {
  return attribute_or(object, name, {}).is_valid();
}

/// The host functions that compiled code knows, by identity: what they are called, and what they mean.
struct Builtin {
  std::string name{};          ///< "sqrt" of "numpy.sqrt"
  std::string module{};        ///< "numpy"
  std::optional<ir::Op> op{};  ///< an elementwise function of NumPy
  int handler = -1;            ///< a handler of the evaluator: its number in builtins.def
  std::string path{};          ///< in the module, where it is not the name: "ndarray.clip"
  std::string subject{};       ///< the module of the library that has a function for it
  nb::object library{};        ///< ... that function, when it has been asked for
};

/// The table of builtins, made once a process from the op table, builtins.def and the index of
/// `ingot.library`. It imports nothing for that: functions of modules that nobody has loaded enter it when
/// they are looked for, and a module of the library is loaded when one of its functions is.
class Registry {
 public:
  Registry();

  /// Null: an ordinary function.
  const Builtin* find(nb::handle function) const;
  /// The handler of an array's method of this name; -1: none.
  int method(const std::string& name) const;
  /// The method or attribute of arrays that the library has a function for; invalid: none.
  nb::object member(const std::string& name) const;

 private:
  static const Builtin* loaded(PyObject* function, Builtin& builtin);
  /// Enters a function of a module.
  void enter(nb::handle module, const Builtin& builtin) const;
  /// Enters the functions of the modules that have been loaded since; whether there are any.
  bool enter_loaded() const;

  std::unordered_map<std::string, int> methods_;
  mutable std::unordered_map<PyObject*, Builtin> builtins_;
  mutable std::vector<nb::object> kept_;  ///< the functions, so that their addresses stay theirs
  struct Unloaded {
    nb::object module;  ///< its name
    std::vector<Builtin> builtins;
  };
  mutable std::vector<Unloaded> unloaded_;
};

}  // namespace ingot::frontend
