#include "frontend/arrays/scalars.h"

#include <cmath>

#include "frontend/arrays/arrays.h"
#include "frontend/arrays/operators.h"
#include "frontend/kinds/value_kind.h"
#include "frontend/tracer/errors.h"
#include "frontend/tracer/frame.h"
#include "frontend/tracer/python_objects.h"

namespace ingot::frontend {

using base::ExceptionKind;
using ir::Op;

std::optional<Kind> kind_of(const Value& value) {
  const std::optional<ir::Type> array = array_type_of(value);
  return array ? Kind(array->dtype()) : number_kind(value);
}

void need_64_bits(Tracer& t, NodeId fits) {
  t.builder->check(fits, ExceptionKind::OverflowError, "a Python int leaves 64 bits here");
}

Value stage_number(Tracer& t, const Value& value) {
  const std::optional<Kind> kind = number_kind(value);
  if (!kind || !known_of(value).is_valid()) return value;
  return Scalar{*kind, stage(t, value, *kind)};
}

NodeId stage(Tracer& t, const Value& value, Kind kind) {
  if (const auto* s = value.as<Scalar>())
    return s->kind.dtype() == kind.dtype() ? s->node : t.builder->cast(s->node, kind.dtype());
  const Kind own = base::known(kind_of(value));
  const nb::object known = known_of(value);
  PyObject* const o = known.ptr();
  base::Scalar bits;
  if (own == Kind::py_bool()) {
    bits = base::Scalar::of(o == Py_True);
  } else if (own == Kind::py_int()) {
    int overflow = 0;
    const long long integer = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (overflow != 0) {
      if (base::is_float(kind.dtype()) || base::is_complex(kind.dtype())) {
        const double number = PyLong_AsDouble(o);
        if (PyErr_Occurred() != nullptr) {
          PyErr_Clear();
          raise(t, ExceptionKind::OverflowError, "int too large to convert to float");
        }
        return t.builder->cast(t.builder->constant(number), kind.dtype());
      }
      if (!kind.is_python())
        raise(t, ExceptionKind::OverflowError, "Python int too large to convert to C long");
      // Python's ints do not overflow, so no clause may catch this.
      need_64_bits(t, t.builder->constant(false));
    }
    bits = base::Scalar::of(static_cast<int64_t>(integer));
  } else if (own == Kind::py_float()) {
    bits = base::Scalar::of(PyFloat_AS_DOUBLE(o));
  } else if (own == Kind::py_complex()) {
    const Py_complex c = PyComplex_AsCComplex(o);
    bits = base::Scalar::of(std::complex<double>(c.real, c.imag));
  } else {
    const nb::bytes raw = nb::cast<nb::bytes>(known.attr("tobytes")());
    bits = base::Scalar::load(own.dtype(), raw.c_str());
  }
  return t.builder->cast(t.builder->constant(ir::Type::scalar(own.dtype()), bits), kind.dtype());
}

NodeId stage_for_loop(Tracer& t, const Value& value, DType loop) {
  const Kind own = base::known(kind_of(value));
  if (own == Kind::py_int() && base::is_int(loop)) {
    const NodeId integer = stage(t, value, DType::Int64);
    const NodeId fitted = t.builder->cast(integer, loop);
    if (loop != DType::Int64) {
      NodeId fits = t.builder->make(Op::equal, {t.builder->cast(fitted, DType::Int64), integer});
      if (loop == DType::UInt64) fits = t.builder->make(Op::greater_equal, {integer, t.builder->index(0)});
      const ir::Function& f = t.builder->function();
      const bool never = f.is_constant(fits) && f.constant(fits).bits[0] == 0;
      if (never) need_one_kind(t, ExceptionKind::OverflowError);
      check(t, fits, ExceptionKind::OverflowError,
            "Python integer {} out of bounds for " + std::string(base::info(loop).numpy), {integer});
    }
    return fitted;
  }
  return stage(t, value, Kind(loop));
}

NodeId stage_index(Tracer& t, const Value& value) {
  const std::optional<Kind> kind = kind_of(value);
  const std::optional<ir::Type> array = array_type_of(value);
  if (array && array->rank() == 0 && base::is_int(array->dtype()))
    return stage_index(t, from_node(t, whole(t, value)));
  if (array)
    raise(t, ExceptionKind::TypeError, "only integer scalar arrays can be converted to a scalar index");
  if (kind == Kind(DType::UInt64)) {
    const NodeId integer = stage(t, value, Kind::py_int());
    check(t, t.builder->make(Op::greater_equal, {integer, t.builder->index(0)}), ExceptionKind::OverflowError,
          "Python int too large to convert to C long");
    return integer;
  }
  if (!kind || !(base::is_int(kind->dtype()) || *kind == Kind::py_bool())) {
    need_one_kind(t, ExceptionKind::TypeError, {value});
    raise(t, ExceptionKind::TypeError,
          "'" + type_name(t, value) + "' object cannot be interpreted as an integer");
  }
  return stage(t, value, DType::Int64);
}

int side_of_64_bits(const Value& value) {
  const nb::object known = known_of(value);
  if (!known.is_valid() || !PyLong_CheckExact(known.ptr())) return 0;
  int side = 0;
  PyLong_AsLongLongAndOverflow(known.ptr(), &side);
  return side;
}

bool is_object_of_numpy(const Value& value) {
  const int side = side_of_64_bits(value);
  return side < 0 || (side > 0 && nb::cast<int64_t>(known_of(value).attr("bit_length")()) > 64);
}

void need_index_sized(Tracer& t, const Value& index) {
  if (side_of_64_bits(index) != 0)
    raise(t, ExceptionKind::IndexError, "cannot fit 'int' into an index-sized integer");
}

std::optional<int64_t> static_int(const Value& value) {
  const nb::object known = known_of(value);
  if (!known.is_valid() || !PyIndex_Check(known.ptr())) return std::nullopt;
  int overflow = 0;
  const nb::object index = nb::steal(PyNumber_Index(known.ptr()));
  const long long integer = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
  if (overflow != 0) return std::nullopt;
  return integer;
}

std::optional<NeedsFact> source_of(const Tracer& t, NodeId number, nb::handle node, bool is_last) {
  // Follow the operands to loop indices and scalar arguments, which can be known on demand.
  std::vector<NodeId> pending{number};
  while (!pending.empty()) {
    const NodeId at = pending.back();
    pending.pop_back();
    if (const auto loop = t.loop_indices.find(at.index);
        loop != t.loop_indices.end() && !t.facts.counted.contains(loop->second))
      return NeedsFact::at(loop->second, location_of(t, node));
    if (const auto given = t.scalar_arguments.find(at.index); given != t.scalar_arguments.end())
      return NeedsFact::of(given->second, location_of(t, node));
    if (const auto given = t.named_arguments.find(at.index); is_last && given != t.named_arguments.end())
      return NeedsFact::of(given->second, location_of(t, node));
    const ir::Function& f = t.builder->function();
    if (ir::info(f.op(at)).elementwise || f.op(at) == Op::cast || f.op(at) == Op::select)
      for (const NodeId operand : f.operands(at)) pending.push_back(operand);
  }
  return std::nullopt;
}

void demand(Tracer& t, NodeId number, nb::handle node) {
  if (const std::optional<NeedsFact> source = source_of(t, number, node, t.frame->of_library))
    throw NeedsFact(*source);
}

void settle(const Tracer& t, Value& value, NodeId condition) {
  if (Conflict* const conflict = value.as<Conflict>()) settle(t, *conflict, condition);
}

void settle(const Tracer& t, Conflict& conflict, NodeId condition) {
  if (!condition || conflict.has_source()) return;
  // In the library numbers, such as an axis, decide the type of the result; pools do not help there.
  const bool is_last = t.frame->of_library && conflict.pools.empty() && conflict.rows.empty();
  if (const std::optional<NeedsFact> source = source_of(t, condition, t.here, is_last)) {
    conflict.loop = source->site;
    conflict.argument = source->argument;
  }
}

nb::object require_static(Tracer& t, const Value& value, const char* what, nb::handle node) {
  if (nb::object known = kind_of_value(value).demanded(t, value, what, node); known.is_valid()) return known;
  unsupported(t, node, std::string(what) + " that is not known when compiling",
              "use a constant, an argument, or a loop over a constant range");
}

NodeId is_there(Tracer& t, const Maybe& maybe) {
  const NodeId tag = t.builder->make(Op::tag, {maybe.node});
  return t.builder->make(Op::equal, {tag, t.builder->constant<int8_t>(0)});
}

Value present(Tracer& t, const Value& value, const std::string& name, nb::handle node) {
  return kind_of_value(value).present(t, value, name, node);
}

std::string type_name(const Tracer& t, const Value& value) {
  return kind_of_value(value).type_name(t, value);
}

Value known_number(Tracer& t, const Value& value) {
  const Scalar* s = value.as<Scalar>();
  if (s == nullptr || !s->kind.is_python() || !t.builder->function().is_constant(s->node)) return value;
  if (s->kind == Kind::py_int())
    return Static{nb::int_(static_cast<int64_t>(t.builder->function().constant(s->node).bits[0]))};
  if (s->kind == Kind::py_bool()) return as_bool(t, s->node);
  return value;
}

}  // namespace ingot::frontend
