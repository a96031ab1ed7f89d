#include "frontend/arrays/primitives.h"

#include "base/random.h"
#include "frontend/arrays/arguments.h"
#include "frontend/arrays/arrays.h"
#include "frontend/arrays/numpy.h"
#include "frontend/arrays/operators.h"
#include "frontend/arrays/scalars.h"
#include "frontend/arrays/ufuncs.h"
#include "frontend/kinds/fields.h"
#include "frontend/kinds/numbers.h"
#include "frontend/kinds/parameters.h"
#include "frontend/tracer/builtins.h"
#include "frontend/tracer/evaluate.h"
#include "frontend/tracer/python_objects.h"
#include "ir/evaluate.h"

// The primitives of `ingot.library` (its `primitives` define each in terms of NumPy), and functions that
// depend on dtypes only.

namespace ingot::frontend {

using ir::Op;

namespace {

nb::object numpy(const char* name) { return imported("numpy").attr(name); }

nb::object dtype_object(DType dtype) { return numpy("dtype")(std::string(base::info(dtype).numpy)); }

/// Whether a `try` may catch what a method of a host function raises. What others raise leaves the call.
bool may_raise(const nb::object& method) {
  const nb::object host = attribute_or(method, "__self__", nb::none());
  return !attribute_or(host, "raises", nb::bool_(true)).is(nb::bool_(false));
}

}  // namespace

const Array& array_argument(Tracer& t, Call& call, size_t position) {
  Value& value = call.positional.at(position);
  if (value.is<Structured>())
    unsupported(t, call.node, "records where derivatives or mapped functions take arrays",
                "pass their fields");
  if (!value.is<Array>()) throw base::InternalError("`" + call.name + "` of the library wants an array");
  return *value.as<Array>();
}

std::vector<NodeId> numbers_argument(Tracer& t, Call& call, size_t position) {
  std::vector<NodeId> numbers;
  const std::vector<Value> parts = parts_of(call.positional.at(position));
  need_rank(t, parts.size());
  for (const Value& part : parts) numbers.push_back(stage_index(t, part));
  return numbers;
}

namespace {

std::vector<int64_t> axes_argument(Tracer& t, Call& call, size_t position) {
  std::vector<int64_t> axes;
  for (const nb::handle axis : require_static(t, call.positional.at(position), "an axis", call.node))
    axes.push_back(nb::cast<int64_t>(axis));
  return axes;
}

/// An axis; none: it is None.
std::optional<int64_t> axis_argument(Tracer& t, Call& call, size_t position) {
  const nb::object axis = require_static(t, call.positional.at(position), "an axis", call.node);
  if (axis.is_none()) return std::nullopt;
  return nb::cast<int64_t>(axis);
}

Op combiner_argument(Tracer& t, Call& call) {
  const Builtin* builtin = t.registry.find(require_static(t, call.positional.at(0), "a ufunc", call.node));
  if (builtin == nullptr || !builtin->op) throw base::InternalError("the library combines by no ufunc");
  return *builtin->op;
}

}  // namespace

Value primitive_transpose(Tracer& t, Call& call) {
  const Array x = named(t, array_argument(t, call, 0));
  const std::vector<int64_t> axes = axes_argument(t, call, 1);
  return viewing(t, transposed(t, x.node, axes), x.access);
}

NodeId is_contiguous(Tracer& t, NodeId view) {
  const ir::Type type = t.builder->function().type(view);
  NodeId contiguous = t.builder->constant(true);
  NodeId stride = t.builder->index(static_cast<int64_t>(base::size_of(type.dtype())));
  for (int axis = type.rank() - 1; axis >= 0; --axis) {
    const NodeId length = t.builder->length(view, axis);
    const NodeId is_short = t.builder->make(Op::less_equal, {length, t.builder->index(1)});
    const NodeId fits = t.builder->make(Op::equal, {t.builder->make(Op::stride, {view}, {axis}), stride});
    contiguous = both(t, contiguous, t.builder->make(Op::bitwise_or, {is_short, fits}));
    stride = t.builder->make(Op::multiply, {stride, length});
  }
  const NodeId is_empty = t.builder->make(Op::equal, {size_of(t, view), t.builder->index(0)});
  return t.builder->make(Op::bitwise_or, {contiguous, is_empty});
}

Value primitive_is_contiguous(Tracer& t, Call& call) {
  return as_bool(t, is_contiguous(t, named(t, array_argument(t, call, 0)).node));
}

namespace {

Value rearranged(Tracer& t, Op op, Call& call, Access access) {
  std::vector<NodeId> operands{named(t, array_argument(t, call, 0)).node};
  for (const NodeId length : numbers_argument(t, call, 1)) operands.push_back(length);
  return viewing(t, t.builder->make(op, operands), access);
}

}  // namespace

Value primitive_reshape(Tracer& t, Call& call) {
  return rearranged(t, Op::reshape, call, array_argument(t, call, 0).access);
}
Value primitive_broadcast(Tracer& t, Call& call) {
  return rearranged(t, Op::broadcast, call, Access::ReadOnly);
}

Value primitive_strided(Tracer& t, Call& call) {
  const Array x = named(t, array_argument(t, call, 0));
  const std::vector<NodeId> lengths = numbers_argument(t, call, 1);
  const std::vector<NodeId> strides = numbers_argument(t, call, 2);
  const Value* offset = argument(t, call, 3, "offset");
  const DType dtype = dtype_argument(t, call, 4, x.type.dtype());
  NodeId start = t.builder->make(Op::offset, {x.node});
  if (offset != nullptr) start = t.builder->make(Op::add, {start, stage_index(t, *offset)});
  std::vector<NodeId> operands{t.builder->make(Op::buffer, {x.node}), start};
  operands.insert(operands.end(), lengths.begin(), lengths.end());
  operands.insert(operands.end(), strides.begin(), strides.end());
  const ir::Type type = ir::Type::view(dtype, static_cast<int>(lengths.size()), x.type.space());
  return viewing(t, t.builder->make(Op::view, operands, {}, type), x.access);
}

Value primitive_concat(Tracer& t, Call& call) {
  std::vector<NodeId> arrays;
  for (const Value& array : elements_of(t, call.positional.at(0), call.node))
    arrays.push_back(whole(t, array));
  const int64_t attributes[] = {axis_argument(t, call, 1).value()};
  return from_node(t, t.builder->make(Op::concat, arrays, attributes));
}

Value primitive_on_device(Tracer& t, Call&) { return Static{nb::bool_(t.request.on_device)}; }

Value primitive_place(Tracer& t, Call& call) {
  const NodeId array = whole(t, array_argument(t, call, 0));
  const Op extreme = call.name == "argmax" ? Op::maximum : Op::minimum;
  return from_node(t,
                   t.builder->make(Op::arg_reduce, {array},
                                   {static_cast<int64_t>(extreme), axis_argument(t, call, 1).value_or(-1)}));
}

Value primitive_sort(Tracer& t, Call& call) {
  const NodeId array = whole(t, array_argument(t, call, 0));
  const bool stable = nb::cast<bool>(require_static(t, call.positional.at(2), "a kind of sort", call.node));
  return from_node(t,
                   t.builder->make(Op::sort, {array}, {axis_argument(t, call, 1).value(), stable ? 1 : 0}));
}

Value primitive_argsort(Tracer& t, Call& call) {
  const NodeId array = whole(t, array_argument(t, call, 0));
  const bool stable = nb::cast<bool>(require_static(t, call.positional.at(2), "a kind of sort", call.node));
  return from_node(
      t, t.builder->make(Op::argsort, {array}, {axis_argument(t, call, 1).value(), stable ? 1 : 0}));
}

/// Nothing else reads what is sorted, so not all of it has to be.
Value primitive_ranked(Tracer& t, Call& call) {
  const NodeId ranks = whole(t, array_argument(t, call, 2));
  const NodeId array = whole(t, array_argument(t, call, 0));
  const int64_t axis = axis_argument(t, call, 1).value();
  const NodeId sorted = t.builder->make(Op::sort, {array}, {axis, 0});
  const int64_t axes[] = {axis};
  return from_node(t, t.builder->make(Op::gather, std::array{sorted, ranks}, axes));
}

Value primitive_reduce(Tracer& t, Call& call) {
  const Op combiner = combiner_argument(t, call);
  std::vector<NodeId> operands{whole(t, array_argument(t, call, 1))};
  std::vector<int64_t> axes = axes_argument(t, call, 2);
  std::ranges::sort(axes);
  const Value* where = argument(t, call, 3, "where");
  if (where != nullptr && !is_none(*where)) operands.push_back(whole(t, *where));
  const ir::Function& f = t.builder->function();
  if (axes.empty() && operands.size() == 1) return from_node(t, operands[0]);
  if (axes.empty()) {
    const NodeId start =
        t.builder->constant(ir::Type::scalar(f.type(operands[0]).dtype()),
                            base::known(ir::identity_of(combiner, f.type(operands[0]).dtype())));
    operands.push_back(start);
    std::swap(operands[0], operands[1]);
    return from_node(t, t.builder->make(Op::select, operands));
  }
  if (!f.type(operands[0]).is_array())
    for (NodeId& operand : operands) operand = t.builder->make(Op::broadcast, {operand, t.builder->index(1)});
  return from_node(t, reduce(t, operands, combiner, axes));
}

Value primitive_scan(Tracer& t, Call& call) {
  const Op combiner = combiner_argument(t, call);
  const NodeId array = whole(t, array_argument(t, call, 1));
  return from_node(t, t.builder->make(Op::scan, {array},
                                      {static_cast<int64_t>(combiner), axis_argument(t, call, 2).value()}));
}

Value primitive_open_list(Tracer& t, Call& call) {
  const Value list = call.positional.at(0);
  if (list.is<List>()) {
    const uint32_t number = list.as<List>()->object;
    const HeapObject& object = t.state.heap.at(number);
    const bool is_own =
        object.argument < 0 && !object.given_away && !object.joined && object.conflict.empty();
    const std::optional<Value> form = is_own ? form_of_list(t, object) : std::nullopt;
    if (form && !form->is<Unbound>()) become_list_buffer(t, number, *form);
  }
  return Static{nb::none()};
}

Value primitive_is_known(Tracer& t, Call& call) {
  const Value& value = call.positional.at(0);
  return Static{nb::bool_(known_of(known_number(t, value)).is_valid())};
}

Value primitive_python_number(Tracer& t, Call& call) {
  const Value number = call.positional.at(0);
  Call conversion{.positional = {}, .name = "item", .node = call.node};
  return call_own_method(t, number, "item", conversion);
}

Value primitive_refuse(Tracer& t, Call& call) {
  const auto text = [&](size_t i) {
    return text_of(require_static(t, call.positional.at(i), "a reason", call.node));
  };
  unsupported(t, call.node, text(0), text(1));
}

Value primitive_elementwise(Tracer& t, Call& call) {
  return elementwise(t, base::known(ir::op_from_name(call.name)), call.positional, call.name, call.node);
}

Value primitive_gufunc(Tracer& t, Call& call) {
  const std::string routine = text_of(require_static(t, call.positional.at(0), "a routine", call.node));
  std::vector<NodeId> operands;
  for (const Value& value : elements_of(t, call.positional.at(1), call.node)) {
    const Array& input = *value.as<Array>();
    const ir::Function& f = t.builder->function();
    const NodeId lies_right = input.type.is_view() ? is_contiguous(t, input.node) : NodeId();
    const bool as_it_is = lies_right && f.is_constant(lies_right) && f.constant(lies_right).bits[0] != 0;
    NodeId array = as_it_is ? input.node : whole(t, value);
    if (f.type(array).is_scalar()) array = t.builder->make(Op::broadcast, {array});
    operands.push_back(as_it_is ? array : t.builder->make(Op::materialize, {array}));
  }
  for (const Value& value : elements_of(t, call.positional.at(2), call.node))
    operands.push_back(named(t, value).node);
  const Array failed = empty(t, std::array{t.builder->index(1)}, DType::Int64);
  operands.push_back(failed.node);
  t.builder->make(Op::library, operands, std::array<int64_t, 2>{t.module.text(routine).index, 0});
  const NodeId status = t.builder->make(Op::load, {failed.node, t.builder->index(0)});
  return as_bool(t, t.builder->make(Op::not_equal, {status, t.builder->index(0)}));
}

namespace {

nb::object generator_class() { return imported("numpy.random").attr("Generator"); }

}  // namespace

void need_same_draws(Tracer& t, const std::string& path, nb::handle node) {
  const std::string version = text_of(imported("numpy").attr("__version__"));
  const std::string own(base::version_of_draws());
  if (version == own || nb::cast<bool>(imported("ingot._routines.draws").attr("is_as_known")(path))) return;
  unsupported(t, node,
              "`np.random." + path + "` of NumPy " + version +
                  ", which gives other numbers than that of NumPy " + own + ", with which Ingot was built,",
              "build Ingot with the NumPy that it is to run with");
}

namespace {

/// The words of a random stream: of a Generator or RandomState, those of a legacy routine or the others.
NodeId words_of_stream(Tracer& t, const Value& stream, bool legacy) {
  return named(t, t.state.heap.at(object_of(stream)).values.at(legacy ? 1 : 0)).node;
}

}  // namespace

Value primitive_draw(Tracer& t, Call& call) {
  const std::string name = text_of(require_static(t, call.positional.at(0), "a routine", call.node));
  const base::DrawInfo& info = *base::find_draw(name);
  std::vector<NodeId> operands{words_of_stream(t, call.positional.at(1), info.is_legacy)};
  for (size_t i = 0; i < info.parameter_count; ++i) {
    const Value& value = call.positional.at(2 + i);
    operands.push_back(info.parameter_types[i].is_array
                           ? named(t, value).node
                           : stage(t, value, Kind(info.parameter_types[i].dtype)));
  }
  const int64_t attributes[] = {t.module.text(name).index};
  const ir::Type type = info.result ? ir::Type::scalar(info.result->dtype) : ir::Type();
  const NodeId drawn = t.builder->make(Op::draw, operands, attributes, type);
  if (!info.result) return Static{nb::none()};
  const Kind kind = info.result->dtype == DType::Float64 ? Kind::py_float()
                    : info.result->dtype == DType::Int64 ? Kind::py_int()
                                                         : Kind(info.result->dtype);
  return Scalar{kind, drawn};
}

Value primitive_need_writable(Tracer& t, Call& call) {
  const std::string message = text_of(require_static(t, call.positional.at(1), "a message", call.node));
  need_writable(t, named(t, array_argument(t, call, 0)), message.c_str(), call.node);
  return Static{nb::none()};
}

Value primitive_need_size(Tracer& t, Call& call) {
  check_size(t, numbers_argument(t, call, 0), dtype_argument(t, call, 1, DType::Float64));
  return Static{nb::none()};
}

Value primitive_new_stream(Tracer& t, Call& call) {
  constexpr int64_t kWords = 12;
  const int64_t kind = static_int(call.positional.at(1)).value();
  const std::vector<NodeId> operands{whole(t, call.positional.at(0)), t.builder->index(kind),
                                     t.builder->index(kWords)};
  const NodeId words =
      t.builder->make(Op::library, operands, std::array<int64_t, 2>{t.module.text("default_rng").index, 0},
                      ir::Type::array(DType::UInt64, 1));
  HeapObject stream{.type = HeapObject::Type::Object, .values = {}, .keys = {}};
  stream.type_of = generator_class();
  stream.values.emplace_back(named(t, from_node(t, words)));
  stream.keys.emplace_back(nb::str("words"));
  const uint32_t id = t.facts.next_object++;
  t.state.heap.emplace(id, std::move(stream));
  call.positional = {Static{nb::str("settle_pcg64")}, Object{id}};
  primitive_draw(t, call);
  return Object{id};
}

Value primitive_reseed(Tracer& t, Call& call) {
  const HeapObject& stream = t.state.heap.at(object_of(call.positional.at(0)));
  Outward outward;
  nb::list given;
  given.append(Description{described::Argument{stream.argument}});
  given.append(describe_result(t, call.positional.at(1), outward));
  const nb::object seed = imported("numpy.random").attr("RandomState").attr("seed");
  t.hosts.push_back({seed, nb::make_tuple(nb::tuple(given), nb::dict())});
  const int64_t attributes[] = {static_cast<int64_t>(t.hosts.size() - 1), t.module.text("seed").index};
  t.builder->make(Op::host, outward.leaves, attributes);
  return Static{nb::none()};
}

Value primitive_call_host(Tracer& t, Call& call) {
  Outward outward;
  nb::list given;
  given.append(describe_result(t, call.positional.at(1), outward));
  for (const Value& value : elements_of(t, call.positional.at(2), call.node)) {
    const std::function<bool(const Value&)> is_plain = [&](const Value& part) {
      if (part.is<Tuple>()) return std::ranges::all_of(parts_of(part), is_plain);
      return kind_of(part) || known_of(part).is_valid() || part.is<String>();
    };
    if (!is_plain(value))
      unsupported(t, call.node, "a " + type_name(t, value) + " as an argument of a host function",
                  "pass numbers, arrays, strings, or tuples of them");
    given.append(describe_result(t, value, outward));
  }
  const nb::object function = require_static(t, call.positional.at(0), "a function", call.node);
  const auto catches_some = [](const Catcher* handler) {
    return !handler->stores && handler->catches_some();
  };
  Parameters(t).store_copies();  // which the function may see
  if (may_raise(function) && std::ranges::any_of(t.handlers, catches_some))
    unsupported(t, call.node, "a call of a host function inside a `try`",
                "put the `try` into the host function");
  t.hosts.push_back({function, nb::make_tuple(nb::tuple(given), nb::dict())});
  const int64_t attributes[] = {static_cast<int64_t>(t.hosts.size() - 1), t.module.text("call").index};
  t.builder->make(Op::host, outward.leaves, attributes);
  return Static{nb::none()};
}

nb::object host_function(const nb::object& function) {
  if (is_plain(function)) return {};
  const nb::object found = imported("ingot._host").attr("of")(function);
  return found.is_none() ? nb::object() : found;
}

Value call_host_function(Tracer& t, const nb::object& function, const Call& call) {
  if (!call.keywords.empty())
    unsupported(t, call.node, "a keyword of a host function", "pass the argument by its place");
  const nb::object form = function.attr("form");
  std::vector<Value> arguments{Static{attribute(function, "fill")}, Tuple{call.positional}};
  for (size_t i = 1; i < nb::len(form); ++i) arguments.emplace_back(Static{nb::object(form[i])});
  return call_library(t, "host", text_of(form[nb::int_(0)]).c_str(), std::move(arguments), call.node);
}

Value primitive_put(Tracer& t, Call& call) {
  const Array out = named(t, array_argument(t, call, 0));
  const std::string ufunc = text_of(require_static(t, call.positional.at(3), "a name", call.node));
  const Value* where = &call.positional.at(2);
  if (static_truth(t, *where) == true) where = nullptr;
  need_writable(t, out, "output array is read-only", call.node);
  put_out(t, out, ufunc, [&] { return call.positional.at(1); }, where);
  return call.positional.at(0);
}

/// `np.result_type` of arrays, numbers and dtypes.
Value np_result_type(Tracer& t, Call& call) {
  finish(t, call, call.positional.size());
  nb::list weak_and_strong;
  for (const Value& value : call.positional) {
    const std::optional<Kind> kind = kind_of(value);
    if (!kind) weak_and_strong.append(require_static(t, value, "a dtype", call.node));
    else if (kind->is_python()) weak_and_strong.append(stand_in(t, value));
    else weak_and_strong.append(dtype_object(kind->dtype()));
  }
  return by_python(t, [&] { return Static{numpy(call.name.c_str())(*nb::tuple(weak_and_strong))}; });
}

/// Functions of NumPy that depend on types only.
Value np_of_types(Tracer& t, Call& call) {
  nb::list given;
  for (const Value& value : call.positional) given.append(Fields(t).spelled(value, call.node));
  nb::dict named;
  for (const auto& [name, value] : call.keywords) named[name.c_str()] = Fields(t).spelled(value, call.node);
  return by_python(t, [&] { return Static{call.function(*nb::tuple(given), **named)}; });
}

}  // namespace ingot::frontend
