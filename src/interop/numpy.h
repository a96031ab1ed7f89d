#pragma once

#include <Python.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/dtype.h"
#include "base/strided.h"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL ingot_numpy
#ifndef INGOT_IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>

/// NumPy's C API, which extension.cpp imports, and its names of the dtypes.
namespace ingot::inline interop {

inline constexpr std::array<int, base::kDTypeCount> kTypeNumbers = {
    NPY_BOOL,  NPY_INT8,   NPY_UINT8,   NPY_INT16,   NPY_UINT16,  NPY_INT32,     NPY_UINT32,
    NPY_INT64, NPY_UINT64, NPY_FLOAT16, NPY_FLOAT32, NPY_FLOAT64, NPY_COMPLEX64, NPY_COMPLEX128};

constexpr int type_number(base::DType dtype) { return kTypeNumbers[static_cast<size_t>(dtype)]; }

/// What NumPy's numbers of types mean here; `long long` and `long` are one dtype. None for the others.
inline std::optional<base::DType> dtype_of(int type_number) {
  static constexpr uint8_t kNone = 0xff;
  static constexpr auto dtypes = [] {
    std::array<uint8_t, NPY_NTYPES_LEGACY> table{};
    table.fill(kNone);
    for (size_t i = 0; i < kTypeNumbers.size(); ++i)
      table[static_cast<size_t>(kTypeNumbers[i])] = static_cast<uint8_t>(i);
    table[NPY_LONGLONG] = static_cast<uint8_t>(base::DType::Int64);
    table[NPY_ULONGLONG] = static_cast<uint8_t>(base::DType::UInt64);
    return table;
  }();
  const auto number = static_cast<size_t>(type_number);
  if (number >= dtypes.size() || dtypes[number] == kNone) return std::nullopt;
  return static_cast<base::DType>(dtypes[number]);
}

/// The dtype of NumPy's own types of scalars; none for all other types.
inline std::optional<base::DType> dtype_of_scalar(const PyTypeObject* type) {
  using base::DType;
  if (type == &PyDoubleArrType_Type) return DType::Float64;
  if (type == &PyLongArrType_Type || type == &PyLongLongArrType_Type) return DType::Int64;
  if (type == &PyFloatArrType_Type) return DType::Float32;
  if (type == &PyIntArrType_Type) return DType::Int32;
  if (type == &PyBoolArrType_Type) return DType::Bool;
  if (type == &PyCDoubleArrType_Type) return DType::Complex128;
  if (type == &PyCFloatArrType_Type) return DType::Complex64;
  if (type == &PyHalfArrType_Type) return DType::Float16;
  if (type == &PyUByteArrType_Type) return DType::UInt8;
  if (type == &PyByteArrType_Type) return DType::Int8;
  if (type == &PyShortArrType_Type) return DType::Int16;
  if (type == &PyUShortArrType_Type) return DType::UInt16;
  if (type == &PyUIntArrType_Type) return DType::UInt32;
  if (type == &PyULongArrType_Type || type == &PyULongLongArrType_Type) return DType::UInt64;
  return std::nullopt;
}

[[gnu::always_inline]] inline base::Strided strided_of(PyArrayObject* array) {
  const auto rank = static_cast<size_t>(PyArray_NDIM(array));
  return {{PyArray_DIMS(array), rank}, {PyArray_STRIDES(array), rank}, PyArray_ITEMSIZE(array)};
}

inline PyArrayObject* as_array(PyObject* object) { return reinterpret_cast<PyArrayObject*>(object); }

}  // namespace ingot::inline interop
