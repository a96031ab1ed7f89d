// Primitives of `ingot.vmap`: the result of one batch element, before any has run. Batch elements and their
// collectives are in collectives.cpp.

#include "frontend/calls/batching.h"

#include "frontend/arrays/arguments.h"
#include "frontend/arrays/scalars.h"
#include "frontend/kinds/dicts.h"
#include "frontend/kinds/lists.h"
#include "frontend/kinds/value_kind.h"
#include "frontend/tracer/builtins.h"
#include "frontend/tracer/checkpoint.h"
#include "frontend/tracer/evaluate.h"
#include "frontend/tracer/python_objects.h"

namespace ingot::frontend {

using base::ExceptionKind;
using ir::Op;

namespace {

/// The names of the fields of a dataclass; none: the class is no dataclass.
nb::tuple field_names_of(const nb::object& type) {
  if ((reinterpret_cast<PyTypeObject*>(type.ptr())->tp_flags & Py_TPFLAGS_HEAPTYPE) == 0) return nb::tuple();
  const nb::object rules = imported("ingot.library.structures").attr("rules_of")(type);
  const bool is_dataclass = !rules.is_none() && nb::len(rules) == 2 && nb::object(rules[0]).is_none();
  return is_dataclass ? nb::tuple(rules[1]) : nb::tuple();
}

/// The dtypes of numbers and arrays in a structure of None, tuples, lists, dicts and instances of
/// dataclasses; invalid: something else is in it.
nb::object dtypes_in(Tracer& t, const Value& value, bool& has_arrays) {
  if (is_none(value)) return nb::none();
  const auto all = [&](const std::vector<Value>& values) -> nb::object {
    nb::list parts;
    for (const Value& one : values) {
      const nb::object part = dtypes_in(t, one, has_arrays);
      if (!part.is_valid()) return {};
      parts.append(part);
    }
    return parts;
  };
  if (const Tuple* tuple = value.as<Tuple>()) {
    const nb::object parts = all(tuple->members);
    if (!parts.is_valid()) return {};
    return tuple->type.is_valid() ? tuple->type.attr("_make")(parts) : nb::object(nb::tuple(parts));
  }
  if (const uint32_t container = container_of(value); container != 0) {
    const HeapObject& object = t.state.heap.at(container);
    const bool is_known = object.element == nullptr && !object.is_mapping && object.conflict.empty();
    if (!is_known) return {};
    const nb::object parts = all(object.values);
    if (!parts.is_valid() || object.type == HeapObject::Type::List) return parts;
    nb::dict dict;
    for (size_t i = 0; i < object.keys.size(); ++i) dict[object.keys[i]] = parts[i];
    return dict;
  }
  if (const Object* instance = value.as<Object>()) {
    const HeapObject& object = t.state.heap.at(instance->object);
    const nb::object names = field_names_of(object.type_of);
    std::vector<Value> fields;
    for (const nb::handle name : names) {
      const auto is_it = [&](nb::handle key) { return key.equal(name); };
      const auto key = std::ranges::find_if(object.keys, is_it);
      if (key == object.keys.end()) return {};
      fields.push_back(object.values[static_cast<size_t>(key - object.keys.begin())]);
    }
    const nb::object parts = fields.empty() ? nb::object() : all(fields);
    if (!parts.is_valid()) return {};
    return imported("ingot.library.primitives").attr("instance")(object.type_of, names, parts);
  }
  has_arrays = has_arrays || array_type_of(value).has_value();
  const std::optional<Kind> kind = kind_of(value);
  if (!kind) return {};
  return imported("numpy").attr("dtype")(std::string(base::info(kind->dtype()).numpy));
}

}  // namespace

/// A structure of tuples, lists, dicts and instances of dataclasses as a value made by the function.
Value structure_of(Tracer& t, const nb::object& object) {
  const auto all = [&t](const nb::object& objects) {
    std::vector<Value> parts;
    for (const nb::handle one : objects) parts.push_back(structure_of(t, nb::borrow<nb::object>(one)));
    return parts;
  };
  if (PyList_CheckExact(object.ptr())) return new_list(t, all(object));
  if (PyTuple_CheckExact(object.ptr())) return Tuple{.members = all(object)};
  if (PyTuple_Check(object.ptr()))
    return Tuple{.members = all(object), .type = nb::borrow<nb::object>(object.type())};
  const nb::object type = nb::borrow<nb::object>(object.type());
  if (const nb::tuple names = field_names_of(type); names.size() != 0) {
    Tuple keys;
    Tuple fields;
    for (const nb::handle name : names) {
      keys.members.emplace_back(Static{nb::borrow<nb::object>(name)});
      fields.members.push_back(structure_of(t, attribute(object, text_of(name).c_str())));
    }
    Call call{.positional = {Static{type}, keys, fields}, .name = "instance", .node = t.here};
    return primitive_instance(t, call);
  }
  if (!PyDict_CheckExact(object.ptr())) return Static{object};
  std::vector<nb::object> keys;
  for (const nb::handle key : object) keys.push_back(nb::borrow<nb::object>(key));
  return new_dict(t, std::move(keys), all(object.attr("values")()));
}

std::optional<Value> tried_iteration(Tracer& t, Call& call) {
  const std::vector<NodeId> operands{t.builder->index(1)};
  const std::vector<ir::Type> types{ir::kInt64};
  const int64_t schedule[] = {static_cast<int64_t>(ir::Schedule::Serial), 0};
  const std::vector<NodeId> parameters =
      t.builder->enter(t.builder->begin(Op::for_, operands, schedule), 0, types);
  Call iteration{.positional = {Scalar{Kind::py_int(), parameters[0]}}, .name = call.name, .node = call.node};
  try {
    return call_value(t, call.positional.at(0), iteration);
  } catch (const Diverged&) {
    return std::nullopt;
  }
}

Value primitive_dtypes_of_lane(Tracer& t, Call& call) {
  const Checkpoint before = checkpoint(t);
  nb::object found;
  bool has_arrays = false;
  if (const std::optional<Value> given = tried_iteration(t, call)) found = dtypes_in(t, *given, has_arrays);
  go_back(t, before);
  if (!found.is_valid()) return Tuple{.members = {Static{nb::bool_(false)}, Static{nb::none()}}};
  return Tuple{.members = {Static{nb::bool_(!has_arrays)}, structure_of(t, found)}};
}

namespace {

/// The extreme of two numbers that a branch between them chooses.
std::optional<Op> chosen_extreme(const ir::Function& f, NodeId value, std::span<const NodeId> numbers) {
  const bool several = f.op(value) == Op::result;
  const NodeId branch = several ? f.operand(value, 0) : value;
  const auto which = static_cast<size_t>(several ? f.attribute(value, 0) : 0);
  if (f.op(branch) != Op::if_) return std::nullopt;
  const NodeId condition = f.operand(branch, 0);
  const Op op = f.op(condition);
  const bool is_above = op == Op::greater || op == Op::greater_equal;
  if (!is_above && op != Op::less && op != Op::less_equal) return std::nullopt;
  const auto compared = f.operands(condition);
  if (!std::ranges::is_permutation(compared, numbers)) return std::nullopt;
  const auto chosen = [&](size_t arm) { return f.operand(f.terminator(f.region(branch, arm)), which); };
  const bool is_first = chosen(0) == compared[0] && chosen(1) == compared[1];
  if (!is_first && (chosen(0) != compared[1] || chosen(1) != compared[0])) return std::nullopt;
  return is_above == is_first ? Op::maximum : Op::minimum;
}

/// The commutative op that a value is of two numbers, if all that has been done since in the region is this.
std::optional<Op> combiner_of(Tracer& t, const Value& value, std::span<const NodeId> numbers,
                              const State& before) {
  const ir::Function& f = t.builder->function();
  const std::optional<Kind> kind = number_kind(value);
  if (!kind || known_of(value).is_valid()) return std::nullopt;
  const NodeId made = stage(t, value, *kind);
  if (f.type(made) != f.type(numbers[0])) return std::nullopt;
  const auto is_pure = [&](NodeId node) { return ir::effects_of(f, node).pure(); };
  if (!std::ranges::all_of(f.region_body(f[numbers[0]].parent), is_pure)) return std::nullopt;
  for (const auto& [number, object] : before.heap)
    if (!std::ranges::equal(object.values, t.state.heap.at(number).values,
                            [](const Value& a, const Value& b) { return same(a, b); }))
      return std::nullopt;
  const ir::OpInfo& card = ir::info(f.op(made));
  if (!card.elementwise || card.operands != 2) return chosen_extreme(f, made, numbers);
  const bool is_of_both = std::ranges::is_permutation(f.operands(made), numbers);
  return is_of_both && card.laws.commutative && card.laws.associative ? std::optional(f.op(made))
                                                                      : std::nullopt;
}

/// The ufunc that a function is by its code alone; None: none, or a value that has none.
nb::object ufunc_by_code(const Value& function) {
  const nb::object rules = imported("ingot._code.combiners");
  if (const nb::object node = kind_of_value(function).definition(function); node.is_valid())
    return rules.attr("ufunc_of_node")(node);
  const nb::object known = known_of(function);
  return known.is_valid() ? nb::object(rules.attr("ufunc_of")(known)) : nb::object(nb::none());
}

/// What a function of two numbers does with them, in a region that is left and forgotten.
std::optional<Op> tried_combiner(Tracer& t, const Value& function, DType dtype, const Call& call) {
  const NodeId zero = t.builder->cast(t.builder->index(0), dtype);
  const std::vector<NodeId> operands{t.builder->index(1), zero, zero};
  const std::vector<ir::Type> types{ir::kInt64, ir::Type::scalar(dtype), ir::Type::scalar(dtype)};
  const int64_t schedule[] = {static_cast<int64_t>(ir::Schedule::Serial), 0};
  const std::vector<NodeId> parameters =
      t.builder->enter(t.builder->begin(Op::for_, operands, schedule), 0, types);
  const std::span<const NodeId> numbers = std::span(parameters).subspan(1);
  Call trial{.positional = {Scalar{Kind(dtype), numbers[0]}, Scalar{Kind(dtype), numbers[1]}},
             .name = call.name,
             .node = call.node};
  const State state = t.state;
  return combiner_of(t, call_value(t, function, trial), numbers, state);
}

}  // namespace

Value primitive_combiner_of(Tracer& t, Call& call) {
  const DType dtype = dtype_argument(t, call, 1, DType::Float64);
  const bool is_float = dtype == DType::Float64 || dtype == DType::Float32;
  const Checkpoint before = checkpoint(t);
  const auto grown = t.facts.grown;
  nb::object ufunc = nb::none();
  std::optional<Op> found;
  try {
    Call asked{.positional = {}, .name = call.name, .node = call.node};
    const Value function = call_value(t, call.positional.at(0), asked);
    if (is_float) ufunc = ufunc_by_code(function);
    if (ufunc.is_none()) found = tried_combiner(t, function, dtype, call);
  } catch (const Diverged&) {
  } catch (const base::Unsupported&) {  // the call itself is refused where it has to be
    t.facts.grown = grown;
  }
  go_back(t, before);
  if (found && !(is_float && (*found == Op::add || *found == Op::multiply)))
    ufunc = imported("numpy").attr(std::string(ir::info(*found).numpy[0]).c_str());
  return Static{ufunc};
}

}  // namespace ingot::frontend
