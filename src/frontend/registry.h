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

/// A Python module. If it is imported already, this is one look-up.
nb::module_ imported(const char* name);

/// An attribute; `otherwise`, if it is missing. Lack of memory is thrown, not taken for a missing attribute.
nb::object attribute_or(nb::handle object, const char* name, nb::object otherwise);
inline bool has_attribute(nb::handle object, const char* name) {
  return attribute_or(object, name, {}).is_valid();
}

/// A host function that compiled code supports: its name and its implementation.
struct Builtin {
  std::string name{};          ///< "sqrt" of "numpy.sqrt"
  std::string module{};        ///< "numpy"
  std::optional<ir::Op> op{};  ///< an elementwise function of NumPy
  int handler = -1;            ///< the number in builtins.def of what handles it
  std::string path{};          ///< in the module, if other than the name: "ndarray.clip"
  std::string subject{};       ///< the module of the library that implements it
  nb::object library{};        ///< ... the implementing function, once it has been used
};

/// The table of builtins by identity, made once per process from the op table, builtins.def and the index of
/// `ingot.library`. This imports nothing: functions of modules that are not loaded yet are entered when they
/// are looked up after loading, and a module of the library is loaded when one of its functions is used.
class Registry {
 public:
  Registry();

  /// Null: an ordinary function.
  const Builtin* find(nb::handle function) const;
  /// The handler of an array's method of this name; -1: none.
  int method(const std::string& name) const;
  /// The library's function for a method or attribute of arrays; invalid: none.
  nb::object member(const std::string& name) const;

 private:
  static const Builtin* loaded(PyObject* function, Builtin& builtin);
  /// Enters a function of a module.
  void enter(nb::handle module, const Builtin& builtin) const;
  /// Enters the functions of modules that have been loaded in the meantime; whether there are any.
  bool enter_loaded() const;

  std::unordered_map<std::string, int> methods_;
  mutable std::unordered_map<PyObject*, Builtin> builtins_;
  mutable std::vector<nb::object> kept_;  ///< the functions, so that their addresses are not reused
  struct Unloaded {
    nb::object module;  ///< its name
    std::vector<Builtin> builtins;
  };
  mutable std::vector<Unloaded> unloaded_;
};

}  // namespace ingot::frontend
