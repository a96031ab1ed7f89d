#include "frontend/kernels/kernels.h"

#include "frontend/arrays/arguments.h"
#include "frontend/arrays/arrays.h"
#include "frontend/arrays/indexing.h"
#include "frontend/arrays/operators.h"
#include "frontend/arrays/primitives.h"
#include "frontend/arrays/scalars.h"
#include "frontend/kinds/objects.h"
#include "frontend/kinds/sequences.h"
#include "frontend/tracer/checkpoint.h"
#include "frontend/tracer/evaluate.h"
#include "frontend/tracer/python_objects.h"
#include "frontend/tracer/scopes.h"
#include "ir/uniformity.h"
#include "ir/walk.h"

namespace ingot::frontend {

using base::ExceptionKind;
using ir::Op;

namespace {

constexpr const char* kModule = "ingot.cuda";
constexpr int64_t kWarp = 32;

template <class Choice>
int64_t choice_of(std::string_view attribute, std::string_view name) {
  const auto names = ir::choices(attribute);
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) throw base::InternalError("the library names no " + std::string(attribute));
  return static_cast<int64_t>(static_cast<Choice>(found - names.begin()));
}
int64_t scope_of(std::string_view name) { return choice_of<ir::Scope>("scope", name); }

}  // namespace

std::string Kernels::text(Call& call, size_t position) {
  return text_of(require_static(t_, call.positional.at(position), "a name", call.node));
}

Launch& Kernels::around(nb::handle node, const std::string& name) {
  if (t_.facts.launch == nullptr || !t_.facts.launch->is_open)
    unsupported(t_, node, "`cuda." + name + "` outside of a kernel",
                "use it in a function of `cuda.jit`, or in one that such a function calls");
  if (t_.routine != t_.facts.launch->routine)
    unsupported(t_, node, "`cuda." + name + "` in a recursive function",
                "give the function what it needs as an argument");
  return *t_.facts.launch;
}

Launch& Kernels::around_call(nb::handle node, const std::string& name) {
  if (t_.facts.launch == nullptr || !t_.facts.launch->is_open)
    unsupported(t_, node, "a call of `" + name + "`, a device function, outside of a kernel",
                "call it in a function of `cuda.jit`, or in one that such a function calls");
  if (t_.routine != t_.facts.launch->routine)
    unsupported(t_, node, "a call of `" + name + "`, a function that is linked, in a recursive function",
                "call it in a loop");
  return *t_.facts.launch;
}

Value Kernels::triple(std::span<const NodeId> nodes, bool extents) {
  Tuple triple;
  for (size_t i = 0; i < 3; ++i) triple.members.emplace_back(Scalar{Kind::py_int(), nodes[i]});
  triple.type = imported(kModule).attr(extents ? "Dim3" : "Index3");
  return triple;
}

/// The number of the thread in its block.
Value Kernels::linear(const Launch& launch) {
  ir::Builder& b = *t_.builder;
  const auto thread = std::span(launch.parameters).subspan(3, 3);
  const auto block = std::span(launch.extents).subspan(3, 3);
  const NodeId row = b.make(Op::add, {b.make(Op::multiply, {thread[2], block[1]}), thread[1]});
  return Scalar{Kind::py_int(), b.make(Op::add, {b.make(Op::multiply, {row, block[0]}), thread[0]})};
}

std::optional<Value> Kernels::special(nb::handle object) {
  if (std::string_view(Py_TYPE(object.ptr())->tp_name) != "Special") return std::nullopt;
  const Builtin* builtin = t_.registry.find(object);
  if (builtin == nullptr || builtin->module != kModule) return std::nullopt;
  const Launch& launch = around(t_.here, builtin->name);
  const std::span<const NodeId> extents(launch.extents);
  const std::span<const NodeId> parameters(launch.parameters);
  if (builtin->name == "gridDim") return triple(extents.first(3), true);
  if (builtin->name == "blockDim") return triple(extents.subspan(3, 3), true);
  if (builtin->name == "blockIdx") return triple(parameters.first(3), false);
  if (builtin->name == "threadIdx") return triple(parameters.subspan(3, 3), false);
  ir::Builder& b = *t_.builder;
  const NodeId lane =
      b.make(Op::bitwise_and, {stage(t_, linear(launch), Kind::py_int()), b.index(kWarp - 1)});
  return Scalar{Kind::py_int(), lane};
}

Value Kernels::in_grid(size_t axis, bool extent) {
  const Launch& launch = *t_.facts.launch;
  ir::Builder& b = *t_.builder;
  const NodeId threads = launch.extents[3 + axis];
  if (extent) return Scalar{Kind::py_int(), b.make(Op::multiply, {launch.extents[axis], threads})};
  const NodeId before = b.make(Op::multiply, {launch.parameters[axis], threads});
  return Scalar{Kind::py_int(), b.make(Op::add, {before, launch.parameters[3 + axis]})};
}

void Kernels::launch(Call& call) {
  ir::Builder& b = *t_.builder;
  if (t_.facts.launch == nullptr) t_.facts.launch = std::make_unique<Launch>();
  Launch& launch = *t_.facts.launch;
  launch.extents = numbers_argument(t_, call, 0);
  const Value& asked = call.positional.at(1);
  launch.bytes = stage_index(t_, asked);
  // The requested memory is passed on even if the kernel does not use it: the request may be too large.
  if (!known_of(asked).is_valid()) launch.is_dynamic = true;
  launch.routine = t_.routine;
  launch.allocated.clear();
  launch.linked.clear();
  launch.has_found = false;
  std::vector<NodeId> operands = launch.extents;
  if (launch.is_dynamic) operands.push_back(launch.bytes);
  const NodeId node = b.begin(Op::launch, operands);
  std::vector<ir::Type> types(6, ir::kInt64);
  if (launch.is_dynamic) types.push_back(ir::Type::buffer(ir::Space::Shared));
  launch.parameters = b.enter(node, 0, types);
  const int64_t life[] = {static_cast<int64_t>(ir::Life::Call)};
  for (const auto& [at_index, bytes] : launch.shared) {
    const NodeId size = b.index(bytes);
    launch.allocated[at_index] = b.make(Op::alloc, {&size, 1}, life, ir::Type::buffer(ir::Space::Shared));
  }
  const State before = t_.state;
  Catcher border(t_, t_.frame);
  border.barrier = true;
  const Pushed<Catcher*> open(t_.handlers, &border);
  const Restored<bool> is_open(launch.is_open, true);
  Call iteration{
      .positional = elements_of(t_, call.positional.at(3), call.node), .name = call.name, .node = call.node};
  const ir::SpanId here = b.span();
  const nb::object kernel = require_static(t_, call.positional.at(2), "a kernel", call.node);
  const nb::object code = attribute(kernel, "__code__");
  const ir::SpanId own = t_.module.span({.file = t_.module.text(text_of(code.attr("co_filename"))),
                                         .line = nb::cast<uint32_t>(code.attr("co_firstlineno")),
                                         .function = t_.module.text(text_of(kernel.attr("__name__"))),
                                         .inlined_at = {}});
  b.set_span(own);
  launch.enters = true;
  try {
    const Value given = call_value(t_, call.positional.at(2), iteration);
    b.set_span(here);
    if (!is_none(given))
      refuse(own, "a kernel that returns a value", "write the value into an array that the kernel is given");
    b.yield({});
  } catch (const Diverged&) {
  }
  b.set_span(here);
  b.end(node);
  for (const auto& [id, object] : before.heap) {
    const auto now = t_.state.heap.find(id);
    const auto is_same = [](const Value& x, const Value& y) { return same(x, y); };
    if (now == t_.state.heap.end() || std::ranges::equal(object.values, now->second.values, is_same))
      continue;
    refuse(own, "a kernel that changes a list, dict or instance that it is given", "write into arrays");
  }
  t_.state = before;
}

void Kernels::settle() {
  if (t_.facts.launch != nullptr && std::exchange(t_.facts.launch->has_found, false))
    throw NeedsFact{.kind = NeedsFact::Kind::Routines};
}

NodeId Kernels::static_memory(int64_t bytes, ir::Space space, nb::handle node) {
  Launch& launch = *t_.facts.launch;
  if (space == ir::Space::Shared) {
    const std::string at_index = key_of(t_, node);
    int64_t& known = launch.shared[at_index];
    const auto found = launch.allocated.find(at_index);
    if (found != launch.allocated.end() && known >= bytes) return found->second;
    known = std::max(known, bytes);
    launch.has_found = true;
  }
  return t_.builder->make(Op::alloc, {t_.builder->index(bytes)}, {static_cast<int64_t>(ir::Life::Call)},
                          ir::Type::buffer(space));
}

NodeId Kernels::dynamic_memory() {
  Launch& launch = *t_.facts.launch;
  if (launch.is_dynamic && launch.parameters.size() > 6) return launch.parameters[6];
  launch.is_dynamic = launch.has_found = true;
  return t_.builder->make(Op::alloc, {launch.bytes}, {static_cast<int64_t>(ir::Life::Call)},
                          ir::Type::buffer(ir::Space::Shared));
}

/// A dtype, as NumPy or Ingot name it.
DType Kernels::type_argument(Call& call, size_t position) {
  const Value& given = call.positional.at(position);
  const nb::object type = known_of(given);
  if (!type.is_valid() || !is_type(type)) return dtype_of(t_, given, call.node);
  return dtype_of(t_, Static{meant_by(type)}, call.node);
}

Value Kernels::memory(Call& call, ir::Space space) {
  const std::string name = space == ir::Space::Shared ? "shared.array" : "local.array";
  const Launch& launch = around(call.node, name);
  ir::Builder& b = *t_.builder;
  const std::vector<Value> shape = parts_of_index(call.positional.at(0));
  const DType dtype = type_argument(call, 1);
  const auto size = static_cast<int64_t>(base::size_of(dtype));
  std::vector<int64_t> lengths;
  int64_t bytes = size;
  for (const Value& part : shape) {
    const std::optional<int64_t> length = static_int(part);
    if (!length) {
      const bool is_shared = space == ir::Space::Shared;
      unsupported(t_, call.node, "`cuda." + name + "` of a size that is not known when compiling",
                  is_shared ? "use a constant, or `cuda.shared.array(0, dtype)` with the bytes given at the "
                              "launch: `kernel[blocks, threads, 0, bytes]`"
                            : "use a constant");
    }
    const bool is_good = *length >= 0 && !__builtin_mul_overflow(bytes, *length, &bytes) && bytes < (1 << 30);
    if (!is_good) raise(t_, ExceptionKind::ValueError, "bad shape of `cuda." + name + "`");
    lengths.push_back(*length);
  }
  const bool is_dynamic = space == ir::Space::Shared && lengths.size() == 1 && lengths[0] == 0;
  std::vector<NodeId> operands{is_dynamic ? dynamic_memory() : static_memory(bytes, space, call.node),
                               b.index(0)};
  for (const int64_t length : lengths) {
    const NodeId known = b.index(length);
    operands.push_back(is_dynamic ? b.make(Op::floor_divide, {launch.bytes, b.index(size)}) : known);
  }
  for (size_t i = 0; i < lengths.size(); ++i) {
    int64_t stride = size;
    for (size_t k = i + 1; k < lengths.size(); ++k) stride *= lengths[k];
    operands.push_back(b.index(stride));
  }
  const ir::Type of = ir::Type::view(dtype, static_cast<int>(lengths.size()), space);
  return viewing(t_, b.make(Op::view, operands, {}, of), Access::Writable);
}

Array Kernels::accessed(Call& call, const std::string& name) {
  const Value& given = call.positional.at(1);
  if (!array_type_of(given))
    raise(t_, ExceptionKind::TypeError,
          "`cuda." + name + "` wants an array first, not '" + type_name(t_, given) + "'");
  const Array array = named(t_, given);
  const DType dtype = array.type.dtype();
  const bool is_hardwares = base::size_of(dtype) == 4 || base::size_of(dtype) == 8;
  if (!is_hardwares || base::is_complex(dtype)) {
    unsupported(t_, call.node, "`cuda." + name + "` of an array of " + std::string(base::info(dtype).numpy),
                "use an array of int32, uint32, int64, uint64, float32 or float64");
  }
  need_writable(t_, array, "assignment destination is read-only", call.node);
  return array;
}

/// The operands of an access to one element: the array and its indices.
std::vector<NodeId> Kernels::element(Call& call, const Array& array, const std::string& name) {
  const std::vector<Value> index = parts_of_index(call.positional.at(2));
  if (index.size() != static_cast<size_t>(array.type.rank())) {
    raise(t_, ExceptionKind::IndexError,
          "`cuda." + name + "` wants " + std::to_string(array.type.rank()) + " indices for its array, not " +
              std::to_string(index.size()));
  }
  std::vector<NodeId> operands{array.node};
  for (size_t axis = 0; axis < index.size(); ++axis) {
    const NodeId length = t_.builder->length(array.node, static_cast<int>(axis));
    operands.push_back(in_range(t_, stage_index(t_, index[axis]), length, static_cast<int>(axis)));
  }
  return operands;
}

/// A value as an element of an array; refuses one whose class (float, complex) the dtype cannot hold.
NodeId Kernels::operand(const Value& value, const Array& array, const std::string& name, nb::handle node) {
  const DType dtype = array.type.dtype();
  const std::optional<Kind> kind = kind_of(value);
  const auto rank = [](DType type) { return base::is_complex(type) ? 3 : base::is_float(type) ? 2 : 1; };
  if (kind && rank(kind->dtype()) > rank(dtype)) {
    unsupported(t_, node,
                "`cuda." + name + "` of a " + std::string(kind->name()) + " and an array of " +
                    std::string(base::info(dtype).numpy),
                "convert the number before");
  }
  if (rank_of(value).value_or(0) > 0 && array_type_of(value))
    raise(t_, ExceptionKind::TypeError, "`cuda." + name + "` wants a number, not an array");
  return value_for(t_, without_0d(t_, value), dtype);
}

Value Kernels::atomic(Call& call) {
  const std::string how = text(call, 0);
  const std::string name = "atomic." + text(call, 4);
  around(call.node, name);
  const Array array = accessed(call, name);
  std::vector<NodeId> operands = element(call, array, name);
  NodeId value = operand(call.positional.at(3), array, name, call.node);
  const Op given = how == "exchange" ? Op::constant : base::known(ir::op_from_name(how));
  const DType dtype = array.type.dtype();
  if (given != Op::constant && !ir::accepts(given, dtype)) {
    unsupported(t_, call.node, "`cuda." + name + "` of an array of " + std::string(base::info(dtype).numpy),
                "use an array of integers");
  }
  if (given == Op::subtract) value = t_.builder->make(Op::negative, {value});
  operands.push_back(value);
  const Op combiner = given == Op::subtract ? Op::add : given;
  const int64_t attributes[] = {static_cast<int64_t>(combiner), scope_of("device"),
                                static_cast<int64_t>(ir::Order::Relaxed)};
  return from_node(t_, t_.builder->make(Op::atomic, operands, attributes));
}

Value Kernels::compare_exchange(Call& call) {
  const std::string name = "atomic." + text(call, 0);
  around(call.node, name);
  const Array array = accessed(call, name);
  std::vector<NodeId> operands = element(call, array, name);
  operands.push_back(operand(call.positional.at(3), array, name, call.node));
  operands.push_back(operand(call.positional.at(4), array, name, call.node));
  const int64_t attributes[] = {scope_of("device"), static_cast<int64_t>(ir::Order::Relaxed)};
  return from_node(t_, t_.builder->make(Op::compare_exchange, operands, attributes));
}

/// A mask of lanes: the lowest 32 bits of any integer.
NodeId Kernels::mask(const Value& value) { return t_.builder->cast(stage_index(t_, value), DType::UInt32); }

void Kernels::barrier(Call& call) {
  around(call.node, text(call, 1));
  const std::string scope = text(call, 0);
  std::vector<NodeId> operands;
  if (scope == "warp") operands.push_back(mask(call.positional.at(2)));
  const int64_t attributes[] = {scope_of(scope)};
  t_.builder->make(Op::barrier, operands, attributes);
}

Value Kernels::vote(Call& call) {
  around(call.node, text(call, 2));
  const std::string scope = text(call, 1);
  std::vector<NodeId> operands;
  if (scope == "warp") operands.push_back(mask(call.positional.at(4)));
  const Value condition = plain_number(t_, call.positional.at(3));
  operands.push_back(truth(t_, condition, call.node));
  const int64_t attributes[] = {choice_of<ir::Question>("question", text(call, 0)), scope_of(scope)};
  const NodeId answer = t_.builder->make(Op::vote, operands, attributes);
  const ir::Type type = t_.builder->function().type(answer);
  if (type == ir::kBool) return Scalar{Kind::py_bool(), answer};
  if (type == ir::kInt32) return Scalar{Kind::py_int(), t_.builder->cast(answer, DType::Int64)};
  return from_node(t_, answer);
}

namespace {

Kind kind_of_exchanged(const Value& value) {
  if (const std::optional<Kind> kind = number_kind(value)) return *kind;
  throw base::InternalError("the library exchanges what is no number");
}

}  // namespace

Value Kernels::shuffle(Call& call) {
  around(call.node, text(call, 1));
  const Value& value = call.positional.at(3);
  const Kind kind = kind_of_exchanged(value);
  const NodeId lane = t_.builder->cast(stage_index(t_, call.positional.at(4)), DType::Int32);
  const int64_t width = base::known(static_int(call.positional.at(5)));
  const std::vector<NodeId> operands{mask(call.positional.at(2)), stage(t_, value, kind), lane};
  const int64_t attributes[] = {choice_of<ir::Source>("source", text(call, 0)), width};
  return Scalar{kind, t_.builder->make(Op::shuffle, operands, attributes)};
}

Value Kernels::match(Call& call) {
  around(call.node, text(call, 1));
  const Value& value = call.positional.at(3);
  const Kind kind = kind_of_exchanged(value);
  const std::vector<NodeId> operands{mask(call.positional.at(2)), stage(t_, value, kind)};
  const int64_t attributes[] = {choice_of<ir::Agreement>("agreement", text(call, 0))};
  return from_node(t_, t_.builder->make(Op::match, operands, attributes));
}

void Kernels::refuse(ir::SpanId span, const std::string& reason, const std::string& advice) {
  base::Unsupported refusal(t_.module.location(span), reason, advice);
  refusal.sites = t_.module.sites(span);
  throw refusal;
}

void Kernels::check(const ir::Function& function) {
  if (t_.facts.launch == nullptr) return;
  const auto what_of = [&](NodeId node) -> std::string {
    const auto text = [&](size_t i) {
      return t_.module.text(ir::TextId(static_cast<uint32_t>(function.attribute(node, i))));
    };
    switch (function.op(node)) {
      case Op::host: return "what Python does (`" + text(1) + "`)";
      case Op::library: return "the routine `" + text(0) + "` of NumPy's";
      case Op::c_call:
      case Op::c_value: return "the C function `" + text(1) + "`";
      case Op::draw: return "drawing from a stream of NumPy's";
      case Op::keep: return "a list of arrays";
      case Op::sort:
      case Op::argsort: return "sorting";
      default: return "";
    }
  };
  for (uint32_t i = 0; i < function.node_count(); ++i) {
    const NodeId launch(i);
    if (function.op(launch) != Op::launch) continue;
    const ir::Uniformity of_block(function, launch);
    const ir::Uniformity of_all(function, launch, ir::Scope::Device);
    ir::walk(function, function.region(launch), [&](NodeId node) {
      if (const std::string what = what_of(node); !what.empty())
        refuse(function[node].span, what + " in a kernel", "do it outside of the kernel");
      if (!ir::is_collective(function.op(node))) return;
      const std::optional<ir::Scope> scope = ir::scope_of_collective(function, node);
      if (scope == ir::Scope::Block && !of_block.is_uniform(node)) {
        refuse(function[node].span, "a barrier that not all threads of a block may come to",
               "let all of them come to it: put it outside of what depends on the thread, or let all threads "
               "decide alike, by `cuda.syncthreads_or(condition)`");
      }
      if (scope == ir::Scope::Device && !of_all.is_uniform(node)) {
        refuse(function[node].span, "a barrier of the grid that not all threads may come to",
               "let all of them come to it: put it outside of what depends on the thread or its block");
      }
    });
  }
}

Value primitive_launch(Tracer& t, Call& call) {
  Kernels(t).launch(call);
  return Static{nb::none()};
}
Value primitive_in_grid(Tracer& t, Call& call) {
  Kernels(t).around(call.node, text_of(require_static(t, call.positional.at(2), "a name", call.node)));
  const int64_t axis = base::known(static_int(call.positional.at(0)));
  const bool extent = nb::cast<bool>(require_static(t, call.positional.at(1), "an extent", call.node));
  return Kernels(t).in_grid(static_cast<size_t>(axis), extent);
}
Value primitive_need_kernel(Tracer& t, Call& call) {
  const std::string name = text_of(require_static(t, call.positional.at(0), "a name", call.node));
  if (call.positional.size() == 1) Kernels(t).around(call.node, name);
  else Kernels(t).around_call(call.node, name);
  return Static{nb::none()};
}
Value primitive_memory(Tracer& t, Call& call) {
  return Kernels(t).memory(call, call.name == "shared_memory" ? ir::Space::Shared : ir::Space::Local);
}
Value primitive_atomic(Tracer& t, Call& call) { return Kernels(t).atomic(call); }
Value primitive_compare_exchange(Tracer& t, Call& call) { return Kernels(t).compare_exchange(call); }
Value primitive_barrier(Tracer& t, Call& call) {
  Kernels(t).barrier(call);
  return Static{nb::none()};
}
Value primitive_vote(Tracer& t, Call& call) { return Kernels(t).vote(call); }
Value primitive_shuffle(Tracer& t, Call& call) { return Kernels(t).shuffle(call); }
Value primitive_match(Tracer& t, Call& call) { return Kernels(t).match(call); }
Value primitive_active(Tracer& t, Call& call) {
  Kernels(t).around(call.node, "activemask");
  return from_node(t, t.builder->make(Op::active, {}));
}
Value primitive_fence(Tracer& t, Call& call) {
  const std::string scope = text_of(require_static(t, call.positional.at(0), "a scope", call.node));
  Kernels(t).around(call.node, text_of(require_static(t, call.positional.at(1), "a name", call.node)));
  t.builder->make(Op::fence, {}, {scope_of(scope)});
  return Static{nb::none()};
}
Value primitive_nanosleep(Tracer& t, Call& call) {
  Kernels(t).around(call.node, "nanosleep");
  t.builder->make(Op::nanosleep, {t.builder->cast(stage_index(t, call.positional.at(0)), DType::Int32)});
  return Static{nb::none()};
}
/// The bits of an integer as an unsigned one of the same width.
Value primitive_bits(Tracer& t, Call& call) {
  const Value value = stage_number(t, call.positional.at(0));
  const std::optional<Kind> kind = number_kind(value);
  if (!kind || !base::is_int(kind->dtype()))
    raise(t, ExceptionKind::TypeError, "wants an integer, not '" + type_name(t, value) + "'");
  const DType dtype = kind->dtype();
  const DType bits = base::size_of(dtype) == 1   ? DType::UInt8
                     : base::size_of(dtype) == 2 ? DType::UInt16
                     : base::size_of(dtype) == 4 ? DType::UInt32
                                                 : DType::UInt64;
  return from_node(t, t.builder->cast(stage(t, value, *kind), bits));
}
Value kernel_special(Tracer& t, Call& call) {
  raise(t, ExceptionKind::TypeError, "'" + type_name(t, Static{call.function}) + "' object is not callable");
}

}  // namespace ingot::frontend
