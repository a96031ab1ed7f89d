#include <ranges>

#include "frontend/kinds/value_kind.h"

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

bool has_axes(const Evaluator::Call& call) {
  return std::ranges::any_of(call.keywords, [](const auto& keyword) {
    return keyword.first == "axes" || keyword.first == "axis" || keyword.first == "keepdims";
  });
}

bool Evaluator::needs_library(Call& call, bool dtype) {
  bool needs = false;
  const auto means_nothing = [](const std::string& name, const nb::object& value) {
    if (name == "casting") return value.equal(nb::str("same_kind"));
    if (name == "order") return value.is_none() || value.equal(nb::str("K"));
    if (name == "subok") return PyBool_Check(value.ptr()) != 0;
    return value.is_none();
  };
  std::erase_if(call.keywords, [&](const std::pair<std::string, Value>& keyword) {
    static const std::set<std::string> kRare = {"casting", "order", "dtype", "subok", "signature", "sig"};
    const auto& [name, value] = keyword;
    if (!kRare.contains(name)) return false;
    if (value.is<Static>() && means_nothing(name, value.as<Static>()->object)) return true;
    if (name != "dtype" || dtype) needs = true;
    return false;
  });
  return needs;
}

Value Evaluator::ufunc_by_library(const Call& call) {
  Call whole = call;
  whole.positional.insert(whole.positional.begin(), Static{call.function});
  const nb::module_ library = imported("ingot.library.ufuncs");
  const bool has_core = !call.function.attr("signature").is_none();
  const nb::object function = library.attr(has_core ? "with_core_and_keywords" : "with_keywords");
  if (!binds(function, whole)) raise_as_called(call);
  return inline_function(function, whole);
}

std::optional<Value> Evaluator::ufunc_of_library(Call& call) {
  if (!nb::isinstance(call.function, imported("numpy").attr("ufunc"))) return {};
  const auto inputs = nb::cast<size_t>(call.function.attr("nin"));
  const bool has_core = !call.function.attr("signature").is_none();
  const bool has_output =
      call.positional.size() > inputs || std::ranges::any_of(call.keywords, [&](const auto& keyword) {
        return (keyword.first == "out" || keyword.first == "where") && !is_none(keyword.second);
      });
  const bool only_here = has_core || nb::cast<int>(call.function.attr("nout")) > 1;
  if (!needs_library(call, true) && !has_axes(call) && !(only_here && has_output)) return {};
  return ufunc_by_library(call);
}

/// The loop that NumPy selects by the types of operands and outputs, and by the keywords.
Value Evaluator::primitive_loop(Call& call) {
  const nb::object ufunc = require_static(call.positional.at(0), "a ufunc", call.node);
  const nb::object operands = stand_in(call.positional.at(1));
  const nb::object outputs = stand_in(call.positional.at(2));
  nb::dict keywords;
  bool is_known = operands.is_valid() && outputs.is_valid();
  for (const auto& [name, value] : call.keywords) {
    const auto members =
        value.is<Reference>() ? static_elements(value, call.node) : std::optional<std::vector<Value>>();
    nb::object one;
    if (name == "where") one = stand_in(value);
    else if (members) one = nb::list(require_static(Tuple{.members = *members}, "a keyword", call.node));
    else one = require_static(value, "a keyword", call.node);
    if (one.is_valid()) keywords[name.c_str()] = one;
    else is_known = false;
  }
  if (!is_known)
    unsupported(call.node, "the function `np." + text_of(ufunc.attr("__name__")) + "` of such values",
                "pass numbers or arrays");
  nb::object dtypes;
  dtypes = by_python(*this, [&] {
    return nb::object(imported("ingot._routines.ufuncs").attr("loop")(ufunc, operands, outputs, keywords));
  });
  std::vector<Value> members;
  for (const nb::handle dtype : dtypes) members.push_back(Static{nb::borrow<nb::object>(dtype)});
  return Tuple{.members = std::move(members)};
}

Value Evaluator::primitive_at_dtype(Call& call) {
  const Value& value = call.positional.at(0);
  const DType dtype = dtype_of(call.positional.at(1), call.node);
  const std::optional<Kind> kind = kind_of(value);
  if (!kind) unsupported(call.node, "a ufunc of a " + type_name(value), "pass numbers or arrays");
  if (*kind == Kind(dtype)) return value;
  return from_node(kind->is_python() ? stage_for_loop(value, dtype) : node_as(*this, value, dtype));
}

void Evaluator::make_arrays(Call& call, size_t count) {
  for (Value& value : call.positional | std::views::take(count))
    if (is_sequence(value)) value = array_of(value, call.node);
}

Value Evaluator::elementwise_call(Op op, Call& call) {
  const size_t wanted = ir::info(op).operands;
  make_arrays(call, wanted);
  if (!call.keywords.empty() && needs_library(call, false)) return ufunc_by_library(call);
  std::optional<Call> given;  // `argument` marks what it has found
  if (!call.keywords.empty()) given = call;
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
  if (out != nullptr && out->is<Tuple>() && call.positional.size() <= wanted) {
    if (out->as<Tuple>()->members.size() != 1)
      raise(ExceptionKind::ValueError, "The 'out' tuple must have exactly one entry per ufunc output");
    out = out->as<Tuple>()->members.data();
  }
  if (out != nullptr && is_none(*out)) out = nullptr;
  operands.resize(wanted, Value());
  const Value* where = keyword("where");
  if (where != nullptr && where->is<Static>() && static_truth(*where) == true) where = nullptr;
  if (const Value* dtype = keyword("dtype"); dtype != nullptr) {
    const DType at = dtype_of(*dtype, call.node);
    const std::vector<Kind> kinds(wanted, Kind(at));
    if (loop_dtype(op, kinds) != at || base::is_bool(at) || ir::result_dtype(op, at) != at)
      return ufunc_by_library(*given);
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
  const NodeId node = node_as(*this, result, kind->dtype());
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

/// An operand, converted to the dtype that a call requests.
Value Evaluator::operand_as(const Value& operand, DType dtype, const std::string& ufunc,
                            const std::string& which) {
  const std::optional<Kind> kind = kind_of(operand);
  if (!kind) return operand;  // the function refuses it
  const bool is_weak = kind->is_python();
  const bool is_whole = base::is_int(kind->dtype()) || base::is_bool(kind->dtype());
  if (is_weak && is_whole) return from_node(stage_for_loop(operand, dtype));
  if (!casts_same_kind(kind->dtype(), dtype))
    raise(ExceptionKind::TypeError, complaint(ufunc, which, kind->dtype(), dtype));
  if (is_weak) return from_node(stage_for_loop(operand, dtype));
  return from_node(node_as(*this, operand, dtype));
}

NodeId Evaluator::masked(const Value& given, NodeId result, NodeId otherwise) {
  const Value where = is_sequence(given) ? array_of(given, here_, DType::Bool) : given;
  const std::optional<Kind> kind = kind_of(where);
  if (!kind) unsupported(here_, "a mask that is a " + type_name(where), "give it an array of bools");
  if (!base::is_bool(kind->dtype()) && !kind->is_python()) {
    raise(ExceptionKind::TypeError, "Cannot cast array data from " + quoted(kind->dtype()) +
                                        " to dtype('bool') according to the rule 'safe'");
  }
  const NodeId mask = node_as(*this, where, DType::Bool);
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
    go_back(before);  // NumPy checks dtypes before shapes
    raise(ExceptionKind::TypeError, complaint(ufunc, "output", kind->dtype(), to));
  }
  if (where != nullptr && kind) {
    const NodeId made = builder_->cast(node_as(*this, result, kind->dtype()), to);
    result = from_node(masked(*where, made, whole(out)));
  }
  if (const Array* made = result.as<Array>()) need_shape(*made, lengths_of(out.node));
  return result;
}

void Evaluator::put_out(const Array& out, const std::string& ufunc, const std::function<Value()>& make,
                        const Value* where) {
  assign_index(out, Static{nb::ellipsis()}, fit_for(out, ufunc, make, where), here_);
}

Value Evaluator::combined(const Array& array, Operator op, const Value& right, nb::handle s) {
  return fit_for(array, info(op).numpy, [&] { return binary(op, array, right, s); }, nullptr);
}

void Evaluator::in_place(const Array& array, Operator op, const Value& right, nb::handle s) {
  need_writable(array, "output array is read-only", s);  // NumPy checks this first
  put_out(array, info(op).numpy, [&] { return binary(op, array, right, s); }, nullptr);
}

}  // namespace ingot::frontend
