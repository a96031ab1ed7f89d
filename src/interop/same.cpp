#include "interop/same.h"

#include <nanobind/nanobind.h>

#include <cmath>
#include <cstddef>
#include <cstring>

#include "interop/numpy.h"

namespace ingot::inline interop {

namespace nb = nanobind;

namespace {

bool same_double(double a, double b) {
  return std::signbit(a) == std::signbit(b) && (std::isnan(a) ? std::isnan(b) : a == b);
}

bool same_complex(PyObject* a, PyObject* b) {
  const Py_complex x = PyComplex_AsCComplex(a);
  const Py_complex y = PyComplex_AsCComplex(b);
  return same_double(x.real, y.real) && same_double(x.imag, y.imag);
}

int same_scalar(PyObject* a, PyObject* b) {
  if (const auto dtype = dtype_of_scalar(Py_TYPE(a))) {
    std::byte x[16];
    std::byte y[16];
    PyArray_ScalarAsCtype(a, x);
    PyArray_ScalarAsCtype(b, y);
    return std::memcmp(x, y, base::size_of(*dtype)) == 0 ? 1 : 0;
  }
  try {
    const nb::handle x = a;
    const nb::handle y = b;
    return x.attr("dtype").equal(y.attr("dtype")) && x.attr("tobytes")().equal(y.attr("tobytes")()) ? 1 : 0;
  } catch (nb::python_error& error) {
    error.restore();
    return -1;
  }
}

}  // namespace

bool is_plain(PyObject* object) {
  return PyUnicode_CheckExact(object) || PyLong_CheckExact(object) || PyFloat_CheckExact(object) ||
         PyComplex_CheckExact(object) || PyBytes_CheckExact(object) || PyBool_Check(object);
}

int same_plain(PyObject* a, PyObject* b) {
  if (a == b) return 1;
  PyTypeObject* const type = Py_TYPE(a);
  if (type != Py_TYPE(b)) return 0;
  if (type == &PyFloat_Type || type == &PyDoubleArrType_Type)
    return same_double(PyFloat_AS_DOUBLE(a), PyFloat_AS_DOUBLE(b)) ? 1 : 0;
  if (type == &PyUnicode_Type || type == &PyLong_Type || type == &PyBytes_Type)
    return PyObject_RichCompareBool(a, b, Py_EQ);
  if (PyComplex_CheckExact(a) || type == &PyCDoubleArrType_Type) return same_complex(a, b) ? 1 : 0;
  if (!PyArray_IsScalar(a, Generic)) return 0;
  return (type->tp_flags & Py_TPFLAGS_HEAPTYPE) == 0 ? same_scalar(a, b)
                                                     : 0;  // what a class adds is not compared
}

}  // namespace ingot::inline interop
