#include "bindings/list_columns.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/half.h"
#include "bindings/signature.h"
#include "interop/arrays.h"
#include "interop/numpy.h"

namespace ingot::bindings {

namespace {

using base::DType;

constexpr size_t kMostColumns = 64;
constexpr size_t kDeepest = 8;  ///< of tuples in tuples

/// Where the numbers of columns go, of so many bytes each.
struct Place {
  std::byte* data;
  size_t size;
};

/// Stores a number of a kind; false: it is of another one, or does not fit.
[[gnu::always_inline]] inline bool store(PyObject* value, uint64_t kind, std::byte* to) {
  const auto put = [&](auto number) {
    std::memcpy(to, &number, sizeof number);
    return true;
  };
  switch (kind) {
    case kFloat: return PyFloat_CheckExact(value) && put(PyFloat_AS_DOUBLE(value));
    case kInt: {
      if (!PyLong_CheckExact(value)) return false;
      int overflow = 0;
      const int64_t number = PyLong_AsLongLongAndOverflow(value, &overflow);
      return overflow == 0 && put(number);
    }
    case kBool: return PyBool_Check(value) && put(static_cast<uint8_t>(value == Py_True ? 1 : 0));
    case kComplex: return PyComplex_CheckExact(value) && put(PyComplex_AsCComplex(value));
    default:
      if (dtype_of_scalar(Py_TYPE(value)) != static_cast<DType>(kind)) return false;
      PyArray_ScalarAsCtype(value, to);
      return true;
  }
}

bool store_all(PyObject* element, const ElementForm& form, const std::vector<Place>& places, size_t index) {
  if (form.tag == Tag::Scalar) {
    const Place& place = places[form.column];
    return store(element, form.kind, place.data + index * place.size);
  }
  const bool is_of_type =
      form.tag == Tag::Tuple
          ? PyTuple_CheckExact(element)
          : reinterpret_cast<PyObject*>(Py_TYPE(element)) == form.type && is_namedtuple(element);
  if (!is_of_type || static_cast<size_t>(PyTuple_GET_SIZE(element)) != form.parts.size()) return false;
  for (size_t i = 0; i < form.parts.size(); ++i) {
    PyObject* const part = PyTuple_GET_ITEM(element, static_cast<Py_ssize_t>(i));
    if (!store_all(part, form.parts[i], places, index)) return false;
  }
  return true;
}

/// The numbers of a list of numbers.
template <uint64_t kKind>
bool store_numbers(PyObject* list, Py_ssize_t size, Place place) {
  for (Py_ssize_t i = 0; i < size; ++i, place.data += sizeof(int64_t))
    if (!store(PyList_GET_ITEM(list, i), kKind, place.data)) return false;
  return true;
}

template <class T>
bool any_is_nan(const std::byte* data, Py_ssize_t count) {
  for (Py_ssize_t i = 0; i < count; ++i, data += sizeof(T)) {
    T number;
    std::memcpy(&number, data, sizeof number);
    if (std::isnan(static_cast<double>(number))) return true;
  }
  return false;
}

/// Whether a number of a column, or a part of one, is a NaN.
bool has_nan(DType dtype, const std::byte* data, Py_ssize_t size) {
  switch (dtype) {
    case DType::Float16: return any_is_nan<base::Half>(data, size);
    case DType::Float32: return any_is_nan<float>(data, size);
    case DType::Float64: return any_is_nan<double>(data, size);
    case DType::Complex64: return any_is_nan<float>(data, 2 * size);
    case DType::Complex128: return any_is_nan<double>(data, 2 * size);
    default: return false;
  }
}

std::optional<ElementForm> form_of(PyObject* element, size_t& columns, size_t depth) {
  if (const std::optional<uint64_t> kind = kind_of_number(element))
    return ElementForm{.kind = *kind, .column = columns++};
  const bool is_named = is_namedtuple(element);
  if ((!PyTuple_CheckExact(element) && !is_named) || depth == kDeepest) return std::nullopt;
  ElementForm form{.tag = is_named ? Tag::Named : Tag::Tuple,
                   .type = reinterpret_cast<PyObject*>(Py_TYPE(element))};
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(element); ++i) {
    std::optional<ElementForm> part = form_of(PyTuple_GET_ITEM(element, i), columns, depth + 1);
    if (!part || columns > kMostColumns) return std::nullopt;
    form.parts.push_back(std::move(*part));
  }
  return form;
}

void collect_dtypes(const ElementForm& form, std::vector<DType>& dtypes) {
  if (form.tag == Tag::Scalar) dtypes.push_back(dtype_of_kind(form.kind));
  for (const ElementForm& part : form.parts) collect_dtypes(part, dtypes);
}

}  // namespace

std::optional<uint64_t> kind_of_number(PyObject* value) {
  if (PyFloat_CheckExact(value)) return kFloat;
  if (PyLong_CheckExact(value)) return kInt;
  if (PyBool_Check(value)) return kBool;
  if (PyComplex_CheckExact(value)) return kComplex;
  const std::optional<DType> dtype = dtype_of_scalar(Py_TYPE(value));
  return dtype ? std::optional(static_cast<uint64_t>(*dtype)) : std::nullopt;
}

DType dtype_of_kind(uint64_t kind) {
  constexpr std::array kPython = {DType::Bool, DType::Int64, DType::Float64, DType::Complex128};
  return kind < base::kDTypeCount ? static_cast<DType>(kind) : kPython.at(kind - base::kDTypeCount);
}

uint64_t python_kind(DType dtype) {
  return base::is_bool(dtype)    ? kBool
         : base::is_int(dtype)   ? kInt
         : base::is_float(dtype) ? kFloat
                                 : kComplex;
}

bool store_number_of(PyObject* value, uint64_t kind, std::byte* to) { return store(value, kind, to); }

std::optional<ListColumns> columns_of_list(PyObject* list, bool are_keys) {
  ListColumns made;
  const Py_ssize_t size = PyList_GET_SIZE(list);
  if (size == 0) return made;
  size_t count = 0;
  std::optional<ElementForm> form = form_of(PyList_GET_ITEM(list, 0), count, 0);
  if (!form || count == 0) return std::nullopt;
  made.form = *std::move(form);
  std::vector<DType> dtypes;
  collect_dtypes(made.form, dtypes);
  std::vector<Place> places;
  for (const DType dtype : dtypes) {
    npy_intp length = size;
    made.columns.push_back(nb::steal(PyArray_SimpleNew(1, &length, type_number(dtype))));
    if (!made.columns.back().is_valid()) throw nb::python_error();
    places.push_back({reinterpret_cast<std::byte*>(PyArray_BYTES(as_array(made.columns.back().ptr()))),
                      static_cast<size_t>(base::size_of(dtype))});
  }
  if (PyList_GET_SIZE(list) != size) return std::nullopt;  // collecting garbage has changed it
  const ElementForm& one = made.form;
  const auto fill = [&] {
    if (one.tag == Tag::Scalar && one.kind == kFloat) return store_numbers<kFloat>(list, size, places[0]);
    if (one.tag == Tag::Scalar && one.kind == kInt) return store_numbers<kInt>(list, size, places[0]);
    for (Py_ssize_t i = 0; i < size; ++i)
      if (!store_all(PyList_GET_ITEM(list, i), one, places, static_cast<size_t>(i))) return false;
    return true;
  };
  if (!fill()) return std::nullopt;
  for (size_t i = 0; are_keys && i < dtypes.size(); ++i)
    if (has_nan(dtypes[i], places[i].data, size)) return std::nullopt;
  return made;
}

std::pair<nb::object, nb::object> items_of_dict(PyObject* dict) {
  while (true) {
    const Py_ssize_t size = PyDict_GET_SIZE(dict);
    nb::object keys = nb::steal(PyList_New(size));
    nb::object values = nb::steal(PyList_New(size));
    if (!keys.is_valid() || !values.is_valid()) throw nb::python_error();
    if (PyDict_GET_SIZE(dict) != size) continue;  // collecting garbage has changed it
    PyObject* key = nullptr;
    PyObject* value = nullptr;
    Py_ssize_t index = 0;
    for (Py_ssize_t at = 0; PyDict_Next(dict, &at, &key, &value) != 0; ++index) {
      PyList_SET_ITEM(keys.ptr(), index, Py_NewRef(key));
      PyList_SET_ITEM(values.ptr(), index, Py_NewRef(value));
    }
    return {std::move(keys), std::move(values)};
  }
}

}  // namespace ingot::bindings
