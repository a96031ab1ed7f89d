#include "base/random.h"
#include "frontend/kinds/fields.h"
#include "frontend/kinds/numbers.h"
#include "frontend/parameters.h"
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

const Array& Evaluator::array_argument(Call& call, size_t position) {
  Value& value = call.positional.at(position);
  if (value.is<Structured>())
    unsupported(call.node, "records where derivatives or mapped functions take arrays", "pass their fields");
  if (!value.is<Array>()) throw base::InternalError("`" + call.name + "` of the library wants an array");
  return *value.as<Array>();
}

std::vector<NodeId> Evaluator::numbers_argument(Call& call, size_t position) {
  std::vector<NodeId> numbers;
  const std::vector<Value> parts = parts_of(call.positional.at(position));
  need_rank(parts.size());
  for (const Value& part : parts) numbers.push_back(stage_index(part));
  return numbers;
}

std::vector<int64_t> Evaluator::axes_argument(Call& call, size_t position) {
  std::vector<int64_t> axes;
  for (const nb::handle axis : require_static(call.positional.at(position), "an axis", call.node))
    axes.push_back(nb::cast<int64_t>(axis));
  return axes;
}

std::optional<int64_t> Evaluator::axis_argument(Call& call, size_t position) {
  const nb::object axis = require_static(call.positional.at(position), "an axis", call.node);
  if (axis.is_none()) return std::nullopt;
  return nb::cast<int64_t>(axis);
}

Op Evaluator::combiner_argument(Call& call) {
  const Builtin* builtin = registry_.find(require_static(call.positional.at(0), "a ufunc", call.node));
  if (builtin == nullptr || !builtin->op) throw base::InternalError("the library combines by no ufunc");
  return *builtin->op;
}

Value Evaluator::primitive_transpose(Call& call) {
  const Array x = named(array_argument(call, 0));
  const std::vector<int64_t> axes = axes_argument(call, 1);
  return viewing(transposed(x.node, axes), x.access);
}

NodeId Evaluator::is_contiguous(NodeId view) {
  const ir::Type type = builder_->function().type(view);
  NodeId contiguous = builder_->constant(true);
  NodeId stride = builder_->index(static_cast<int64_t>(base::size_of(type.dtype())));
  for (int axis = type.rank() - 1; axis >= 0; --axis) {
    const NodeId length = builder_->length(view, axis);
    const NodeId is_short = builder_->make(Op::less_equal, {length, builder_->index(1)});
    const NodeId fits = builder_->make(Op::equal, {builder_->make(Op::stride, {view}, {axis}), stride});
    contiguous = both(contiguous, builder_->make(Op::bitwise_or, {is_short, fits}));
    stride = builder_->make(Op::multiply, {stride, length});
  }
  const NodeId is_empty = builder_->make(Op::equal, {size_of(view), builder_->index(0)});
  return builder_->make(Op::bitwise_or, {contiguous, is_empty});
}

Value Evaluator::primitive_is_contiguous(Call& call) {
  return as_bool(is_contiguous(named(array_argument(call, 0)).node));
}

Value Evaluator::rearranged(Op op, Call& call, Access access) {
  std::vector<NodeId> operands{named(array_argument(call, 0)).node};
  for (const NodeId length : numbers_argument(call, 1)) operands.push_back(length);
  return viewing(builder_->make(op, operands), access);
}

Value Evaluator::primitive_reshape(Call& call) {
  return rearranged(Op::reshape, call, array_argument(call, 0).access);
}
Value Evaluator::primitive_broadcast(Call& call) { return rearranged(Op::broadcast, call, Access::ReadOnly); }

Value Evaluator::primitive_strided(Call& call) {
  const Array x = named(array_argument(call, 0));
  const std::vector<NodeId> lengths = numbers_argument(call, 1);
  const std::vector<NodeId> strides = numbers_argument(call, 2);
  const Value* offset = argument(call, 3, "offset");
  const DType dtype = dtype_argument(call, 4, x.type.dtype());
  NodeId start = builder_->make(Op::offset, {x.node});
  if (offset != nullptr) start = builder_->make(Op::add, {start, stage_index(*offset)});
  std::vector<NodeId> operands{builder_->make(Op::buffer, {x.node}), start};
  operands.insert(operands.end(), lengths.begin(), lengths.end());
  operands.insert(operands.end(), strides.begin(), strides.end());
  const ir::Type type = ir::Type::view(dtype, static_cast<int>(lengths.size()), x.type.space());
  return viewing(builder_->make(Op::view, operands, {}, type), x.access);
}

Value Evaluator::primitive_concat(Call& call) {
  std::vector<NodeId> arrays;
  for (const Value& array : elements_of(call.positional.at(0), call.node)) arrays.push_back(whole(array));
  const int64_t attributes[] = {axis_argument(call, 1).value()};
  return from_node(builder_->make(Op::concat, arrays, attributes));
}

Value Evaluator::primitive_place(Call& call) {
  const NodeId array = whole(array_argument(call, 0));
  const Op extreme = call.name == "argmax" ? Op::maximum : Op::minimum;
  return from_node(builder_->make(Op::arg_reduce, {array},
                                  {static_cast<int64_t>(extreme), axis_argument(call, 1).value_or(-1)}));
}

Value Evaluator::primitive_sort(Call& call) {
  const NodeId array = whole(array_argument(call, 0));
  const bool stable = nb::cast<bool>(require_static(call.positional.at(2), "a kind of sort", call.node));
  return from_node(builder_->make(Op::sort, {array}, {axis_argument(call, 1).value(), stable ? 1 : 0}));
}

Value Evaluator::primitive_argsort(Call& call) {
  const NodeId array = whole(array_argument(call, 0));
  const bool stable = nb::cast<bool>(require_static(call.positional.at(2), "a kind of sort", call.node));
  return from_node(builder_->make(Op::argsort, {array}, {axis_argument(call, 1).value(), stable ? 1 : 0}));
}

Value Evaluator::primitive_reduce(Call& call) {
  const Op combiner = combiner_argument(call);
  std::vector<NodeId> operands{whole(array_argument(call, 1))};
  std::vector<int64_t> axes = axes_argument(call, 2);
  std::ranges::sort(axes);
  const Value* where = argument(call, 3, "where");
  if (where != nullptr && !is_none(*where)) operands.push_back(whole(*where));
  const ir::Function& f = builder_->function();
  if (axes.empty() && operands.size() == 1) return from_node(operands[0]);
  if (axes.empty()) {
    const NodeId start =
        builder_->constant(ir::Type::scalar(f.type(operands[0]).dtype()),
                           base::known(ir::identity_of(combiner, f.type(operands[0]).dtype())));
    operands.push_back(start);
    std::swap(operands[0], operands[1]);
    return from_node(builder_->make(Op::select, operands));
  }
  if (!f.type(operands[0]).is_array())
    for (NodeId& operand : operands) operand = builder_->make(Op::broadcast, {operand, builder_->index(1)});
  return from_node(reduce(operands, combiner, axes));
}

Value Evaluator::primitive_scan(Call& call) {
  const Op combiner = combiner_argument(call);
  const NodeId array = whole(array_argument(call, 1));
  return from_node(
      builder_->make(Op::scan, {array}, {static_cast<int64_t>(combiner), axis_argument(call, 2).value()}));
}

Value Evaluator::primitive_open_list(Call& call) {
  const Value list = call.positional.at(0);
  if (is_list(list)) {
    const uint32_t number = list.as<Reference>()->object;
    const HeapObject& object = state_.heap.at(number);
    const bool is_own = object.argument < 0 && !object.given_away && object.conflict.empty();
    const std::optional<Value> form = is_own ? form_of_list(object) : std::nullopt;
    if (form && !form->is<Unbound>()) become_list_buffer(number, *form);
  }
  return Static{nb::none()};
}

Value Evaluator::primitive_is_known(Call& call) {
  const Value& value = call.positional.at(0);
  return Static{nb::bool_(known_number(value).is<Static>())};
}

Value Evaluator::primitive_python_number(Call& call) {
  const Value number = call.positional.at(0);
  Call conversion{.positional = {}, .keywords = {}, .name = "item", .node = call.node};
  return call_own_method(*this, number, "item", conversion);
}

Value Evaluator::primitive_refuse(Call& call) {
  const auto text = [&](size_t i) {
    return text_of(require_static(call.positional.at(i), "a reason", call.node));
  };
  unsupported(call.node, text(0), text(1));
}

Value Evaluator::primitive_elementwise(Call& call) {
  return elementwise(base::known(ir::op_from_name(call.name)), call.positional, call.name, call.node);
}

Value Evaluator::primitive_gufunc(Call& call) {
  const std::string routine = text_of(require_static(call.positional.at(0), "a routine", call.node));
  std::vector<NodeId> operands;
  for (const Value& value : elements_of(call.positional.at(1), call.node)) {
    const Array& input = *value.as<Array>();
    const ir::Function& f = builder_->function();
    const NodeId lies_right = input.type.is_view() ? is_contiguous(input.node) : NodeId();
    const bool as_it_is = lies_right && f.is_constant(lies_right) && f.constant(lies_right).bits[0] != 0;
    NodeId array = as_it_is ? input.node : whole(value);
    if (f.type(array).is_scalar()) array = builder_->make(Op::broadcast, {array});
    operands.push_back(as_it_is ? array : builder_->make(Op::materialize, {array}));
  }
  for (const Value& value : elements_of(call.positional.at(2), call.node))
    operands.push_back(named(value).node);
  const Array failed = empty(std::array{builder_->index(1)}, DType::Int64);
  operands.push_back(failed.node);
  builder_->make(Op::library, operands, std::array<int64_t, 2>{module_.text(routine).index, 0});
  const NodeId status = builder_->make(Op::load, {failed.node, builder_->index(0)});
  return as_bool(builder_->make(Op::not_equal, {status, builder_->index(0)}));
}

namespace {

nb::object generator_class() { return imported("numpy.random").attr("Generator"); }

}  // namespace

void Evaluator::need_same_draws(const std::string& path, nb::handle node) {
  const std::string version = text_of(imported("numpy").attr("__version__"));
  const std::string own(base::version_of_draws());
  if (version == own || nb::cast<bool>(imported("ingot._routines.draws").attr("is_as_known")(path))) return;
  unsupported(node,
              "`np.random." + path + "` of NumPy " + version +
                  ", which gives other numbers than that of NumPy " + own + ", with which Ingot was built,",
              "build Ingot with the NumPy that it is to run with");
}

/// The words of a random stream: of a Generator or RandomState, those of a legacy routine or the others.
NodeId Evaluator::words_of_stream(const Value& stream, bool legacy) {
  return named(state_.heap.at(stream.as<Object>()->object).values.at(legacy ? 1 : 0)).node;
}

Value Evaluator::primitive_draw(Call& call) {
  const std::string name = text_of(require_static(call.positional.at(0), "a routine", call.node));
  const base::DrawInfo& info = *base::find_draw(name);
  std::vector<NodeId> operands{words_of_stream(call.positional.at(1), info.is_legacy)};
  for (size_t i = 0; i < info.parameter_count; ++i) {
    const Value& value = call.positional.at(2 + i);
    operands.push_back(info.parameter_types[i].is_array ? named(value).node
                                                        : stage(value, Kind(info.parameter_types[i].dtype)));
  }
  const int64_t attributes[] = {module_.text(name).index};
  const ir::Type type = info.result ? ir::Type::scalar(info.result->dtype) : ir::Type();
  const NodeId drawn = builder_->make(Op::draw, operands, attributes, type);
  if (!info.result) return Static{nb::none()};
  const Kind kind = info.result->dtype == DType::Float64 ? Kind::py_float()
                    : info.result->dtype == DType::Int64 ? Kind::py_int()
                                                         : Kind(info.result->dtype);
  return Scalar{kind, drawn};
}

Value Evaluator::primitive_need_writable(Call& call) {
  const std::string message = text_of(require_static(call.positional.at(1), "a message", call.node));
  need_writable(named(array_argument(call, 0)), message.c_str(), call.node);
  return Static{nb::none()};
}

Value Evaluator::primitive_need_size(Call& call) {
  check_size(numbers_argument(call, 0), dtype_argument(call, 1, DType::Float64));
  return Static{nb::none()};
}

Value Evaluator::primitive_new_stream(Call& call) {
  constexpr int64_t kWords = 12;
  const int64_t kind = static_int(call.positional.at(1)).value();
  const std::vector<NodeId> operands{whole(call.positional.at(0)), builder_->index(kind),
                                     builder_->index(kWords)};
  const NodeId words =
      builder_->make(Op::library, operands, std::array<int64_t, 2>{module_.text("default_rng").index, 0},
                     ir::Type::array(DType::UInt64, 1));
  HeapObject stream{.type = HeapObject::Type::Object, .values = {}, .keys = {}};
  stream.type_of = generator_class();
  stream.values.emplace_back(named(from_node(words)));
  stream.keys.emplace_back(nb::str("words"));
  const uint32_t id = next_object_++;
  state_.heap.emplace(id, std::move(stream));
  call.positional = {Static{nb::str("settle_pcg64")}, Object{id}};
  primitive_draw(call);
  return Object{id};
}

Value Evaluator::primitive_reseed(Call& call) {
  const HeapObject& stream = state_.heap.at(call.positional.at(0).as<Object>()->object);
  Outward outward;
  nb::list given;
  given.append(Description{described::Argument{stream.argument}});
  given.append(describe_result(call.positional.at(1), outward));
  const nb::object seed = imported("numpy.random").attr("RandomState").attr("seed");
  hosts_.push_back({seed, nb::make_tuple(nb::tuple(given), nb::dict())});
  const int64_t attributes[] = {static_cast<int64_t>(hosts_.size() - 1), module_.text("seed").index};
  builder_->make(Op::host, outward.leaves, attributes);
  return Static{nb::none()};
}

Value Evaluator::primitive_call_host(Call& call) {
  Outward outward;
  nb::list given;
  given.append(describe_result(call.positional.at(1), outward));
  for (const Value& value : elements_of(call.positional.at(2), call.node)) {
    const std::function<bool(const Value&)> is_plain = [&](const Value& part) {
      if (part.is<Tuple>()) return std::ranges::all_of(parts_of(part), is_plain);
      return part.is<Scalar>() || part.is<Static>() || part.is<Array>() || part.is<String>();
    };
    if (!is_plain(value))
      unsupported(call.node, "a " + type_name(value) + " as an argument of a host function",
                  "pass numbers, arrays, strings, or tuples of them");
    given.append(describe_result(value, outward));
  }
  const nb::object function = require_static(call.positional.at(0), "a function", call.node);
  const auto catches_some = [](const Catcher* handler) {
    return !handler->stores && handler->catches_some();
  };
  Parameters(*this).store_copies();  // which the function may see
  if (may_raise(function) && std::ranges::any_of(handlers_, catches_some))
    unsupported(call.node, "a call of a host function inside a `try`",
                "put the `try` into the host function");
  hosts_.push_back({function, nb::make_tuple(nb::tuple(given), nb::dict())});
  const int64_t attributes[] = {static_cast<int64_t>(hosts_.size() - 1), module_.text("call").index};
  builder_->make(Op::host, outward.leaves, attributes);
  return Static{nb::none()};
}

nb::object Evaluator::host_function(const nb::object& function) {
  if (is_plain(function)) return {};
  const nb::object found = imported("ingot._host").attr("of")(function);
  return found.is_none() ? nb::object() : found;
}

Value Evaluator::call_host_function(const nb::object& function, const Call& call) {
  if (!call.keywords.empty())
    unsupported(call.node, "a keyword of a host function", "pass the argument by its place");
  const nb::object form = function.attr("form");
  std::vector<Value> arguments{Static{attribute(function, "fill")}, Tuple{call.positional}};
  for (size_t i = 1; i < nb::len(form); ++i) arguments.emplace_back(Static{nb::object(form[i])});
  Call inner{.positional = std::move(arguments), .keywords = {}, .name = "call", .node = call.node};
  return inline_function(attribute(imported("ingot.library.host"), text_of(form[nb::int_(0)]).c_str()),
                         inner);
}

Value Evaluator::primitive_put(Call& call) {
  const Array out = named(array_argument(call, 0));
  const std::string ufunc = text_of(require_static(call.positional.at(3), "a name", call.node));
  const Value* where = &call.positional.at(2);
  if (static_truth(*where) == true) where = nullptr;
  need_writable(out, "output array is read-only", call.node);
  put_out(out, ufunc, [&] { return call.positional.at(1); }, where);
  return call.positional.at(0);
}

/// `np.result_type` of arrays, numbers and dtypes.
Value Evaluator::np_result_type(Call& call) {
  finish(call, call.positional.size());
  nb::list weak_and_strong;
  for (const Value& value : call.positional) {
    const std::optional<Kind> kind = kind_of(value);
    if (!kind) weak_and_strong.append(require_static(value, "a dtype", call.node));
    else if (kind->is_python()) weak_and_strong.append(stand_in(value));
    else weak_and_strong.append(dtype_object(kind->dtype()));
  }
  return by_python(*this, [&] { return Static{numpy(call.name.c_str())(*nb::tuple(weak_and_strong))}; });
}

/// Functions of NumPy that depend on types only.
Value Evaluator::np_of_types(Call& call) {
  nb::list given;
  for (const Value& value : call.positional) given.append(Fields(*this).spelled(value, call.node));
  nb::dict named;
  for (const auto& [name, value] : call.keywords)
    named[name.c_str()] = Fields(*this).spelled(value, call.node);
  return by_python(*this, [&] { return Static{call.function(*nb::tuple(given), **named)}; });
}

}  // namespace ingot::frontend
