#include "interop/arrays.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "interop/numpy.h"
#include "runtime/allocator.h"

/// PyTraceMalloc_Track: Python 3.11 declares it as a C++ function.
extern "C" int ingot_trace_memory(unsigned domain, uintptr_t address,
                                  size_t size) __asm__("PyTraceMalloc_Track");

namespace ingot::inline interop {

namespace {

using runtime::Allocator;
using runtime::Buffer;

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

/// A new reference to NumPy's capsule of the handler, or null with an exception set. All arrays share one,
/// which lives as long as the process.
PyObject* handler() {
  static constexpr PyDataMem_Handler functions = {
      "ingot", 1, {nullptr, allocate, allocate_zeros, reallocate, free_data}};
  static PyObject* capsule = nullptr;
  if (capsule == nullptr)
    capsule = PyCapsule_New(const_cast<PyDataMem_Handler*>(&functions), "mem_handler", nullptr);
  return Py_XNewRef(capsule);
}

}  // namespace

namespace {

static_assert(std::is_same_v<npy_intp, int64_t>);

/// `like`: of its class, and with its attributes; null: of none.
nb::object new_array(const Window& window, const int64_t* strides, bool is_writable,
                     PyObject* like = nullptr) {
  base::Strided given = window.strided();
  given.strides = {strides, given.rank()};
  if (!given.is_empty() && given.has_c_strides()) strides = nullptr;  // which NumPy looks at less
  nb::object array = nb::steal(PyArray_NewFromDescr(
      like == nullptr ? &PyArray_Type : Py_TYPE(like), PyArray_DescrFromType(type_number(window.dtype)),
      window.rank, window.lengths, strides, window.data, is_writable ? NPY_ARRAY_WRITEABLE : 0, like));
  if (!array.is_valid()) throw nb::python_error();
  return array;
}

}  // namespace

nb::object owning_array(runtime::OwnedBuffer buffer, const Window& window) {
  static constexpr int64_t kNone[runtime::SlotInfo::kMaxRank] = {};  // NumPy's strides of no elements
  nb::object capsule = nb::steal(handler());
  if (!capsule.is_valid()) throw nb::python_error();
  nb::object object = new_array(window, buffer->size == 0 ? kNone : window.strides, true);
  const Buffer* const owned = buffer.release();
  ingot_trace_memory(kTraceDomain, reinterpret_cast<uintptr_t>(owned->data),
                     static_cast<size_t>(std::max<int64_t>(owned->size, 1)));
  PyArrayObject* const array = as_array(object.ptr());
  reinterpret_cast<PyArrayObject_fields*>(array)->mem_handler = capsule.release().ptr();
  PyArray_ENABLEFLAGS(array, NPY_ARRAY_OWNDATA);
  return object;
}

bool is_memory_map(PyObject* object) {
  if (!PyArray_Check(object) || PyArray_CheckExact(object)) return false;
  static PyObject* const known = nb::object(nb::module_::import_("numpy").attr("memmap")).release().ptr();
  return reinterpret_cast<PyObject*>(Py_TYPE(object)) == known;
}

nb::object array_on(const Window& window, bool is_writable, nb::object owner) {
  // What is no longer, or never was, of a file gives plain views.
  const bool is_of_file =
      owner.is_valid() && is_memory_map(owner.ptr()) && !nb::object(owner.attr("_mmap")).is_none();
  nb::object array = new_array(window, window.strides, is_writable, is_of_file ? owner.ptr() : nullptr);
  if (owner.is_valid() && PyArray_SetBaseObject(as_array(array.ptr()), owner.release().ptr()) != 0)
    throw nb::python_error();
  return array;
}

}  // namespace ingot::inline interop
