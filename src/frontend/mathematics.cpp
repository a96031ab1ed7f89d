#include "frontend/evaluator_parts.h"

// Functions of `math` and `operator` that are ops of their own; those that can be written in Python are in
// ingot.library.

namespace ingot::frontend {

using base::ExceptionKind;
using ir::Op;

NodeId Evaluator::real_number(const Value& value) {
  const std::optional<Kind> kind = kind_of(value);
  if (!kind || *kind == Kind::py_complex())
    raise(ExceptionKind::TypeError, "must be real number, not " + type_name(value));
  const Array* a = value.as<Array>();
  if (a == nullptr) return stage(value, Kind::py_float());
  const char* const complaint = "only 0-dimensional arrays can be converted to Python scalars";
  check(builder_->make(Op::equal, {size_of(a->node), builder_->index(1)}), ExceptionKind::TypeError,
        complaint);
  if (a->type.rank() > 0) raise(ExceptionKind::TypeError, complaint);
  return builder_->cast(whole(value), DType::Float64);
}

Value Evaluator::math_parts(Call& call) {
  const Value value = need(call, 0, "x");
  finish(call, 1);
  const NodeId x = real_number(value);
  if (call.name == "frexp") {
    const NodeId exponent = builder_->cast(builder_->make(Op::exponent, {x}), DType::Int64);
    return Tuple{
        {Scalar{Kind::py_float(), builder_->make(Op::mantissa, {x})}, Scalar{Kind::py_int(), exponent}}};
  }
  const NodeId whole_part = builder_->make(Op::trunc, {x});
  const NodeId rest = builder_->make(Op::subtract, {x, whole_part});
  const NodeId zero = builder_->constant(0.0);
  const NodeId part = builder_->make(Op::select, {builder_->make(Op::isinf, {x}), zero, rest});
  return Tuple{{Scalar{Kind::py_float(), builder_->make(Op::copysign, {part, x})},
                Scalar{Kind::py_float(), whole_part}}};
}

Value Evaluator::math_ldexp(Call& call) {
  if (call.positional.size() != 2) raise_as_called(call);
  const Value value = need(call, 0, "x");
  const Value power = need(call, 1, "i");
  finish(call, 2);
  const std::optional<Kind> kind = kind_of(power);
  const NodeId x = real_number(value);
  if (!kind || *kind != Kind::py_int()) {
    if (!kind || *kind != Kind::py_bool())
      raise(ExceptionKind::TypeError, "Expected an int as second argument to ldexp.");
  }
  const NodeId most = builder_->index(5000);
  const NodeId least = builder_->index(-5000);
  const NodeId given = stage(power, Kind::py_int());
  const NodeId bounded = builder_->make(Op::minimum, {builder_->make(Op::maximum, {given, least}), most});
  const NodeId result = builder_->make(Op::scale_by_power, {x, builder_->cast(bounded, DType::Float64)});
  const NodeId overflows = both(builder_->make(Op::isinf, {result}), builder_->make(Op::isfinite, {x}));
  check(negate(overflows), ExceptionKind::OverflowError, "math range error");
  return Scalar{Kind::py_float(), result};
}

Value Evaluator::operator_index(Call& call) {
  const Value value = need(call, 0, "a");
  finish(call, 1);
  if (const std::optional<int64_t> known = static_int(value)) return Static{nb::int_(*known)};
  return Scalar{Kind::py_int(), stage_index(value)};
}

Value Evaluator::builtin_getattr(Call& call) {
  if (call.positional.size() < 2 || !call.keywords.empty()) raise_as_called(call);
  if (call.positional.size() > 2)
    unsupported(call.node, "`getattr` with a default", "ask for the attribute itself");
  const nb::object name = require_static(call.positional[1], "the name of an attribute", call.node);
  if (!PyUnicode_Check(name.ptr()))
    raise(ExceptionKind::TypeError, "attribute name must be string, not '" + type_name(Static{name}) + "'");
  return attribute_of(call.positional[0], text_of(name), call.node);
}

}  // namespace ingot::frontend
