#include "frontend/evaluator_parts.h"

// Calls of NumPy's elementwise functions, with an output, a mask and a dtype.

namespace ingot::frontend {

using base::ExceptionKind;
using ir::Op;

namespace {

/// NumPy's `can_cast(from, to, "same_kind")`.
bool casts_same_kind(DType from, DType to) {
  const auto rank = [](DType t) {
    if (base::is_bool(t)) return 0;
    if (base::is_int(t)) return base::is_signed(t) ? 2 : 1;
    return base::is_float(t) ? 3 : 4;
  };
  return rank(from) <= rank(to);
}

std::string quoted(DType dtype) { return "dtype('" + std::string(base::info(dtype).numpy) + "')"; }

std::string complaint(const std::string& ufunc, const std::string& what, DType from, DType to) {
  return "Cannot cast ufunc '" + ufunc + "' " + what + " from " + quoted(from) + " to " + quoted(to) +
         " with casting rule 'same_kind'";
}

}  // namespace

Value Evaluator::elementwise_call(Op op, Call& call) {
  const size_t wanted = ir::info(op).operands;
  std::vector<Value> operands = call.positional;
  if (operands.size() < wanted || operands.size() > wanted + 1) raise_as_called(call);
  if (operands.size() < wanted || operands.size() > wanted + 1) {
    raise(ExceptionKind::TypeError, call.name + "() takes from " + std::to_string(wanted) + " to " +
                                        std::to_string(wanted + 1) + " positional arguments but " +
                                        std::to_string(operands.size()) + " were given");
  }
  const auto keyword = [&](const char* name) -> const Value* {
    const Value* value = argument(call, call.positional.size(), name);
    return value != nullptr && is_none(*value) ? nullptr : value;
  };
  const bool is_given_twice =
      operands.size() > wanted &&
      std::ranges::count(call.keywords, "out", &std::pair<std::string, Value>::first) > 0;
  if (is_given_twice) {
    raise(ExceptionKind::TypeError, "cannot specify 'out' as both a positional and keyword argument");
  }
  const Value* out = argument(call, wanted, "out");
  if (out != nullptr && out->is<Tuple>() && out->as<Tuple>()->members.size() != 1) {
    raise(ExceptionKind::ValueError, "The 'out' tuple must have exactly one entry per ufunc output");
  }
  if (out != nullptr && out->is<Tuple>() && out->as<Tuple>()->members.size() == 1)
    out = out->as<Tuple>()->members.data();
  if (out != nullptr && is_none(*out)) out = nullptr;
  operands.resize(wanted, Value());
  const Value* where = keyword("where");
  if (where != nullptr && where->is<Static>() && static_truth(*where) == true) where = nullptr;
  const Value* casting = keyword("casting");
  if (casting != nullptr &&
      !require_static(*casting, "a casting rule", call.node).equal(nb::str("same_kind")))
    unsupported(call.node, "another casting rule than 'same_kind'", "convert the operands with astype");
  const Value* order = keyword("order");
  if (order != nullptr && !require_static(*order, "an order", call.node).equal(nb::str("K")))
    unsupported(call.node, "the keyword `order` of `np." + call.name + "`", "copy the result");
  keyword("subok");
  if (const Value* dtype = keyword("dtype"); dtype != nullptr) {
    const DType at = dtype_of(*dtype, call.node);
    const std::vector<Kind> kinds(wanted, Kind(at));
    if (loop_dtype(op, kinds) != at || base::is_bool(at) || ir::result_dtype(op, at) != at)
      unsupported(call.node, "the keyword `dtype` of `np." + call.name + "` with this dtype",
                  "convert with astype");
    for (size_t i = 0; i < wanted; ++i) {
      const std::string which = wanted == 1 ? "input" : "input " + std::to_string(i);
      operands[i] = operand_as(operands[i], at, call.name, which);
    }
  }
  finish(call, wanted + 1);
  const auto make = [&] { return elementwise(op, operands, call.name, call.node); };
  if (out != nullptr) return into_output(*out, call, make, where);
  const Value result = make();
  if (where == nullptr) return result;
  const std::optional<Kind> kind = kind_of(result);
  const NodeId node = result.is<Array>() ? whole(result) : stage(result, *kind);
  return from_node(masked(*where, node, builder_->constant(ir::Type::scalar(kind->dtype()), {})));
}

Value Evaluator::into_output(const Value& out, const Call& call, const std::function<Value()>& make,
                             const Value* where) {
  const Array* array = out.as<Array>();
  if (array == nullptr) raise(ExceptionKind::TypeError, "return arrays must be of ArrayType");
  const Array taken = named(*array);
  need_writable(taken, "output array is read-only", call.node);
  put_out(taken, call.name, make, where);
  return taken;
}

/// An operand at the dtype that a call asks for.
Value Evaluator::operand_as(const Value& operand, DType dtype, const std::string& ufunc,
                            const std::string& which) {
  const std::optional<Kind> kind = kind_of(operand);
  if (!kind) return operand;  // which the function refuses
  const bool is_weak = kind->is_python() && !operand.is<Array>();
  const bool is_whole = base::is_int(kind->dtype()) || base::is_bool(kind->dtype());
  if (is_weak && is_whole) return from_node(stage_for_loop(operand, dtype));
  if (!casts_same_kind(kind->dtype(), dtype))
    raise(ExceptionKind::TypeError, complaint(ufunc, which, kind->dtype(), dtype));
  if (is_weak) return from_node(stage_for_loop(operand, dtype));
  return from_node(operand.is<Array>() ? builder_->cast(whole(operand), dtype) : stage(operand, dtype));
}

NodeId Evaluator::masked(const Value& where, NodeId result, NodeId otherwise) {
  const std::optional<Kind> kind = kind_of(where);
  if (!kind) unsupported(here_, "a mask that is a " + type_name(where), "give it an array of bools");
  const bool is_number = kind->is_python() && !where.is<Array>();
  if (!base::is_bool(kind->dtype()) && !is_number) {
    raise(ExceptionKind::TypeError, "Cannot cast array data from " + quoted(kind->dtype()) +
                                        " to dtype('bool') according to the rule 'safe'");
  }
  const NodeId mask = where.is<Array>() ? whole(where) : stage(where, DType::Bool);
  return by_element(broadcast_together({mask, result, otherwise}),
                    [&](const auto& operands) { return builder_->make(Op::select, operands); });
}

Value Evaluator::fit_for(const Array& out, const std::string& ufunc, const std::function<Value()>& make,
                         const Value* where) {
  const Checkpoint before = checkpoint();
  std::vector<NodeId> outputs{out.node};
  if (where != nullptr && where->is<Array>()) outputs.push_back(where->as<Array>()->node);
  const Restored broadcast(outputs_, std::move(outputs));
  Value result = make();
  const DType to = out.type.dtype();
  const std::optional<Kind> kind = kind_of(result);
  if (kind && !casts_same_kind(kind->dtype(), to)) {
    go_back(before);  // NumPy looks at dtypes before it looks at shapes
    raise(ExceptionKind::TypeError, complaint(ufunc, "output", kind->dtype(), to));
  }
  if (where != nullptr && kind) {
    const NodeId made = builder_->cast(result.is<Array>() ? whole(result) : stage(result, *kind), to);
    result = from_node(masked(*where, made, whole(out)));
  }
  if (const Array* made = result.as<Array>()) need_shape(*made, lengths_of(out.node));
  return result;
}

void Evaluator::put_out(const Array& out, const std::string& ufunc, const std::function<Value()>& make,
                        const Value* where) {
  assign_index(out, Static{nb::ellipsis()}, fit_for(out, ufunc, make, where), here_);
}

Value Evaluator::combined(const Array& array, const std::string& op, const Value& right, nb::handle s) {
  return fit_for(array, std::string(operator_name(op)), [&] { return binary(op, array, right, s); }, nullptr);
}

void Evaluator::in_place(const Array& array, const std::string& op, const Value& right, nb::handle s) {
  need_writable(array, "output array is read-only", s);  // NumPy looks at nothing before
  put_out(array, std::string(operator_name(op)), [&] { return binary(op, array, right, s); }, nullptr);
}

}  // namespace ingot::frontend
