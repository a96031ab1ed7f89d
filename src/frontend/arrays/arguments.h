#pragma once

#include "frontend/tracer/tracer.h"

/// Arguments of a builtin's call, by position or name, each requested once; `finish` refuses the rest.
namespace ingot::frontend {

/// An argument, which is taken from the call; null: it is not given.
const Value* argument(Tracer& t, Call& call, size_t position, const char* name);
/// The same; raises if it is missing.
const Value& need(Tracer& t, Call& call, size_t position, const char* name);
/// Refuses arguments that nobody asked for; `positional`: how many may be given by position.
void finish(Tracer& t, Call& call, size_t positional);
/// A dtype that is known; `otherwise` if it is None or missing.
DType dtype_argument(Tracer& t, Call& call, size_t position, DType otherwise);
DType dtype_of(Tracer& t, const Value& value, nb::handle node);  ///< from any spelling of a supported dtype
/// The lengths that a number or a sequence of numbers gives; negative ones raise.
std::vector<NodeId> shape_argument(Tracer& t, const Value& shape);
std::string order_argument(Tracer& t, Call& call, size_t position,
                           const char* otherwise);  ///< one of C, F, A, K
/// Whether `order` is F, or A or K of an argument in that order.
bool wants_fortran_order(Tracer& t, Call& call, size_t position);
void need_rank(Tracer& t, size_t rank);      ///< refuses arrays of more axes than there can be
void need_no_device(Tracer& t, Call& call);  ///< NumPy's keywords `device` and `like`

}  // namespace ingot::frontend
