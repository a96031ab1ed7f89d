#ifndef INGOT_AHEAD_MODULE_H
#define INGOT_AHEAD_MODULE_H

// Calls of a library's functions from Python, for the C source that `python -m ingot build --kind extension`
// writes. C99, with the headers of Python and NumPy of who builds.

#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <Python.h>
#include <frameobject.h>
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>
#include <stdlib.h>
#include <string.h>

#include "library.h"

// How a value that the code gives, or that is known, becomes an object.
enum {
  INGOT_NUMPY = 'n',   // a number of NumPy's
  INGOT_PYTHON = 'p',  // a number of Python's
  INGOT_ARRAY = 'a',  // an array; in capitals: the next value is the number of the argument that it is, or -1
  INGOT_READ_ONLY = 'r',
  INGOT_NO_VALUE = 'h'  // it is such a number
};

// Of base::DType: those of Python's numbers.
enum { INGOT_BOOL = 0, INGOT_INT64 = 7, INGOT_FLOAT64 = 11 };

// A function as Python sees it.
struct ingot_called {
  const char* name;
  const struct ingot_function* function;
  const char* const* names;     // of its own parameters, in Python
  const void* const* defaults;  // numbers of their dtypes; null: the argument has to be given
  uint32_t own;                 // how many these are; the function's others are arrays of the library's
  void* const* captured;        // those
  const char* kinds;            // of its results, and of the constants
  const struct ingot_value* constants;
  const void* const* numbers;  // those of the constants
  uint32_t constant_count;
  const char* plan;         // what is made of the values: see ingot_build
  const char* const* keys;  // of dicts
};

static const int ingot_type_numbers[] = {NPY_BOOL,    NPY_INT8,    NPY_UINT8,     NPY_INT16,     NPY_UINT16,
                                         NPY_INT32,   NPY_UINT32,  NPY_INT64,     NPY_UINT64,    NPY_HALF,
                                         NPY_FLOAT32, NPY_FLOAT64, NPY_COMPLEX64, NPY_COMPLEX128};

static PyArray_Descr* ingot_descr(const struct ingot_value* value) {
  return PyArray_DescrFromType(ingot_type_numbers[value->dtype]);
}

// The words of memory that an argument or a result has, but for those of ingot_standalone_call.
static int ingot_words(const struct ingot_value* value) { return value->rank < 0 ? 2 : 2 + 2 * value->rank; }

static int ingot_refuse(const struct ingot_called* it, uint32_t place, PyObject* given) {
  const struct ingot_value* const value = &it->function->parameters[place];
  PyArray_Descr* const descr = ingot_descr(value);
  PyObject* const name = PyObject_GetAttrString((PyObject*)descr, "name");
  Py_DECREF(descr);
  if (name == NULL) return 0;
  if (value->rank < 0)
    PyErr_Format(PyExc_TypeError, "`%s` takes %U for `%s`, not %s", it->name, name, it->names[place],
                 Py_TYPE(given)->tp_name);
  else if (PyArray_CheckExact(given))
    PyErr_Format(PyExc_TypeError, "`%s` takes an array of %U with %d axes for `%s`, not one of %S with %d",
                 it->name, name, value->rank, it->names[place],
                 (PyObject*)PyArray_DESCR((PyArrayObject*)given), PyArray_NDIM((PyArrayObject*)given));
  else
    PyErr_Format(PyExc_TypeError, "`%s` takes an array of %U with %d axes for `%s`, not %s", it->name, name,
                 value->rank, it->names[place], Py_TYPE(given)->tp_name);
  Py_DECREF(name);
  return 0;
}

// Puts a number there. Python's are taken for those of the same kind, or of a more general one.
static int ingot_take_number(const struct ingot_called* it, uint32_t place, PyObject* given, void* slot) {
  const struct ingot_value* const value = &it->function->parameters[place];
  PyArray_Descr* const descr = ingot_descr(value);
  const int general = strchr("biufc", descr->kind) - "biufc";  // NOLINT
  const int own = PyBool_Check(given)           ? 0
                  : PyLong_CheckExact(given)    ? 1
                  : PyFloat_CheckExact(given)   ? 3
                  : PyComplex_CheckExact(given) ? 4
                                                : 5;
  PyObject* const type = (PyObject*)descr->typeobj;
  int taken = 0;
  if ((PyObject*)Py_TYPE(given) == type) {
    PyArray_ScalarAsCtype(given, slot);
    taken = 1;
  } else if (own == 3 && value->dtype == INGOT_FLOAT64) {
    *(double*)slot = PyFloat_AS_DOUBLE(given);
    taken = 1;
  } else if (own == 1 && value->dtype == INGOT_INT64) {
    const long long number = PyLong_AsLongLong(given);
    memcpy(slot, &number, sizeof number);
    taken = number != -1 || !PyErr_Occurred();
  } else if (own == general || (own > 0 && own < 5 && own <= (general == 2 ? 1 : general) && general > 0)) {
    PyObject* const number = PyObject_CallFunctionObjArgs(type, given, NULL);
    if (number != NULL) PyArray_ScalarAsCtype(number, slot);
    taken = number != NULL;
    Py_XDECREF(number);
  } else {
    ingot_refuse(it, place, given);
  }
  Py_DECREF(descr);
  return taken;
}

static int ingot_take_array(const struct ingot_called* it, uint32_t place, PyObject* given, int64_t* words) {
  const struct ingot_value* const value = &it->function->parameters[place];
  if (!PyArray_CheckExact(given)) return ingot_refuse(it, place, given);
  PyArrayObject* const array = (PyArrayObject*)given;
  PyArray_Descr* const descr = ingot_descr(value);
  const int fits = PyArray_EquivTypes(descr, PyArray_DESCR(array)) && PyArray_NDIM(array) == value->rank;
  Py_DECREF(descr);
  if (!fits) return ingot_refuse(it, place, given);
  if (value->is_written && PyArray_FailUnlessWriteable(array, "assignment destination") < 0) return 0;
  void* const data = PyArray_DATA(array);
  memcpy(words, &data, sizeof data);
  words[1] = 0;
  for (int axis = 0; axis < value->rank; ++axis) {
    words[2 + axis] = PyArray_DIM(array, axis);
    words[2 + value->rank + axis] = PyArray_STRIDE(array, axis);
  }
  return 1;
}

// Finds the argument of each parameter: a borrowed reference, or null where the default holds.
static int ingot_bind(const struct ingot_called* it, PyObject** arguments, PyObject* const* given,
                      Py_ssize_t count, PyObject* keywords) {
  if (count > (Py_ssize_t)it->own) {
    PyErr_Format(PyExc_TypeError, "%s() takes %u positional arguments but %zd were given", it->name, it->own,
                 count);
    return 0;
  }
  for (uint32_t i = 0; i < it->own; ++i) arguments[i] = (Py_ssize_t)i < count ? given[i] : NULL;
  const Py_ssize_t named = keywords == NULL ? 0 : PyTuple_GET_SIZE(keywords);
  for (Py_ssize_t k = 0; k < named; ++k) {
    PyObject* const keyword = PyTuple_GET_ITEM(keywords, k);
    const char* const name = PyUnicode_AsUTF8(keyword);
    if (name == NULL) return 0;
    uint32_t place = 0;
    while (place < it->own && strcmp(name, it->names[place]) != 0) ++place;
    if (place == it->own) {
      PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument '%U'", it->name, keyword);
      return 0;
    }
    if (arguments[place] != NULL) {
      PyErr_Format(PyExc_TypeError, "%s() got multiple values for argument '%U'", it->name, keyword);
      return 0;
    }
    arguments[place] = given[count + k];
  }
  for (uint32_t i = 0; i < it->own; ++i) {
    if (arguments[i] != NULL || it->defaults[i] != NULL) continue;
    PyErr_Format(PyExc_TypeError, "%s() missing required argument: '%s'", it->name, it->names[i]);
    return 0;
  }
  return 1;
}

static void ingot_free_owner(PyObject* capsule) {
  ingot_standalone_free(PyCapsule_GetPointer(capsule, NULL));
}

static PyObject* ingot_number(const struct ingot_value* value, char kind, const void* data) {
  if (kind == INGOT_PYTHON && value->dtype == INGOT_BOOL) return PyBool_FromLong(*(const npy_bool*)data);
  if (kind == INGOT_PYTHON && value->dtype == INGOT_INT64) return PyLong_FromLongLong(*(const int64_t*)data);
  if (kind == INGOT_PYTHON && value->dtype == INGOT_FLOAT64) return PyFloat_FromDouble(*(const double*)data);
  if (kind == INGOT_PYTHON) return PyComplex_FromDoubles(((const double*)data)[0], ((const double*)data)[1]);
  PyArray_Descr* const descr = ingot_descr(value);
  PyObject* const number = PyArray_Scalar((void*)data, descr, NULL);
  Py_DECREF(descr);
  return number;
}

// Whether an element at an address is in the memory of an array.
static int ingot_lies_in(PyArrayObject* array, const char* data) {
  const char* low = PyArray_BYTES(array);
  const char* high = low + PyArray_ITEMSIZE(array);
  for (int axis = 0; axis < PyArray_NDIM(array); ++axis) {
    if (PyArray_DIM(array, axis) == 0) return 0;
    const npy_intp reach = (PyArray_DIM(array, axis) - 1) * PyArray_STRIDE(array, axis);
    *(reach < 0 ? &low : &high) += reach;
  }
  return low <= data && data < high;
}

// The array of a result, which keeps whose memory it shows. Takes the owner.
static PyObject* ingot_array(const struct ingot_called* it, const struct ingot_value* value,
                             const int64_t* words, int is_writable, PyObject* const* arguments) {
  void* data = NULL;
  void* owner = NULL;
  memcpy(&data, words, sizeof data);
  memcpy(&owner, words + 1, sizeof owner);
  PyObject* base = NULL;
  if (owner != NULL) {
    base = PyCapsule_New(owner, NULL, ingot_free_owner);
    if (base == NULL) {
      ingot_standalone_free(owner);
      return NULL;
    }
  }
  for (uint32_t i = 0; i < it->own && base == NULL; ++i) {
    if (it->function->parameters[i].rank < 0 ||
        !ingot_lies_in((PyArrayObject*)arguments[i], (const char*)data))
      continue;
    base = arguments[i];
    Py_INCREF(base);
    is_writable = is_writable && PyArray_ISWRITEABLE((PyArrayObject*)base);
  }
  npy_intp lengths[NPY_MAXDIMS];
  npy_intp strides[NPY_MAXDIMS];
  int is_empty = 0;
  for (int axis = 0; axis < value->rank; ++axis) {
    lengths[axis] = words[2 + axis];
    strides[axis] = words[2 + value->rank + axis];
    is_empty = is_empty || lengths[axis] == 0;
  }
  // An array without elements has memory of its own.
  PyObject* const array =
      PyArray_NewFromDescr(&PyArray_Type, ingot_descr(value), value->rank, lengths, is_empty ? NULL : strides,
                           is_empty ? NULL : data, is_writable && !is_empty ? NPY_ARRAY_WRITEABLE : 0, NULL);
  if (array == NULL || is_empty || base == NULL) {
    Py_XDECREF(base);
    return array;
  }
  PyArray_UpdateFlags((PyArrayObject*)array, NPY_ARRAY_UPDATE_ALL);
  if (PyArray_SetBaseObject((PyArrayObject*)array, base) == 0) return array;
  Py_DECREF(array);
  return NULL;
}

// The object that a plan describes: `v3` is value 3, `x1` argument 1, `N` None, `(`, `[` and `{` end with `.`
// and hold others; the keys of dicts come in order.
static PyObject* ingot_build(const char** plan, PyObject* const* values, PyObject* const* arguments,
                             const char* const** keys) {
  const char kind = *(*plan)++;
  if (kind == 'N') Py_RETURN_NONE;
  if (kind == 'v' || kind == 'x') {
    char* end = NULL;
    PyObject* const value = (kind == 'v' ? values : arguments)[strtol(*plan, &end, 10)];
    *plan = end;
    Py_INCREF(value);
    return value;
  }
  PyObject* const made = kind == '{' ? PyDict_New() : PyList_New(0);
  int fails = made == NULL;
  while (!fails && **plan != '.') {
    const char* const key = kind == '{' ? *(*keys)++ : NULL;
    PyObject* const part = ingot_build(plan, values, arguments, keys);
    fails = part == NULL ||
            (key != NULL ? PyDict_SetItemString(made, key, part) : PyList_Append(made, part)) != 0;
    Py_XDECREF(part);
  }
  ++*plan;
  if (!fails && kind != '(') return made;
  PyObject* const tuple = fails ? NULL : PyList_AsTuple(made);
  Py_XDECREF(made);
  return tuple;
}

// The values that the code has given, as objects: those that are none yet are null. False: an exception is
// set.
static int ingot_take_values(const struct ingot_called* it, void* const* slots, PyObject* const* arguments,
                             PyObject** values) {
  const struct ingot_function* const function = it->function;
  const uint32_t count = function->result_count;
  int fails = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const struct ingot_value* const value = &function->results[i];
    const char kind = it->kinds[i];
    const int64_t* const words = (const int64_t*)slots[i];
    values[i] = NULL;
    if (kind == INGOT_NO_VALUE) continue;
    if (value->rank < 0) {
      if (!fails) values[i] = ingot_number(value, kind, words);
    } else if (fails) {
      void* owner = NULL;
      memcpy(&owner, words + 1, sizeof owner);
      ingot_standalone_free(owner);
      continue;
    } else {
      const int is_told = kind < 'a';
      const int64_t argument = is_told ? *(const int64_t*)slots[i + 1] : -1;
      const int is_it = argument >= 0 && argument < (int64_t)it->own;
      values[i] = is_it ? arguments[argument] : NULL;
      Py_XINCREF(values[i]);
      if (!is_it)
        values[i] = ingot_array(it, value, words, (is_told ? kind + 32 : kind) == INGOT_ARRAY, arguments);
    }
    fails = fails || values[i] == NULL;
  }
  for (uint32_t k = 0; k < it->constant_count; ++k) {
    values[count + k] = fails ? NULL : ingot_number(&it->constants[k], it->kinds[count + k], it->numbers[k]);
    fails = fails || values[count + k] == NULL;
  }
  return !fails;
}

// Shows the place in the source that the library was made of, as a frame.
static void ingot_add_place(PyObject* globals) {
  if (ingot_standalone_error_file()[0] == 0) return;
  PyObject* type = NULL;
  PyObject* value = NULL;
  PyObject* traceback = NULL;
  PyErr_Fetch(&type, &value, &traceback);
  PyCodeObject* const code = PyCode_NewEmpty(ingot_standalone_error_file(), ingot_standalone_error_function(),
                                             ingot_standalone_error_line());
  PyFrameObject* const frame = code == NULL ? NULL : PyFrame_New(PyThreadState_Get(), code, globals, NULL);
  PyErr_Clear();
  PyErr_Restore(type, value, traceback);
  if (frame != NULL) PyTraceBack_Here(frame);
  Py_XDECREF(code);
  Py_XDECREF(frame);
}

// Sets what a function has raised. The text of a KeyError is that of its key.
static void ingot_raise(PyObject* type, PyObject* globals) {
  const char* const text = ingot_standalone_error_message();
  PyObject* const ast = type == PyExc_KeyError ? PyImport_ImportModule("ast") : NULL;
  PyObject* const key = ast == NULL ? NULL : PyObject_CallMethod(ast, "literal_eval", "s", text);
  PyErr_Clear();
  if (key != NULL) PyErr_SetObject(type, key);
  else PyErr_SetString(type, text);
  Py_XDECREF(key);
  Py_XDECREF(ast);
  ingot_add_place(globals);
}

// `arguments` has space for the parameters of its own, `values` for results and constants, `slots` for
// parameters and results, `memory` for their words and those of ingot_standalone_call.
static PyObject* ingot_called_call(const struct ingot_called* it, PyObject* module,
                                   PyObject* (*raised)(int32_t), PyObject** arguments, PyObject** values,
                                   void** slots, int64_t* memory, PyObject* const* given, Py_ssize_t count,
                                   PyObject* keywords) {
  const struct ingot_function* const function = it->function;
  if (!ingot_bind(it, arguments, given, count, keywords)) return NULL;
  for (uint32_t i = 0; i < function->parameter_count; ++i) {
    const struct ingot_value* const value = &function->parameters[i];
    slots[i] = memory;
    memory += ingot_words(value);
    if (i >= it->own) slots[i] = it->captured[i - it->own];
    else if (arguments[i] == NULL) slots[i] = (void*)it->defaults[i];
    else if (value->rank < 0 && !ingot_take_number(it, i, arguments[i], slots[i])) return NULL;
    else if (value->rank >= 0 && !ingot_take_array(it, i, arguments[i], (int64_t*)slots[i])) return NULL;
  }
  void** const results = slots + function->parameter_count;
  for (uint32_t i = 0; i < function->result_count; ++i) {
    results[i] = memory;
    memory += ingot_words(&function->results[i]);
  }
  int32_t status = 0;
  Py_BEGIN_ALLOW_THREADS;
  status = ingot_standalone_call(&ingot_this, function, slots, memory);
  Py_END_ALLOW_THREADS;
  if (status != 0) {
    ingot_raise(raised(status), PyModule_GetDict(module));
    return NULL;
  }
  PyObject* made = NULL;
  const char* plan = it->plan;
  const char* const* keys = it->keys;
  if (ingot_take_values(it, results, arguments, values)) made = ingot_build(&plan, values, arguments, &keys);
  for (uint32_t i = 0; i < function->result_count + it->constant_count; ++i) Py_XDECREF(values[i]);
  return made;
}

static PyObject* ingot_get_level(PyObject* module, PyObject* nothing) {
  (void)module;
  (void)nothing;
  return PyLong_FromLong(ingot_standalone_level(&ingot_this));
}

static PyObject* ingot_get_threads(PyObject* module, PyObject* nothing) {
  (void)module;
  (void)nothing;
  return PyLong_FromLong(ingot_standalone_threads());
}

static PyObject* ingot_set_threads(PyObject* module, PyObject* given) {
  (void)module;
  const long count = PyLong_AsLong(given);
  if (count == -1 && PyErr_Occurred()) return NULL;
  if (count < 1 || count > 256) {
    PyErr_SetString(PyExc_ValueError, "the number of threads is 1 to 256");
    return NULL;
  }
  ingot_standalone_set_threads((int32_t)count);
  Py_RETURN_NONE;
}

static PyObject* ingot_trim(PyObject* module, PyObject* nothing) {
  (void)module;
  (void)nothing;
  ingot_standalone_trim();
  Py_RETURN_NONE;
}

#endif
