#include "frontend/arrays/ufuncs.h"

#include <ranges>

#include "frontend/arrays/arguments.h"
#include "frontend/arrays/arrays.h"
#include "frontend/arrays/indexing.h"
#include "frontend/arrays/operators.h"
#include "frontend/arrays/scalars.h"
#include "frontend/tracer/checkpoint.h"
#include "frontend/tracer/evaluate.h"
#include "frontend/tracer/python_objects.h"
#include "frontend/tracer/scopes.h"

// Calls of NumPy's elementwise functions, with an output, a mask and a dtype.

namespace ingot::frontend {

using base::ExceptionKind;
using ir::Op;

namespace {

/// NumPy's `can_cast(from, to, "same_kind")`.
bool casts_same_kind(DType from, DType to) {
  const auto rank = [](DType type) {
    if (base::is_bool(type)) return 0;
    if (base::is_int(type)) return base::is_signed(type) ? 2 : 1;
    return base::is_float(type) ? 3 : 4;
  };
  return rank(from) <= rank(to);
}

std::string quoted(DType dtype) { return "dtype('" + std::string(base::info(dtype).numpy) + "')"; }

std::string complaint(const std::string& ufunc, const std::string& what, DType from, DType to) {
  return "Cannot cast ufunc '" + ufunc + "' " + what + " from " + quoted(from) + " to " + quoted(to) +
         " with casting rule 'same_kind'";
}

}  // namespace

bool has_axes(const Call& call) {
  return std::ranges::any_of(call.keywords, [](const auto& keyword) {
    return keyword.first == "axes" || keyword.first == "axis" || keyword.first == "keepdims";
  });
}

namespace {

Value operand_as(Tracer& t, const Value& operand, DType dtype, const std::string& ufunc,
                 const std::string& which);
NodeId masked(Tracer& t, const Value& given, NodeId result, NodeId otherwise);

}  // namespace

bool needs_library(Call& call, bool dtype) {
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
    const nb::object known = known_of(value);
    if (known.is_valid() && means_nothing(name, known)) return true;
    if (name != "dtype" || dtype) needs = true;
    return false;
  });
  return needs;
}

Value ufunc_by_library(Tracer& t, const Call& call) {
  Call whole = call;
  whole.positional.insert(whole.positional.begin(), Static{call.function});
  const nb::module_ library = imported("ingot.library.ufuncs");
  const bool has_core = !call.function.attr("signature").is_none();
  const nb::object function = library.attr(has_core ? "with_core_and_keywords" : "with_keywords");
  if (!binds(function, whole)) raise_as_called(t, call);
  return inline_function(t, function, whole);
}

std::optional<Value> ufunc_of_library(Tracer& t, Call& call) {
  if (!nb::isinstance(call.function, imported("numpy").attr("ufunc"))) return {};
  const auto inputs = nb::cast<size_t>(call.function.attr("nin"));
  const bool has_core = !call.function.attr("signature").is_none();
  const bool has_output =
      call.positional.size() > inputs || std::ranges::any_of(call.keywords, [&](const auto& keyword) {
        return (keyword.first == "out" || keyword.first == "where") && !is_none(keyword.second);
      });
  const bool only_here = has_core || nb::cast<int>(call.function.attr("nout")) > 1;
  if (!needs_library(call, true) && !has_axes(call) && !(only_here && has_output)) return {};
  return ufunc_by_library(t, call);
}

/// The loop that NumPy selects by the types of operands and outputs, and by the keywords.
Value primitive_loop(Tracer& t, Call& call) {
  const nb::object ufunc = require_static(t, call.positional.at(0), "a ufunc", call.node);
  const nb::object operands = stand_in(t, call.positional.at(1));
  const nb::object outputs = stand_in(t, call.positional.at(2));
  nb::dict keywords;
  bool is_known = operands.is_valid() && outputs.is_valid();
  for (const auto& [name, value] : call.keywords) {
    const auto members =
        container_of(value) != 0 ? static_elements(t, value, call.node) : std::optional<std::vector<Value>>();
    nb::object one;
    if (name == "where") one = stand_in(t, value);
    else if (members) one = nb::list(require_static(t, Tuple{.members = *members}, "a keyword", call.node));
    else one = require_static(t, value, "a keyword", call.node);
    if (one.is_valid()) keywords[name.c_str()] = one;
    else is_known = false;
  }
  if (!is_known)
    unsupported(t, call.node, "the function `np." + text_of(ufunc.attr("__name__")) + "` of such values",
                "pass numbers or arrays");
  nb::object dtypes;
  dtypes = by_python(t, [&] {
    return nb::object(imported("ingot._routines.ufuncs").attr("loop")(ufunc, operands, outputs, keywords));
  });
  std::vector<Value> members;
  for (const nb::handle dtype : dtypes) members.push_back(Static{nb::borrow<nb::object>(dtype)});
  return Tuple{.members = std::move(members)};
}

Value primitive_at_dtype(Tracer& t, Call& call) {
  const Value& value = call.positional.at(0);
  const DType dtype = dtype_of(t, call.positional.at(1), call.node);
  const std::optional<Kind> kind = kind_of(value);
  if (!kind) unsupported(t, call.node, "a ufunc of a " + type_name(t, value), "pass numbers or arrays");
  if (*kind == Kind(dtype)) return value;
  return from_node(t, kind->is_python() ? stage_for_loop(t, value, dtype) : node_as(t, value, dtype));
}

void make_arrays(Tracer& t, Call& call, size_t count) {
  for (Value& value : call.positional | std::views::take(count))
    if (is_sequence(value)) value = array_of(t, value, call.node);
}

Value elementwise_call(Tracer& t, Op op, Call& call) {
  const size_t wanted = ir::info(op).operands;
  make_arrays(t, call, wanted);
  if (!call.keywords.empty() && needs_library(call, false)) return ufunc_by_library(t, call);
  std::optional<Call> given;  // `argument` marks what it has found
  if (!call.keywords.empty()) given = call;
  std::vector<Value> operands = call.positional;
  if (operands.size() < wanted || operands.size() > wanted + 1) raise_as_called(t, call);
  if (operands.size() < wanted || operands.size() > wanted + 1) {
    raise(t, ExceptionKind::TypeError,
          call.name + "() takes from " + std::to_string(wanted) + " to " + std::to_string(wanted + 1) +
              " positional arguments but " + std::to_string(operands.size()) + " were given");
  }
  const auto keyword = [&](const char* name) -> const Value* {
    const Value* value = argument(t, call, call.positional.size(), name);
    return value != nullptr && is_none(*value) ? nullptr : value;
  };
  const bool is_given_twice =
      operands.size() > wanted &&
      std::ranges::count(call.keywords, "out", &std::pair<std::string, Value>::first) > 0;
  if (is_given_twice)
    raise(t, ExceptionKind::TypeError, "cannot specify 'out' as both a positional and keyword argument");
  const std::optional<Value> out = output_argument(t, call, wanted);
  operands.resize(wanted, Value());
  const Value* where = keyword("where");
  if (where != nullptr && number_kind(*where) && static_truth(t, *where) == true) where = nullptr;
  if (const Value* dtype = keyword("dtype"); dtype != nullptr) {
    const DType at = dtype_of(t, *dtype, call.node);
    const std::vector<Kind> kinds(wanted, Kind(at));
    if (loop_dtype(op, kinds) != at || base::is_bool(at) || ir::result_dtype(op, at) != at)
      return ufunc_by_library(t, *given);
    for (size_t i = 0; i < wanted; ++i) {
      const std::string which = wanted == 1 ? "input" : "input " + std::to_string(i);
      operands[i] = operand_as(t, operands[i], at, call.name, which);
    }
  }
  finish(t, call, wanted + 1);
  const auto make = [&] { return elementwise(t, op, operands, call.name, call.node); };
  if (out) return into_output(t, *out, call, make, where);
  const Value result = make();
  if (where == nullptr) return result;
  const std::optional<Kind> kind = kind_of(result);
  const NodeId node = node_as(t, result, kind->dtype());
  return from_node(t, masked(t, *where, node, t.builder->constant(ir::Type::scalar(kind->dtype()), {})));
}

std::optional<Value> output_argument(Tracer& t, Call& call, size_t position) {
  const Value* const given = argument(t, call, position, "out");
  if (given == nullptr || is_none(*given)) return std::nullopt;
  if (!given->is<Tuple>() || call.positional.size() > position) return *given;
  const std::vector<Value> members = parts_of(*given);
  if (members.size() != 1)
    raise(t, ExceptionKind::ValueError, "The 'out' tuple must have exactly one entry per ufunc output");
  return is_none(members[0]) ? std::nullopt : std::optional(members[0]);
}

Value into_output(Tracer& t, const Value& out, const Call& call, const std::function<Value()>& make,
                  const Value* where) {
  const Array* array = out.as<Array>();
  if (array == nullptr) raise(t, ExceptionKind::TypeError, "return arrays must be of ArrayType");
  const Array taken = named(t, *array);
  need_writable(t, taken, "output array is read-only", call.node);
  put_out(t, taken, call.name, make, where);
  return taken;
}

namespace {

/// An operand, converted to the dtype that a call requests.
Value operand_as(Tracer& t, const Value& operand, DType dtype, const std::string& ufunc,
                 const std::string& which) {
  const std::optional<Kind> kind = kind_of(operand);
  if (!kind) return operand;  // the function refuses it
  const bool is_weak = kind->is_python();
  const bool is_whole = base::is_int(kind->dtype()) || base::is_bool(kind->dtype());
  if (!(is_weak && is_whole) && !casts_same_kind(kind->dtype(), dtype))
    raise(t, ExceptionKind::TypeError, complaint(ufunc, which, kind->dtype(), dtype));
  return from_node(t, is_weak ? stage_for_loop(t, operand, dtype) : node_as(t, operand, dtype));
}

NodeId masked(Tracer& t, const Value& given, NodeId result, NodeId otherwise) {
  const Value where = is_sequence(given) ? array_of(t, given, t.here, DType::Bool) : given;
  const std::optional<Kind> kind = kind_of(where);
  if (!kind) unsupported(t, t.here, "a mask that is a " + type_name(t, where), "give it an array of bools");
  if (!base::is_bool(kind->dtype()) && !kind->is_python()) {
    raise(t, ExceptionKind::TypeError,
          "Cannot cast array data from " + quoted(kind->dtype()) +
              " to dtype('bool') according to the rule 'safe'");
  }
  const NodeId mask = node_as(t, where, DType::Bool);
  return by_element(t, broadcast_together(t, {mask, result, otherwise}),
                    [&](const auto& operands) { return t.builder->make(Op::select, operands); });
}

/// A ufunc's result as it is stored in an array, where the mask is true (null: everywhere).
Value fit_for(Tracer& t, const Array& out, const std::string& ufunc, const std::function<Value()>& make,
              const Value* where) {
  const Checkpoint before = checkpoint(t);
  std::vector<NodeId> outputs{out.node};
  if (const Array* mask = where == nullptr ? nullptr : where->as<Array>()) outputs.push_back(mask->node);
  const Restored broadcast(t.outputs, std::move(outputs));
  Value result = make();
  const DType to = out.type.dtype();
  const std::optional<Kind> kind = kind_of(result);
  if (kind && !casts_same_kind(kind->dtype(), to)) {
    go_back(t, before);  // NumPy checks dtypes before shapes
    raise(t, ExceptionKind::TypeError, complaint(ufunc, "output", kind->dtype(), to));
  }
  if (where != nullptr && kind) {
    const NodeId made = t.builder->cast(node_as(t, result, kind->dtype()), to);
    result = from_node(t, masked(t, *where, made, whole(t, out)));
  }
  if (const Array* made = result.as<Array>()) need_shape(t, *made, lengths_of(t, out.node));
  return result;
}

}  // namespace

void put_out(Tracer& t, const Array& out, const std::string& ufunc, const std::function<Value()>& make,
             const Value* where) {
  assign_index(t, out, Static{nb::ellipsis()}, fit_for(t, out, ufunc, make, where), t.here);
}

Value combined(Tracer& t, const Array& array, Operator op, const Value& right, nb::handle s) {
  return fit_for(t, array, info(op).numpy, [&] { return binary(t, op, array, right, s); }, nullptr);
}

void in_place(Tracer& t, const Array& array, Operator op, const Value& right, nb::handle s) {
  need_writable(t, array, "output array is read-only", s);  // NumPy checks this first
  put_out(t, array, info(op).numpy, [&] { return binary(t, op, array, right, s); }, nullptr);
}

}  // namespace ingot::frontend
