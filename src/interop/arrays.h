#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/dtype.h"
#include "base/strided.h"
#include "interop/numpy.h"
#include "runtime/context.h"
#include "runtime/object_info.h"

/// NumPy's arrays over the runtime's memory, and over that of other arrays.
namespace ingot::inline interop {

namespace nb = nanobind;

/// The layout of an array in memory.
struct Window {
  base::DType dtype;
  int rank;
  std::byte* data;  ///< of the first element
  int64_t lengths[runtime::SlotInfo::kMaxRank];
  int64_t strides[runtime::SlotInfo::kMaxRank];  ///< in bytes

  /// Of elements that are laid out so, the first one here. All of a window is larger than what is set.
  static Window of(base::DType dtype, std::byte* data, const base::Strided& strided) {
    Window window;
    window.set(dtype, data, strided);
    return window;
  }
  static Window of(runtime::ViewSlot& view, base::DType dtype, int rank) {
    Window window;
    window.set(view, dtype, rank);
    return window;
  }
  static Window of(PyArrayObject* array, base::DType dtype) {
    return of(dtype, reinterpret_cast<std::byte*>(PyArray_BYTES(array)), strided_of(array));
  }
  void set(base::DType of_elements, std::byte* first, const base::Strided& strided) {
    dtype = of_elements;
    rank = static_cast<int>(strided.rank());
    data = first;
    std::ranges::copy(strided.lengths, lengths);
    std::ranges::copy(strided.strides, strides);
  }
  void set(runtime::ViewSlot& view, base::DType of_elements, int axes) {
    const auto count = static_cast<size_t>(axes);
    set(of_elements, view.data, {{view.lengths(), count}, {view.strides(axes), count}});
  }
  base::Strided strided() const {
    const auto axes = static_cast<size_t>(rank);
    return {{lengths, axes}, {strides, axes}, static_cast<int64_t>(base::size_of(dtype))};
  }
};

/// Whether the elements are all the bytes of a buffer, each once, from its first byte on.
inline bool covers(const Window& window, const runtime::Buffer& buffer) {
  return window.data == buffer.data && window.strided().covers(buffer.size);
}

/// A writable array that owns `buffer`, all of which the window covers, through NumPy's memory handler
/// `ingot`: its base is None, and the block goes back to the allocator when the array dies or changes its
/// size. Wants the GIL, as all below.
nb::object owning_array(runtime::OwnedBuffer buffer, const Window& window);

/// Whether an object is an array of NumPy's class `memmap`, and not of a class made of it.
bool is_memory_map(PyObject* object);

/// An array of memory that `owner`, its base, owns: of a memory map, another one. Without owner it is for the
/// time of a call.
nb::object array_on(const Window& window, bool is_writable, nb::object owner = {});

}  // namespace ingot::inline interop
