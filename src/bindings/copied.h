#pragma once

#include <Python.h>

/// Objects of Python's own classes that compiled code has as instances of classes of the library's.
namespace ingot::bindings {

/// Whether an object is a SimpleNamespace.
bool is_namespace(PyObject* object);
/// The class by which an instance is described: that of the library for one of Python's own.
PyTypeObject* class_of_instance(PyObject* object);
/// Whether the containers of a class are copied: it is one of those that `ingot._objects.copied` knows.
bool is_copied(PyTypeObject* type);

}  // namespace ingot::bindings
