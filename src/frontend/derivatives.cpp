#include "frontend/evaluator_parts.h"

// Derivatives. The library (`ingot.library.derivatives`) lifts the variables of a derivative, calls the
// function, which is inlined as in any call, and asks for the tangents of its result. The pass `derive` adds
// the code that computes them.

namespace ingot::frontend {

using ir::Op;

Value Evaluator::primitive_new_derivative(Call&) {
  derivative_starts_.push_back(builder_->function().node_count());
  return Static{nb::int_(derivative_starts_.size())};
}

/// Numbers that are older than a derivative, and arrays that nothing writes to, do not vary with it.
Value Evaluator::primitive_may_vary(Call& call) {
  const Value& x = call.positional.at(0);
  const size_t start = derivative_starts_.at(static_cast<size_t>(derivative_argument(call, 1)) - 1);
  if (x.is<Static>()) return Static{nb::bool_(false)};
  const Array* const array = x.as<Array>();
  const NodeId node = variable_argument(call, 0, base::known(kind_of(x)));
  return Static{nb::bool_(node.index >= start || (array != nullptr && !array->is_constant))};
}

Value Evaluator::primitive_constant(Call& call) {
  Value x = call.positional.at(0);
  if (Array* const array = x.as<Array>()) array->is_constant = true;
  return x;
}

int64_t Evaluator::derivative_argument(Call& call, size_t position) {
  return nb::cast<int64_t>(require_static(call.positional.at(position), "a derivative", call.node));
}

Value Evaluator::primitive_derivatives(Call&) {
  Tuple all;
  for (const auto& [number, is_reverse] : derivatives_)
    all.members.emplace_back(Tuple{{Static{nb::int_(number)}, Static{nb::bool_(is_reverse)}}});
  return all;
}

Value Evaluator::primitive_with_derivatives(Call& call) {
  std::vector<std::pair<int64_t, bool>> inside;
  for (const Value& one : parts_of(call.positional.at(0))) {
    const auto number = [&](size_t i) {
      return nb::cast<int64_t>(require_static(parts_of(one).at(i), "a derivative", call.node));
    };
    inside.emplace_back(number(0), number(1) != 0);
  }
  const Restored<std::vector<std::pair<int64_t, bool>>> around(derivatives_, inside);
  Call thunk{.positional = {}, .keywords = {}, .name = call.name, .node = call.node};
  return this->call(call.positional.at(1), thunk);
}

Value Evaluator::primitive_back(Call& call) {
  const int64_t attributes[] = {derivative_argument(call, 0)};
  const NodeId made = builder_->begin(Op::back, {}, attributes);
  builder_->enter(made, 0, {});
  const State before = state_;  // what is assigned in the region is not seen outside
  // It runs where the sweep reaches it, and no `try` is open there.
  const Restored<std::vector<Catcher*>> none(handlers_, {});
  Call thunk{.positional = {}, .keywords = {}, .name = call.name, .node = call.node};
  this->call(call.positional.at(1), thunk);
  state_ = before;
  builder_->yield({});
  builder_->end(made);
  return Static{nb::none()};
}

Value Evaluator::primitive_give(Call& call) {
  const Kind kind = base::known(kind_of(call.positional.at(0)));
  const NodeId operands[] = {variable_argument(call, 0, kind), variable_argument(call, 1, kind)};
  const int64_t attributes[] = {derivative_argument(call, 2)};
  builder_->make(Op::give, operands, attributes);
  return Static{nb::none()};
}

/// A number, or an array as memory.
NodeId Evaluator::variable_argument(Call& call, size_t position, const Kind& kind) {
  const Value& value = call.positional.at(position);
  return value.is<Array>() ? named(value).node : stage(value, kind);
}

Value Evaluator::primitive_may_be_read_only(Call& call) {
  return Static{nb::bool_(array_argument(call, 0).access != Access::Writable)};
}

Value Evaluator::primitive_lift(Call& call) {
  const Value x = call.positional.at(0);
  const Kind kind = base::known(kind_of(x));
  const NodeId operands[] = {variable_argument(call, 0, kind), variable_argument(call, 1, kind)};
  const int64_t attributes[] = {derivative_argument(call, 2)};
  const NodeId lifted = builder_->make(Op::lift, operands, attributes);
  if (const Array* array = x.as<Array>()) return viewing(lifted, array->access);
  return Scalar{kind, lifted};
}

Value Evaluator::primitive_of_derivative(Call& call) {
  const Value y = call.positional.at(0);
  const Kind kind = base::known(kind_of(y));
  const NodeId operands[] = {variable_argument(call, 0, kind)};
  const int64_t attributes[] = {derivative_argument(call, 1)};
  const NodeId made = builder_->make(base::known(ir::op_from_name(call.name)), operands, attributes);
  const Array* array = y.as<Array>();
  if (array == nullptr) return Scalar{kind, made};
  if (call.name == "primal") return viewing(made, array->access);
  return call.name == "tangent" ? viewing(made, Access::Writable)
                                : owner(made);  // tangents of views are views
}

/// Returns a cotangent for each variable that is a number, None for arrays.
Value Evaluator::primitive_pull(Call& call) {
  std::vector<NodeId> operands;
  const std::vector<Value> outputs = parts_of(call.positional.at(1));
  const std::vector<Value> cotangents = parts_of(call.positional.at(2));
  const auto add = [&](const Value& value, const Kind& kind) {
    operands.push_back(value.is<Array>() ? named(value).node : stage(value, kind));
  };
  for (const Value& output : outputs) add(output, base::known(kind_of(output)));
  for (size_t i = 0; i < outputs.size(); ++i) add(cotangents.at(i), base::known(kind_of(outputs[i])));
  const std::vector<Value> variables = parts_of(call.positional.at(3));
  std::vector<ir::Type> types;
  for (const Value& variable : variables) {
    if (variable.is<Array>()) continue;
    add(variable, base::known(kind_of(variable)));
    types.push_back(builder_->function().type(operands.back()));
  }
  const int64_t attributes[] = {derivative_argument(call, 0), static_cast<int64_t>(outputs.size())};
  const NodeId made = builder_->make(Op::pull, operands, attributes, module_.types.results(types));
  Tuple given;
  size_t next = 0;
  for (const Value& variable : variables) {
    if (variable.is<Array>()) given.members.emplace_back(Static{nb::none()});
    else {
      given.members.emplace_back(
          Scalar{base::known(kind_of(variable)), builder_->function().result(made, next++)});
    }
  }
  return given;
}

}  // namespace ingot::frontend
