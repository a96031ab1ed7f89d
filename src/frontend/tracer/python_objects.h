#pragma once

#include <span>
#include <string_view>

#include "frontend/tracer/tracer.h"

namespace ingot::frontend {

/// The raw value that a class or its bases hold under a name; invalid: there is none. Runs no code.
nb::object lookup(nb::handle type, const std::string& name);
bool is_member_of_enum(nb::handle object);
bool is_enum(nb::handle type);

inline nb::object attribute(nb::handle object, const char* name) {
  return nb::borrow<nb::object>(object.attr(name));
}
/// A string that holds half of a surrogate pair, which UTF-8 does not have.
struct LoneSurrogate {};
/// Throws LoneSurrogate.
std::string text_of(nb::handle object);
/// The class name of an AST node: "BinOp".
inline std::string class_of(nb::handle node) {
  const std::string_view name = Py_TYPE(node.ptr())->tp_name;
  return std::string(name.substr(name.rfind('.') + 1));
}

/// Whether it is None, or a function, module, class, number or string of one of Python's own types.
inline bool is_plain(nb::handle object) {
  PyTypeObject* const type = Py_TYPE(object.ptr());
  return type == &PyFunction_Type || type == &PyModule_Type || type == &PyCFunction_Type ||
         type == &PyType_Type || type == &PyBool_Type || type == &PyLong_Type || type == &PyFloat_Type ||
         type == &PyUnicode_Type || object.is_none();
}

/// Whether it is one of NumPy's objects that describe types or compute: dtypes, their limits, ufuncs,
/// `_NoValue`.
bool is_of_numpy(nb::handle object);

/// Whether it is a function of `ingot.profile`. Compiled code uses the wrapped function instead.
bool is_counted(nb::handle object);
/// That function.
nb::object uncounted(const nb::object& object);

inline PyTypeObject* as_type(const nb::object& type) { return reinterpret_cast<PyTypeObject*>(type.ptr()); }

/// Whether an object is a type of Ingot's or Numba's, such as `ingot.float32`.
bool is_type(nb::handle object);
/// What a call of an object calls: the function that `ingot.profile` has wrapped, NumPy's scalar class of a
/// type; else the object.
nb::object meant_by(const nb::object& object);

/// Whether it is a function of `ingot.jit`, or an object of `ingot.profile`: its attribute
/// `__ingot_function__` is the function to compile. (A wrapper of one also has this attribute.)
bool is_jitted(nb::handle object);
/// Whether the module of a function or class is of a package that is not written in Python.
bool is_of_closed_package(const nb::object& function);
/// Whether it is compiled with `parallel=False`.
bool is_in_order(const nb::object& function);

/// Whether it is a ufunc that `ingot.vectorize` has made.
inline bool is_vectorized(nb::handle object) {
  return nb::isinstance(object, imported("ingot._vectorize").attr("Vectorized"));
}

/// The names that functions with such globals ask for after these: a dict, or what a program has put there.
nb::object builtins_of(const nb::dict& globals);

/// An expression as Python writes it.
inline std::string as_written(nb::handle e) { return text_of(imported("ast").attr("unparse")(e)); }

/// The attributes of a statement, or of a clause of one, that hold statements or clauses.
std::span<const char* const> bodies_of(std::string_view statement);

/// Whether a function is a method of the classes of `collections.namedtuple`, which the frontend implements.
bool is_of_namedtuple(const nb::object& function);

/// Whether `dataclasses` has generated a function, perhaps in a wrapper of Python's library.
bool is_generated(const nb::object& raw);
inline constexpr const char* kStandsFor = "__ingot_stands_for__";
/// The class that one of `ingot.library.buffers` stands for; other classes themselves.
nb::object stood_for(const nb::object& type);

inline bool is_none(const Value& value) { return value.is<Static>() && value.as<Static>()->object.is_none(); }

}  // namespace ingot::frontend
