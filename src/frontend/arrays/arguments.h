#pragma once

#include "frontend/tracer/tracer.h"

/// Arguments of a builtin's call, by position or name, each requested once; `finish` refuses the rest.
namespace ingot::frontend {

const Value* argument(Tracer& t, Call& call, size_t position, const char* name);
const Value& need(Tracer& t, Call& call, size_t position, const char* name);
void finish(Tracer& t, Call& call, size_t positional);
DType dtype_argument(Tracer& t, Call& call, size_t position, DType otherwise);
DType dtype_of(Tracer& t, const Value& value, nb::handle node);  ///< from any spelling of a supported dtype
std::vector<NodeId> shape_argument(Tracer& t, const Value& shape);
std::string order_argument(Tracer& t, Call& call, size_t position,
                           const char* otherwise);  ///< one of C, F, A, K
bool wants_fortran_order(Tracer& t, Call& call, size_t position);
void need_rank(Tracer& t, size_t rank);      ///< refuses arrays of more axes than there can be
void need_no_device(Tracer& t, Call& call);  ///< NumPy's keywords `device` and `like`

}  // namespace ingot::frontend
