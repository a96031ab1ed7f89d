#include "bindings/cells.h"

#include <cstring>
#include <utility>

#include "base/dtype.h"
#include "base/half.h"
#include "bindings/code.h"

namespace ingot::bindings {

using base::DType;

namespace {

template <class T>
T at(const Cells::Strip& strip, size_t position) {
  T value;
  std::memcpy(&value, strip.data + static_cast<int64_t>(position) * strip.stride, sizeof value);
  return value;
}

/// The number of a tag's kind: NumPy's dtypes from 1 on, then Python's bool, int, float and complex.
nb::object number_of(int64_t tag, const Cells::Strip* strips, size_t position) {
  constexpr std::array kPython = {DType::Bool, DType::Int64, DType::Float64, DType::Complex128};
  const bool is_numpys = tag <= base::kDTypeCount;
  const auto kind = static_cast<size_t>(tag - 1 - (is_numpys ? 0 : base::kDTypeCount));
  const DType dtype = is_numpys ? static_cast<DType>(kind) : kPython.at(kind);
  std::byte bytes[16];
  const auto put = [&](auto value) { std::memcpy(bytes, &value, sizeof value); };
  const auto whole = at<double>(strips[2], position);
  const auto pair = at<std::array<double, 2>>(strips[3], position);
  switch (dtype) {
    case DType::Float16: put(base::half_bits(whole)); break;
    case DType::Float32: put(static_cast<float>(whole)); break;
    case DType::Float64: put(whole); break;
    case DType::Complex64: put(std::array{static_cast<float>(pair[0]), static_cast<float>(pair[1])}); break;
    case DType::Complex128: put(pair); break;
    default: put(at<int64_t>(strips[1], position));  // of narrow ones the lowest bytes
  }
  return (is_numpys ? numpy_number : python_number)(dtype, bytes);
}

int64_t indices_of(nb::handle names, PyObject* container) {
  if (!names.is_none()) return PyTuple_GET_SIZE(names.ptr());
  if (PyList_Check(container)) return PyList_GET_SIZE(container);
  return PyDict_Check(container) ? PyDict_GET_SIZE(container) : 0;
}

}  // namespace

Cells::Cells(nb::tuple layouts, std::span<PyObject* const> containers)
    : layouts_(std::move(layouts)), containers_(containers), keys_(containers.size()) {
  std::vector<int64_t> lengths;
  int64_t all = 0;
  for (size_t i = 0; i < containers.size(); ++i) {
    lengths.push_back(indices_of(layouts_[i], containers[i]));
    all += lengths.back();
    if (!PyDict_Check(containers[i])) continue;
    keys_[i] = nb::steal(PyDict_Keys(containers[i]));
    if (!keys_[i].is_valid()) throw nb::python_error();
  }
  int64_t bytes = 0;
  for (const int64_t stride : kStrides) bytes += all * stride;
  memory_ = std::make_unique<std::byte[]>(static_cast<size_t>(bytes));
  std::byte* next = memory_.get();
  for (const int64_t length : lengths) {
    for (const int64_t stride : kStrides) {
      strips_.push_back({next, length, stride});
      next += length * stride;
    }
  }
}

void Cells::flush() {
  for (size_t i = 0; i < containers_.size(); ++i) flush(i);
}

void Cells::flush(size_t container) {
  const Strip* const strips = &strips_[kArrays * container];
  const nb::handle names = layouts_[container];
  PyObject* const it = containers_[container];
  for (size_t position = 0; position < static_cast<size_t>(strips->length); ++position) {
    const auto tag = at<int64_t>(*strips, position);
    if (tag == 0) continue;
    const nb::object number = number_of(tag, strips, position);
    const auto index = static_cast<Py_ssize_t>(position);
    int failed = 0;
    if (!names.is_none()) {
      failed = PyObject_GenericSetAttr(it, PyTuple_GET_ITEM(names.ptr(), index), number.ptr());
    } else if (keys_[container].is_valid()) {
      failed = PyObject_SetItem(it, PyList_GET_ITEM(keys_[container].ptr(), index), number.ptr());
    } else {
      failed = PySequence_SetItem(it, index, number.ptr());
    }
    if (failed != 0) throw nb::python_error();
  }
  std::memset(strips->data, 0, static_cast<size_t>(strips->length * strips->stride));
}

}  // namespace ingot::bindings
