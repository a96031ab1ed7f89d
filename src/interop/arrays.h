#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>

#include "base/dtype.h"
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

  static Window of(runtime::ViewSlot& view, base::DType dtype, int rank) {
    Window window;
    window.set(view, dtype, rank);
    return window;
  }
  /// That of a view. All of a window is larger than what is set.
  void set(runtime::ViewSlot& view, base::DType dtype, int rank);
  bool is_empty() const;
};

/// Whether the elements are all the bytes of a buffer, each once, from its first byte on.
bool covers(const Window& window, const runtime::Buffer& buffer);

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
