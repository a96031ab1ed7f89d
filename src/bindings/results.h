#pragma once

#include <Python.h>

#include "base/dtype.h"
#include "runtime/context.h"

/// Results that own their data: NumPy arrays over the runtime's blocks.
namespace ingot::bindings {

/// Whether a view's elements are all the bytes of its buffer, each once, from its first byte on.
bool covers(runtime::ViewSlot& view, base::DType dtype, int rank);

/// A writable array that owns `buffer`, all of which `view` covers, through NumPy's memory handler `ingot`:
/// its base is None, and the block goes back to the allocator when the array dies or changes its size. A new
/// reference, or null with an exception set. Wants the GIL; numpy's C API has been imported.
PyObject* owning_array(runtime::OwnedBuffer buffer, runtime::ViewSlot& view, int type_number, int rank);

}  // namespace ingot::bindings
