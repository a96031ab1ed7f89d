#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "eager/bind.h"
#include "eager/device_array.h"
#include "eager/pending.h"
#include "interop/gil.h"

namespace ingot::eager {

using base::DType;
using base::DTypeClass;
using nb::literals::operator""_a;

namespace {

// The structures of DLPack 1.0, whose names and numbers are its own.

struct DLDevice {
  int32_t device_type;
  int32_t device_id;
};

struct DLDataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};

struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;  ///< in elements; null: C order
  uint64_t byte_offset;
};

struct DLManagedTensor {
  static constexpr const char* kName = "dltensor";
  static constexpr const char* kUsed = "used_dltensor";
  DLTensor tensor;
  void* context;
  void (*deleter)(DLManagedTensor*);
};

struct DLManagedTensorVersioned {
  static constexpr const char* kName = "dltensor_versioned";
  static constexpr const char* kUsed = "used_dltensor_versioned";
  static constexpr uint32_t kMajor = 1;
  static constexpr uint64_t kReadOnly = 1;
  static constexpr uint64_t kCopied = 2;
  uint32_t major;
  uint32_t minor;
  void* context;
  void (*deleter)(DLManagedTensorVersioned*);
  uint64_t flags;
  DLTensor tensor;
};

enum Code : uint8_t { kInt = 0, kUInt = 1, kFloat = 2, kComplex = 5, kBool = 6 };

DLDataType type_of(DType dtype) {
  const auto bits = static_cast<uint8_t>(8 * base::size_of(dtype));
  if (base::is_bool(dtype)) return {kBool, bits, 1};
  if (base::is_float(dtype)) return {kFloat, bits, 1};
  if (base::is_complex(dtype)) return {kComplex, bits, 1};
  return {base::is_signed(dtype) ? kInt : kUInt, bits, 1};
}

std::optional<DType> dtype_of(const DLDataType& type) {
  for (int i = 0; i < base::kDTypeCount; ++i) {
    const DLDataType known = type_of(static_cast<DType>(i));
    if (known.code == type.code && known.bits == type.bits && type.lanes == 1) return static_cast<DType>(i);
  }
  return std::nullopt;
}

[[noreturn]] void refuse(const char* text) {
  PyErr_SetString(PyExc_BufferError, text);
  throw nb::python_error();
}

/// What is given away: the tensor, and what it points to.
template <class T>
struct Given {
  T managed{};
  std::shared_ptr<DeviceMemory> memory;
  int64_t lengths[runtime::SlotInfo::kMaxRank];
  int64_t strides[runtime::SlotInfo::kMaxRank];

  static void destroy(T* managed) { delete static_cast<Given*>(managed->context); }
};

/// Nobody has taken what is in a capsule.
template <class T>
void drop(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, T::kName) == 0) return;
  T* const managed = static_cast<T*>(PyCapsule_GetPointer(capsule, T::kName));
  if (managed->deleter != nullptr) managed->deleter(managed);
}

template <class T>
nb::object capsule_of(const DeviceArray& array, int device_type) {
  auto given = std::make_unique<Given<T>>();
  const Window& window = array.window;
  const auto itemsize = static_cast<int64_t>(base::size_of(window.dtype));
  given->memory = array.memory;
  for (int axis = 0; axis < window.rank; ++axis) {
    if (window.strides[axis] % itemsize != 0)
      refuse("the strides of the array are no multiples of its elements");
    given->lengths[axis] = window.lengths[axis];
    given->strides[axis] = window.strides[axis] / itemsize;
  }
  T& managed = given->managed;
  managed.tensor = {window.data,
                    {device_type, array.device().properties().index},
                    window.rank,
                    type_of(window.dtype),
                    given->lengths,
                    given->strides,
                    0};
  managed.deleter = &Given<T>::destroy;
  managed.context = given.get();
  nb::object capsule = nb::steal(PyCapsule_New(&managed, T::kName, &drop<T>));
  if (!capsule.is_valid()) throw nb::python_error();
  given.release();  // NOLINT(bugprone-unused-return-value)
  return capsule;
}

nb::object to_capsule(nb::handle object, int device_type, bool is_versioned, bool is_copied) {
  if (!is_device_array(object.ptr())) throw nb::type_error("an ingot.Array is wanted");
  compute(object.ptr());
  const DeviceArray& array = device_array(object.ptr());
  share(*array.memory);
  if (!is_versioned) {
    if (!array.is_writable) refuse("the array is read-only, which DLPack before 1.0 cannot express");
    return capsule_of<DLManagedTensor>(array, device_type);
  }
  const nb::object capsule = capsule_of<DLManagedTensorVersioned>(array, device_type);
  auto* const managed = static_cast<DLManagedTensorVersioned*>(
      PyCapsule_GetPointer(capsule.ptr(), DLManagedTensorVersioned::kName));
  managed->major = DLManagedTensorVersioned::kMajor;
  managed->flags = (array.is_writable ? 0 : DLManagedTensorVersioned::kReadOnly) |
                   (is_copied ? DLManagedTensorVersioned::kCopied : 0);
  return capsule;
}

/// An array on what a capsule holds, which is taken from it.
template <class T>
nb::object taken(nb::handle capsule, const DeviceHandle& device, bool is_writable) {
  T* const managed = static_cast<T*>(PyCapsule_GetPointer(capsule.ptr(), T::kName));
  const DLTensor& tensor = managed->tensor;
  const std::optional<DType> dtype = dtype_of(tensor.dtype);
  if (!dtype) refuse("the array is of a dtype that NumPy does not have");
  if (tensor.ndim > runtime::SlotInfo::kMaxRank) refuse("the array has more than 16 axes");
  Window window{};
  window.dtype = *dtype;
  window.rank = tensor.ndim;
  window.data = static_cast<std::byte*>(tensor.data) + tensor.byte_offset;
  auto inside = static_cast<int64_t>(base::size_of(*dtype));
  for (int axis = tensor.ndim - 1; axis >= 0; --axis) {
    window.lengths[axis] = tensor.shape[axis];
    window.strides[axis] = tensor.strides == nullptr
                               ? inside
                               : tensor.strides[axis] * static_cast<int64_t>(base::size_of(*dtype));
    inside *= tensor.shape[axis];
  }
  if (address_of(window.data) % base::alignment_of(*dtype) != 0)
    refuse("the elements of the array are not aligned");
  PyCapsule_SetName(capsule.ptr(), T::kUsed);
  nb::object owner = nb::steal(PyCapsule_New(managed, nullptr, [](PyObject* held) {
    T* const it = static_cast<T*>(PyCapsule_GetPointer(held, nullptr));
    if (it->deleter != nullptr) it->deleter(it);
  }));
  if (!owner.is_valid()) throw nb::python_error();
  auto memory = std::make_shared<DeviceMemory>(*device.it, window.data, inside, std::move(owner));
  return new_device_array(window, is_writable, std::move(memory));
}

nb::object of_capsule(nb::handle capsule, const DeviceHandle& device) {
  using Versioned = DLManagedTensorVersioned;
  if (PyCapsule_IsValid(capsule.ptr(), DLManagedTensor::kName) != 0)
    return taken<DLManagedTensor>(capsule, device, true);
  if (PyCapsule_IsValid(capsule.ptr(), Versioned::kName) == 0)
    throw nb::value_error("a capsule of DLPack's that nobody has taken is wanted");
  const auto* const managed =
      static_cast<const Versioned*>(PyCapsule_GetPointer(capsule.ptr(), Versioned::kName));
  if (managed->major != Versioned::kMajor) refuse("the array is of another version of DLPack");
  return taken<Versioned>(capsule, device, (managed->flags & Versioned::kReadOnly) == 0);
}

}  // namespace

void bind_exchange(nb::module_& m) {
  m.def("to_capsule", &to_capsule, "array"_a, "device_type"_a, "versioned"_a, "copied"_a,
        "The array as a capsule of DLPack's.");
  m.def("of_capsule", &of_capsule, "capsule"_a, "device"_a, "The array that a capsule of DLPack's holds.");
}

}  // namespace ingot::eager
