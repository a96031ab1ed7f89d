// Derivatives. The library (`ingot.library.derivatives`) lifts the variables of a derivative, calls the
// function, which is inlined as in any call, and asks for the tangents of its result. The pass `derive` adds
// the code that computes them.

#include "frontend/arrays/arrays.h"
#include "frontend/arrays/primitives.h"
#include "frontend/arrays/scalars.h"
#include "frontend/tracer/evaluate.h"
#include "frontend/tracer/scopes.h"

namespace ingot::frontend {

using ir::Op;

namespace {

int64_t derivative_argument(Tracer& t, Call& call, size_t position);
NodeId variable_argument(Tracer& t, Call& call, size_t position, const Kind& kind);

}  // namespace

Value primitive_new_derivative(Tracer& t, Call&) {
  t.derivative_starts.push_back(t.builder->function().node_count());
  return Static{nb::int_(t.derivative_starts.size())};
}

/// Numbers that are older than a derivative, and arrays that nothing writes to, do not vary with it.
Value primitive_may_vary(Tracer& t, Call& call) {
  const Value& x = call.positional.at(0);
  const size_t start = t.derivative_starts.at(static_cast<size_t>(derivative_argument(t, call, 1)) - 1);
  if (known_of(x).is_valid()) return Static{nb::bool_(false)};
  const Array* const array = x.as<Array>();
  const NodeId node = variable_argument(t, call, 0, base::known(kind_of(x)));
  return Static{nb::bool_(node.index >= start || (array != nullptr && !array->is_constant))};
}

Value primitive_constant(Tracer&, Call& call) {
  Value x = call.positional.at(0);
  if (Array* const array = x.as<Array>()) array->is_constant = true;
  return x;
}

namespace {

int64_t derivative_argument(Tracer& t, Call& call, size_t position) {
  return nb::cast<int64_t>(require_static(t, call.positional.at(position), "a derivative", call.node));
}

}  // namespace

Value primitive_derivatives(Tracer& t, Call&) {
  Tuple all;
  for (const auto& [number, is_reverse] : t.derivatives)
    all.members.emplace_back(Tuple{{Static{nb::int_(number)}, Static{nb::bool_(is_reverse)}}});
  return all;
}

Value primitive_with_derivatives(Tracer& t, Call& call) {
  std::vector<std::pair<int64_t, bool>> inside;
  for (const Value& one : parts_of(call.positional.at(0))) {
    const auto number = [&](size_t i) {
      return nb::cast<int64_t>(require_static(t, parts_of(one).at(i), "a derivative", call.node));
    };
    inside.emplace_back(number(0), number(1) != 0);
  }
  const Restored<std::vector<std::pair<int64_t, bool>>> around(t.derivatives, inside);
  Call thunk{.positional = {}, .name = call.name, .node = call.node};
  return call_value(t, call.positional.at(1), thunk);
}

Value primitive_back(Tracer& t, Call& call) {
  const int64_t attributes[] = {derivative_argument(t, call, 0)};
  const NodeId made = t.builder->begin(Op::back, {}, attributes);
  t.builder->enter(made, 0, {});
  const State before = t.state;  // what is assigned in the region is not seen outside
  // It runs where the sweep reaches it, and no `try` is open there.
  const Restored<std::vector<Catcher*>> none(t.handlers, {});
  Call thunk{.positional = {}, .name = call.name, .node = call.node};
  call_value(t, call.positional.at(1), thunk);
  t.state = before;
  t.builder->yield({});
  t.builder->end(made);
  return Static{nb::none()};
}

Value primitive_give(Tracer& t, Call& call) {
  const Kind kind = base::known(kind_of(call.positional.at(0)));
  const NodeId operands[] = {variable_argument(t, call, 0, kind), variable_argument(t, call, 1, kind)};
  const int64_t attributes[] = {derivative_argument(t, call, 2)};
  t.builder->make(Op::give, operands, attributes);
  return Static{nb::none()};
}

namespace {

/// A number, or an array as memory.
NodeId variable_argument(Tracer& t, Call& call, size_t position, const Kind& kind) {
  const Value& value = call.positional.at(position);
  return array_type_of(value) ? named(t, value).node : stage(t, value, kind);
}

}  // namespace

Value primitive_may_be_read_only(Tracer& t, Call& call) {
  return Static{nb::bool_(array_argument(t, call, 0).access != Access::Writable)};
}

Value primitive_lift(Tracer& t, Call& call) {
  const Value x = call.positional.at(0);
  const Kind kind = base::known(kind_of(x));
  const NodeId operands[] = {variable_argument(t, call, 0, kind), variable_argument(t, call, 1, kind)};
  const int64_t attributes[] = {derivative_argument(t, call, 2)};
  const NodeId lifted = t.builder->make(Op::lift, operands, attributes);
  if (const Array* array = x.as<Array>()) return viewing(t, lifted, array->access);
  return Scalar{kind, lifted};
}

Value primitive_of_derivative(Tracer& t, Call& call) {
  const Value y = call.positional.at(0);
  const Kind kind = base::known(kind_of(y));
  const NodeId operands[] = {variable_argument(t, call, 0, kind)};
  const int64_t attributes[] = {derivative_argument(t, call, 1)};
  const NodeId made = t.builder->make(base::known(ir::op_from_name(call.name)), operands, attributes);
  const Array* array = y.as<Array>();
  if (array == nullptr) return Scalar{kind, made};
  if (call.name == "primal") return viewing(t, made, array->access);
  return call.name == "tangent" ? viewing(t, made, Access::Writable)
                                : owner(t, made);  // tangents of views are views
}

/// Returns a cotangent for each variable that is a number, None for arrays.
Value primitive_pull(Tracer& t, Call& call) {
  std::vector<NodeId> operands;
  const std::vector<Value> outputs = parts_of(call.positional.at(1));
  const std::vector<Value> cotangents = parts_of(call.positional.at(2));
  const auto add = [&](const Value& value, const Kind& kind) {
    operands.push_back(array_type_of(value) ? named(t, value).node : stage(t, value, kind));
  };
  for (const Value& output : outputs) add(output, base::known(kind_of(output)));
  for (size_t i = 0; i < outputs.size(); ++i) add(cotangents.at(i), base::known(kind_of(outputs[i])));
  const std::vector<Value> variables = parts_of(call.positional.at(3));
  std::vector<ir::Type> types;
  for (const Value& variable : variables) {
    if (array_type_of(variable)) continue;
    add(variable, base::known(kind_of(variable)));
    types.push_back(t.builder->function().type(operands.back()));
  }
  const int64_t attributes[] = {derivative_argument(t, call, 0), static_cast<int64_t>(outputs.size())};
  const NodeId made = t.builder->make(Op::pull, operands, attributes, t.module.types.results(types));
  Tuple given;
  size_t next = 0;
  for (const Value& variable : variables) {
    if (array_type_of(variable)) given.members.emplace_back(Static{nb::none()});
    else {
      given.members.emplace_back(
          Scalar{base::known(kind_of(variable)), t.builder->function().result(made, next++)});
    }
  }
  return given;
}

}  // namespace ingot::frontend
