#pragma once

#include <string_view>

#include "interop/gil.h"
#include "runtime/abi.h"

/// NumPy's generalised ufuncs - matrix products, linear algebra, Fourier transforms - called by their inner
/// loops, without Python objects.
namespace ingot::bindings {

struct Gufunc;

/// The gufunc that a routine of the library table names, `matmul`, `linalg.inv` or `fft.fft`, as it is for
/// slots of this layout; null: another routine. With the GIL. Throws python_error.
const Gufunc* find_gufunc(std::string_view routine, std::string_view layout);

/// Calls it on views: inputs, of which all axes but those of one matrix are in C order, outputs, and for
/// other routines than `matmul` an i64 vector of one element that is set to whether it failed. What has fewer
/// axes than the others is the same for all of them. Needs no GIL; lets go of it, if it is held, where the
/// call takes long. What takes some milliseconds is an errand (runtime/errand.h). 0, or the status to leave
/// the context's call with: outputs are then as they were. Without memory it throws std::bad_alloc, or gives
/// 0 while an exception of Python's is set (`is_raising`).
runtime::Status call_gufunc(runtime::Context& context, const Gufunc& gufunc, void** slots, Gil& gil);

}  // namespace ingot::bindings
