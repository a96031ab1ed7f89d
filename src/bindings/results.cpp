#include "bindings/results.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "runtime/allocator.h"
#include "runtime/object_info.h"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL ingot_numpy
#define NO_IMPORT_ARRAY
#include <numpy/arrayobject.h>

/// PyTraceMalloc_Track: Python 3.11 declares it as a C++ function.
extern "C" int ingot_trace_memory(unsigned domain, uintptr_t address,
                                  size_t size) __asm__("PyTraceMalloc_Track");

namespace ingot::bindings {

namespace {

using runtime::Allocator;
using runtime::Buffer;
using runtime::SlotInfo;

/// Under which tracemalloc shows the memory of NumPy's arrays.
constexpr unsigned kTraceDomain = 389047;

void* data_of(Buffer* buffer) { return buffer == nullptr ? nullptr : buffer->data; }

void* allocate(void*, size_t size) {
  return size > static_cast<size_t>(Allocator::kMaxBytes)
             ? nullptr
             : data_of(Allocator::allocate(static_cast<int64_t>(size)));
}

void* allocate_zeros(void*, size_t count, size_t size) {
  size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes)) return nullptr;
  void* data = allocate(nullptr, bytes);
  if (data != nullptr) std::memset(data, 0, bytes);
  return data;
}

void* reallocate(void*, void* data, size_t size) {
  if (data == nullptr) return allocate(nullptr, size);
  if (size > static_cast<size_t>(Allocator::kMaxBytes)) return nullptr;
  return data_of(Allocator::reallocate(Allocator::buffer_of(data), static_cast<int64_t>(size)));
}

void free_data(void*, void* data, size_t) {
  if (data != nullptr) Allocator::free(Allocator::buffer_of(data));
}

/// A new reference to NumPy's capsule of the handler. Every array has one of its own, so that none outlives
/// the interpreter that made it.
PyObject* make_handler() {
  static constexpr PyDataMem_Handler handler = {
      "ingot", 1, {nullptr, allocate, allocate_zeros, reallocate, free_data}};
  return PyCapsule_New(const_cast<PyDataMem_Handler*>(&handler), "mem_handler", nullptr);
}

}  // namespace

bool covers(runtime::ViewSlot& view, base::DType dtype, int rank) {
  const int64_t* const lengths = view.lengths();
  const int64_t* const strides = view.strides(rank);
  if (view.data != view.buffer->data) return false;
  if (std::find(lengths, lengths + rank, 0) != lengths + rank) return view.buffer->size == 0;
  int axes[SlotInfo::kMaxRank];
  std::iota(axes, axes + rank, 0);
  std::sort(axes, axes + rank, [&](int a, int b) { return strides[a] < strides[b]; });
  int64_t expected = static_cast<int64_t>(base::size_of(dtype));
  for (int i = 0; i < rank; ++i) {
    const int axis = axes[i];
    if (lengths[axis] == 1) continue;
    if (strides[axis] != expected) return false;
    expected *= lengths[axis];
  }
  return expected == view.buffer->size;
}

PyObject* owning_array(runtime::OwnedBuffer buffer, runtime::ViewSlot& view, int type_number, int rank) {
  npy_intp lengths[SlotInfo::kMaxRank];
  npy_intp strides[SlotInfo::kMaxRank];
  std::copy_n(view.lengths(), rank, lengths);
  std::copy_n(view.strides(rank), rank, strides);
  PyObject* const handler = make_handler();
  if (handler == nullptr) return nullptr;
  const bool is_empty = buffer->size == 0;  // NumPy has strides of its own for no elements
  PyObject* const object =
      PyArray_NewFromDescr(&PyArray_Type, PyArray_DescrFromType(type_number), rank, lengths,
                           is_empty ? nullptr : strides, buffer->data, NPY_ARRAY_WRITEABLE, nullptr);
  if (object == nullptr) {
    Py_DECREF(handler);
    return nullptr;
  }
  const Buffer* const owned = buffer.release();
  ingot_trace_memory(kTraceDomain, reinterpret_cast<uintptr_t>(owned->data),
                     static_cast<size_t>(std::max<int64_t>(owned->size, 1)));
  auto* const array = reinterpret_cast<PyArrayObject*>(object);
  reinterpret_cast<PyArrayObject_fields*>(array)->mem_handler = handler;
  PyArray_ENABLEFLAGS(array, NPY_ARRAY_OWNDATA);
  return object;
}

}  // namespace ingot::bindings
