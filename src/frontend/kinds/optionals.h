#pragma once

#include "frontend/kinds/value_kind.h"

namespace ingot::frontend {

/// The join of two values of which one may not be there: None, unbound, an optional, or a pooled instance,
/// which is an optional by itself. None: neither is one.
std::optional<Value> joined_optional(Tracer& t, const Value& a, const Value& b, const std::string& what);

/// A comparison of optionals: None equals only itself, and has no order. None: neither is one.
std::optional<Value> compared_optional(Tracer& t, Operator op, const Value& a, const Value& b,
                                       nb::handle node);

}  // namespace ingot::frontend
