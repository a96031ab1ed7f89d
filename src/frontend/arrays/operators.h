#pragma once

#include "frontend/tracer/tracer.h"

/// Operators of numbers and arrays, and how those of all values are decided.
namespace ingot::frontend {

Value binary(Tracer& t, Operator op, const Value& a, const Value& b, nb::handle node);
Value compare(Tracer& t, Operator op, const Value& a, const Value& b, nb::handle node);
Value is_among(Tracer& t, std::vector<Value> values, const Value& wanted, nb::handle node);
Value unary(Tracer& t, Operator op, const Value& a, nb::handle node);
Value elementwise(Tracer& t, ir::Op op, std::vector<Value> operands, std::string_view numpy_name,
                  nb::handle node);
/// `a == b` as containers compare their members.
Value equal_members(Tracer& t, const Value& a, const Value& b, nb::handle node);
[[noreturn]] void raise_of_operands(Tracer& t, Operator op, const Value& a, const Value& b);
/// `a op b`, one of them a known int of more than 64 bits and the other none; none: neither is one.
std::optional<bool> compared_beyond_64_bits(ir::Op op, const Value& a, const Value& b);
Value as_bool(const Tracer& t, NodeId node);  ///< Static where it is constant
/// What an operator gives where the one that it is or negates gives `is`.
Value answer(Tracer& t, Operator op, const Value& is, nb::handle node);
Value answer(Tracer& t, Operator op, NodeId is);
NodeId truth(Tracer& t, const Value& value, nb::handle node);
std::optional<bool> static_truth(Tracer& t, const Value& value);

}  // namespace ingot::frontend
