#pragma once

#include <nanobind/nanobind.h>

/// Classes of nanobind's whose instances Python's collector of cycles has to see.
namespace ingot::inline interop {

namespace nb = nanobind;

/// The slots of such a class: `T::traverse(visit, argument)` visits the objects that an instance holds, and
/// `T::clear()` lets go of them.
template <class T>
struct Collected {
  static PyType_Slot traverse_slot() { return {Py_tp_traverse, reinterpret_cast<void*>(&traverse)}; }
  static PyType_Slot clear_slot() { return {Py_tp_clear, reinterpret_cast<void*>(&clear)}; }
  /// These, for a class that has no others.
  static PyType_Slot* slots() {
    static PyType_Slot both[] = {traverse_slot(), clear_slot(), {0, nullptr}};
    return both;
  }

 private:
  static int traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    return nb::inst_ready(self) ? nb::inst_ptr<T>(self)->traverse(visit, arg) : 0;
  }
  static int clear(PyObject* self) {
    if (nb::inst_ready(self)) nb::inst_ptr<T>(self)->clear();
    return 0;
  }
};

}  // namespace ingot::inline interop
