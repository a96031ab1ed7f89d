#include "bindings/copied.h"

#include <nanobind/nanobind.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace ingot::bindings {

namespace nb = nanobind;

bool is_namespace(PyObject* object) {
  static PyObject* const type =
      nb::object(nb::module_::import_("types").attr("SimpleNamespace")).release().ptr();
  return reinterpret_cast<PyObject*>(Py_TYPE(object)) == type;
}

PyTypeObject* class_of_instance(PyObject* object) {
  if (!is_namespace(object)) return Py_TYPE(object);
  static PyObject* const own =
      nb::object(nb::module_::import_("ingot.library.containers").attr("Namespace")).release().ptr();
  return reinterpret_cast<PyTypeObject*>(own);
}

bool is_copied(PyTypeObject* type) {
  static constexpr std::array<std::string_view, 6> kNames = {"set",
                                                             "frozenset",
                                                             "Counter",
                                                             "collections.deque",
                                                             "collections.OrderedDict",
                                                             "collections.defaultdict"};
  if (std::ranges::find(kNames, std::string_view(type->tp_name)) == kNames.end()) return false;
  static PyObject* const types =
      nb::object(nb::module_::import_("ingot._objects.copied").attr("TYPES")).release().ptr();
  const int is_known = PyDict_Contains(types, reinterpret_cast<PyObject*>(type));
  if (is_known < 0) PyErr_Clear();  // a class of the user's that cannot be hashed
  return is_known == 1;
}

}  // namespace ingot::bindings
