#pragma once

#include "frontend/tracer/tracer.h"

/// Arguments of the calls of `ingot.library.primitives`.
namespace ingot::frontend {

const Array& array_argument(Tracer& t, Call& call, size_t position);
std::vector<NodeId> numbers_argument(Tracer& t, Call& call, size_t position);
NodeId is_contiguous(Tracer& t, NodeId view);  ///< in C order without gaps, or empty
/// The host function (`ingot.host`, or of `ctypes`) that a function is; invalid: it is none.
nb::object host_function(const nb::object& function);
Value call_host_function(Tracer& t, const nb::object& function, const Call& call);
/// Refuses a function of `numpy.random`, if the NumPy that runs draws other numbers than the build's.
void need_same_draws(Tracer& t, const std::string& path, nb::handle node);

}  // namespace ingot::frontend
