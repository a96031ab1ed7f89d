// Functions of `math` and `operator` that are ops of their own; those that can be written in Python are in
// ingot.library.

#include "frontend/arrays/mathematics.h"

#include "frontend/arrays/arguments.h"
#include "frontend/arrays/arrays.h"
#include "frontend/arrays/scalars.h"
#include "frontend/tracer/evaluate.h"
#include "frontend/tracer/python_objects.h"

namespace ingot::frontend {

using base::ExceptionKind;
using ir::Op;

NodeId real_number(Tracer& t, const Value& value) {
  const std::optional<Kind> kind = kind_of(value);
  if (!kind || *kind == Kind::py_complex())
    raise(t, ExceptionKind::TypeError, "must be real number, not " + type_name(t, value));
  const Array* a = value.as<Array>();
  if (a == nullptr) return stage(t, value, Kind::py_float());
  const char* const complaint = "only 0-dimensional arrays can be converted to Python scalars";
  check(t, t.builder->make(Op::equal, {size_of(t, a->node), t.builder->index(1)}), ExceptionKind::TypeError,
        complaint);
  if (a->type.rank() > 0) raise(t, ExceptionKind::TypeError, complaint);
  return t.builder->cast(whole(t, value), DType::Float64);
}

Value math_parts(Tracer& t, Call& call) {
  const Value value = need(t, call, 0, "x");
  finish(t, call, 1);
  const NodeId x = real_number(t, value);
  if (call.name == "frexp") {
    const NodeId exponent = t.builder->cast(t.builder->make(Op::exponent, {x}), DType::Int64);
    return Tuple{
        {Scalar{Kind::py_float(), t.builder->make(Op::mantissa, {x})}, Scalar{Kind::py_int(), exponent}}};
  }
  const NodeId whole_part = t.builder->make(Op::trunc, {x});
  const NodeId rest = t.builder->make(Op::subtract, {x, whole_part});
  const NodeId zero = t.builder->constant(0.0);
  const NodeId part = t.builder->make(Op::select, {t.builder->make(Op::isinf, {x}), zero, rest});
  return Tuple{{Scalar{Kind::py_float(), t.builder->make(Op::copysign, {part, x})},
                Scalar{Kind::py_float(), whole_part}}};
}

Value math_ldexp(Tracer& t, Call& call) {
  if (call.positional.size() != 2) raise_as_called(t, call);
  const Value value = need(t, call, 0, "x");
  const Value power = need(t, call, 1, "i");
  finish(t, call, 2);
  const std::optional<Kind> kind = kind_of(power);
  const NodeId x = real_number(t, value);
  if (!kind || *kind != Kind::py_int()) {
    if (!kind || *kind != Kind::py_bool())
      raise(t, ExceptionKind::TypeError, "Expected an int as second argument to ldexp.");
  }
  const NodeId most = t.builder->index(5000);
  const NodeId least = t.builder->index(-5000);
  const NodeId given = stage(t, power, Kind::py_int());
  const NodeId bounded = t.builder->make(Op::minimum, {t.builder->make(Op::maximum, {given, least}), most});
  const NodeId result = t.builder->make(Op::scale_by_power, {x, t.builder->cast(bounded, DType::Float64)});
  const NodeId overflows = both(t, t.builder->make(Op::isinf, {result}), t.builder->make(Op::isfinite, {x}));
  check(t, negate(t, overflows), ExceptionKind::OverflowError, "math range error");
  return Scalar{Kind::py_float(), result};
}

Value operator_index(Tracer& t, Call& call) {
  const Value value = need(t, call, 0, "a");
  finish(t, call, 1);
  if (const std::optional<int64_t> known = static_int(value)) return Static{nb::int_(*known)};
  return Scalar{Kind::py_int(), stage_index(t, value)};
}

Value builtin_getattr(Tracer& t, Call& call) {
  if (call.positional.size() < 2 || !call.keywords.empty()) raise_as_called(t, call);
  if (call.positional.size() > 2)
    unsupported(t, call.node, "`getattr` with a default", "ask for the attribute itself");
  const nb::object name = require_static(t, call.positional[1], "the name of an attribute", call.node);
  if (!PyUnicode_Check(name.ptr()))
    raise(t, ExceptionKind::TypeError,
          "attribute name must be string, not '" + type_name(t, Static{name}) + "'");
  return attribute_of(t, call.positional[0], text_of(name), call.node);
}

}  // namespace ingot::frontend
