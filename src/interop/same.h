#pragma once

#include <Python.h>

namespace ingot::inline interop {

/// Whether comparing an object by `same_plain` runs no code but Python's and NumPy's own: numbers and
/// strings.
bool is_plain(PyObject* object);

/// Whether two objects are one, or numbers and strings of one type and the same bits (of NaN, the sign); -1
/// with an exception set.
int same_plain(PyObject* a, PyObject* b);

}  // namespace ingot::inline interop
