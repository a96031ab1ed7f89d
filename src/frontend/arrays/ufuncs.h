#pragma once

#include "frontend/tracer/tracer.h"

/// Calls of ufuncs, with their keywords and outputs.
namespace ingot::frontend {

Value elementwise_call(Tracer& t, ir::Op op, Call& call);
/// Removes keywords that have NumPy's default values from a ufunc's call. Whether others remain that only
/// the library implements; `dtype`: whether the keyword `dtype` is one of these.
bool needs_library(Call& call, bool dtype);
/// Calls a ufunc with any keywords through the library.
Value ufunc_by_library(Tracer& t, const Call& call);
/// The same, if the library's own function for the ufunc does not take these arguments; else none.
std::optional<Value> ufunc_of_library(Tracer& t, Call& call);
/// The output that a call of a ufunc with one is given; none: it is given none. `out=` may be a tuple of it.
std::optional<Value> output_argument(Tracer& t, Call& call, size_t position);
/// `array op= right`: NumPy's function with the array as its output.
void in_place(Tracer& t, const Array& array, Operator op, const Value& right, nb::handle s);
/// The new value of `array op= right` for an array without aliases.
Value combined(Tracer& t, const Array& array, Operator op, const Value& right, nb::handle s);
/// Stores that.
void put_out(Tracer& t, const Array& out, const std::string& ufunc, const std::function<Value()>& make,
             const Value* where);
/// The same for the `out` of a call, which is the call's value.
Value into_output(Tracer& t, const Value& out, const Call& call, const std::function<Value()>& make,
                  const Value* where);
void make_arrays(Tracer& t, Call& call,
                 size_t count);  ///< of those of the first arguments that are sequences
/// Whether a call of a ufunc specifies the axes along which its core runs.
bool has_axes(const Call& call);

}  // namespace ingot::frontend
