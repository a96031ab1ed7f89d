#include "frontend/tracer/python_objects.h"

#include "base/packages.h"
#include "frontend/tracer/frame.h"

namespace ingot::frontend {

bool is_of_numpy(nb::handle object) {
  const nb::module_ numpy = imported("numpy");
  return nb::isinstance(object, nb::make_tuple(numpy.attr("dtype"), numpy.attr("finfo"), numpy.attr("iinfo"),
                                               numpy.attr("ufunc"), numpy.attr("_NoValue").type()));
}

std::string text_of(nb::handle object) {
  const nb::str text(object);
  Py_ssize_t size = 0;
  const char* const bytes = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
  if (bytes != nullptr) return {bytes, static_cast<size_t>(size)};
  if (PyErr_ExceptionMatches(PyExc_UnicodeEncodeError) == 0) throw nb::python_error();
  PyErr_Clear();
  throw LoneSurrogate{};
}

nb::object builtins_of(const nb::dict& globals) {
  const nb::str key("__builtins__");
  const nb::object own = globals.contains(key) ? globals[key] : imported("builtins");
  return PyModule_Check(own.ptr()) ? attribute(own, "__dict__") : own;
}

bool is_counted(nb::handle object) {
  if (PyFunction_Check(object.ptr())) {
    // A generator or coroutine: a Python function with a mark.
    PyObject* const own = reinterpret_cast<PyFunctionObject*>(object.ptr())->func_dict;
    return own != nullptr &&
           PyDict_GetItemString(own, "__ingot_counted__") == PyFunction_GET_CODE(object.ptr());
  }
  return !is_plain(object) &&
         nb::isinstance(object, imported("ingot._ingot").attr("profile").attr("Profiled"));
}

nb::object uncounted(const nb::object& object) {
  return attribute(object, PyFunction_Check(object.ptr()) ? "__wrapped__" : "__ingot_function__");
}

bool is_type(nb::handle object) {
  if (std::string_view(Py_TYPE(object.ptr())->tp_name) == "Type" &&
      object.type().is(imported("ingot._signatures").attr("Type")))
    return true;
  const nb::object module = attribute_or(object.type(), "__module__", nb::none());
  return PyUnicode_Check(module.ptr()) && text_of(module).starts_with("numba.core.types.");
}

nb::object meant_by(const nb::object& object) {
  if (is_counted(object)) return uncounted(object);
  if (is_plain(object) || !is_type(object)) return object;
  nb::object scalar = imported("ingot._signatures").attr("scalar_class")(object);
  return scalar.is_none() ? object : scalar;
}

bool is_jitted(nb::handle object) {
  if (is_plain(object)) return false;
  const nb::object kind = imported("ingot._ingot").attr("Callable");
  return PyObject_TypeCheck(object.ptr(), reinterpret_cast<PyTypeObject*>(kind.ptr())) != 0 ||
         is_counted(object);
}

bool is_of_closed_package(const nb::object& function) {
  if (!PyFunction_Check(function.ptr()) && !PyType_Check(function.ptr())) return false;
  const nb::object module = attribute_or(function, "__module__", nb::none());
  return PyUnicode_Check(module.ptr()) && base::is_closed_package(text_of(module));
}

bool is_in_order(const nb::object& function) {
  return is_jitted(function) && attribute_or(function, "_in_order", nb::bool_(false)).is(Py_True);
}

bool is_of_namedtuple(const nb::object& function) {
  static const std::set<PyObject*> kCodes = [] {
    const nb::object type = imported("collections").attr("namedtuple")("made", "field");
    std::set<PyObject*> codes;
    for (const char* name : {"__repr__", "__getnewargs__", "_asdict", "_replace", "_make"}) {
      const nb::object method = attribute(type, name);
      codes.insert(attribute(attribute_or(method, "__func__", method), "__code__").release().ptr());
    }
    return codes;
  }();
  return PyFunction_Check(function.ptr()) && kCodes.contains(PyFunction_GET_CODE(function.ptr()));
}

bool is_generated(const nb::object& raw) {
  if (!PyFunction_Check(raw.ptr())) return false;
  const std::string module = text_of(raw.attr("__globals__").attr("get")("__name__", nb::str("")));
  const bool is_wrapper = module == "dataclasses" || module == "reprlib";
  const nb::object function = is_wrapper ? attribute_or(raw, "__wrapped__", raw) : raw;
  return text_of(function.attr("__code__").attr("co_qualname")).starts_with("__create_fn__.<locals>.");
}

nb::object stood_for(const nb::object& type) {
  const nb::object own = lookup(type, kStandsFor);
  return own.is_valid() ? own : type;
}

nb::object lookup(nb::handle type, const std::string& name) {
  PyObject* const found =
      _PyType_Lookup(reinterpret_cast<PyTypeObject*>(type.ptr()), nb::str(name.c_str()).ptr());
  return found == nullptr ? nb::object() : nb::borrow<nb::object>(found);
}

bool is_member_of_enum(nb::handle object) {
  if (Py_TYPE(Py_TYPE(object.ptr())) == &PyType_Type) return false;
  const nb::object metaclass = imported("enum").attr("EnumType");
  return PyObject_TypeCheck(reinterpret_cast<PyObject*>(Py_TYPE(object.ptr())), as_type(metaclass)) != 0;
}

bool is_enum(nb::handle type) {
  if (Py_IS_TYPE(type.ptr(), &PyType_Type)) return false;
  const nb::object metaclass = imported("enum").attr("EnumType");
  return PyObject_TypeCheck(type.ptr(), as_type(metaclass)) != 0;
}

std::span<const char* const> bodies_of(std::string_view statement) {
  static constexpr const char* kParts[] = {"body", "orelse", "handlers", "finalbody", "cases"};
  const std::span<const char* const> parts(kParts);
  if (statement == "If" || statement == "For" || statement == "While") return parts.first(2);
  if (statement == "Try" || statement == "TryStar") return parts.first(4);
  if (statement == "With" || statement == "ExceptHandler" || statement == "match_case") return parts.first(1);
  if (statement == "Match") return parts.last(1);
  return {};
}

}  // namespace ingot::frontend
