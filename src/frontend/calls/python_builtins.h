#pragma once

#include "frontend/tracer/tracer.h"

/// Builtins of Python that make texts, and dtypes of values.
namespace ingot::frontend {

Value eval_joined_str(Tracer& t, nb::handle e);
/// A value in Python's format, as `{!r:>5}`.
Value text_of_value(Tracer& t, const Value& value, const std::string& form, nb::handle node);
Value joined_text(Tracer& t, const std::vector<Value>& pieces);
Value compare_sequences(Tracer& t, Operator op, std::vector<Value> a, std::vector<Value> b, nb::handle node);
/// Calls Python's function, now, with arguments that have to be known; `what` describes them in messages.
Value by_host(Tracer& t, const Call& call, const char* what);

}  // namespace ingot::frontend
