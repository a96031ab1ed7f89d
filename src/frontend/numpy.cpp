#include <numeric>

#include "frontend/kinds/value_kind.h"

namespace ingot::frontend {

using base::ExceptionKind;
using ir::Op;

DType Evaluator::dtype_argument(Call& call, size_t position, DType otherwise) {
  const Value* value = argument(call, position, "dtype");
  return value == nullptr || is_none(*value) ? otherwise : dtype_of(*value, call.node);
}

DType Evaluator::dtype_of(const Value& value, nb::handle node) {
  const nb::object spelled = require_static(value, "a dtype", node);
  nb::object dtype;
  dtype = by_python(*this, [&] { return nb::object(imported("numpy").attr("dtype")(spelled)); });
  const std::string name = text_of(dtype.attr("name"));
  if (nb::cast<bool>(dtype.attr("isnative")))
    if (const std::optional<DType> known = base::dtype_from_numpy(name)) return *known;
  unsupported(node, "the dtype " + text_of(nb::str(dtype)), "use a bool, integer, floating or complex dtype");
}

void Evaluator::need_rank(size_t rank) {
  if (rank > static_cast<size_t>(ir::kMaxRank))
    unsupported(here_, "an array of more than 16 axes", "use fewer axes");
}

std::vector<NodeId> Evaluator::shape_argument(const Value& shape) {
  std::vector<Value> parts{shape};
  if (const Static* s = shape.as<Static>(); s != nullptr && PyBytes_Check(s->object.ptr()))
    unsupported(here_, "a shape that is a bytes object", "use a tuple of ints");
  if (shape.is<Range>()) unsupported(here_, "a shape that is a range", "use a tuple of ints");
  if (const Array* a = shape.as<Array>(); a != nullptr && a->type.rank() > 0) {
    raise_by_type("call", "zeros", {shape}, imported("numpy").attr("zeros"));
    unsupported(here_, "a shape that is an array", "use a tuple of ints");
  }
  if (const Tuple* t = shape.as<Tuple>()) parts = t->members;
  if (const Reference* r = shape.as<Reference>()) parts = contents(*r, here_).values;
  need_rank(parts.size());
  std::vector<NodeId> lengths;
  for (const Value& part : parts) {
    if (const std::optional<Kind> kind = kind_of(part); kind && base::is_bool(kind->dtype()))
      raise(ExceptionKind::TypeError, "an integer is required");
    if (number_kind(part) == Kind(DType::UInt64)) {
      check(builder_->make(Op::greater_equal, {stage(part, Kind::py_int()), builder_->index(0)}),
            ExceptionKind::ValueError, "Maximum allowed dimension exceeded");
    }
    if (side_of_64_bits(part) != 0) raise(ExceptionKind::ValueError, "Maximum allowed dimension exceeded");
    const NodeId length = stage_index(part);
    check(builder_->make(Op::greater_equal, {length, builder_->index(0)}), ExceptionKind::ValueError,
          "negative dimensions are not allowed");
    lengths.push_back(length);
  }
  return lengths;
}

void Evaluator::check_size(std::span<const NodeId> lengths, DType dtype) {
  NodeId bytes = builder_->index(static_cast<int64_t>(base::size_of(dtype)));
  for (size_t i = lengths.size(); i-- > 0;) {
    // As in NumPy, which treats a length of 0 as 1 here.
    const NodeId length = builder_->make(Op::maximum, {lengths[i], builder_->index(1)});
    check(negate(builder_->make(Op::multiply_overflows, {bytes, length})), ExceptionKind::ValueError,
          "array is too big; `arr.size * arr.dtype.itemsize` is larger than the maximum possible size.");
    bytes = builder_->make(Op::multiply, {bytes, length});
  }
}

Array Evaluator::filled(std::span<const NodeId> lengths, NodeId value) {
  check_size(lengths, builder_->function().type(value).dtype());
  std::vector<NodeId> operands{value};
  operands.insert(operands.end(), lengths.begin(), lengths.end());
  return owner(builder_->make(Op::materialize, {builder_->make(Op::broadcast, operands)}));
}

Array Evaluator::empty(std::span<const NodeId> lengths, DType dtype) {
  check_size(lengths, dtype);
  return new_memory(lengths, dtype);
}

Array Evaluator::new_memory(std::span<const NodeId> lengths, DType dtype) {
  // C order: each stride is the product of the lengths to its right.
  std::vector<NodeId> strides(lengths.size());
  NodeId bytes = builder_->index(static_cast<int64_t>(base::size_of(dtype)));
  for (size_t i = lengths.size(); i-- > 0;) {
    strides[i] = bytes;
    bytes = builder_->make(Op::multiply, {bytes, lengths[i]});
  }
  std::vector<NodeId> operands{
      builder_->make(Op::alloc, {bytes}, {static_cast<int64_t>(ir::Life::Call)}, ir::Type::buffer()),
      builder_->index(0)};
  operands.insert(operands.end(), lengths.begin(), lengths.end());
  operands.insert(operands.end(), strides.begin(), strides.end());
  const ir::Type type = ir::Type::view(dtype, static_cast<int>(lengths.size()));
  return owner(builder_->make(Op::view, operands, {}, type));
}

void Evaluator::need_no_device(Call& call) {
  if (const Value* like = argument(call, SIZE_MAX, "like");
      like != nullptr && !is_none(*like) && !like->is<Array>()) {
    raise(ExceptionKind::TypeError,
          "The `like` argument must be an array-like that implements the `__array_function__` protocol.");
  }
  const Value* device = argument(call, SIZE_MAX, "device");
  if (device == nullptr || is_none(*device)) return;
  const nb::object name = require_static(*device, "a device", call.node);
  if (name.equal(nb::str("cpu"))) return;
  raise(ExceptionKind::ValueError,
        "Device not understood. Only \"cpu\" is allowed, but received: " + text_of(name));
}

std::string Evaluator::order_argument(Call& call, size_t position, const char* otherwise) {
  const Value* order = argument(call, position, "order");
  if (order == nullptr || is_none(*order)) return otherwise;
  const nb::object given = require_static(*order, "an order", call.node);
  if (!PyUnicode_Check(given.ptr()))
    raise(ExceptionKind::TypeError, "order must be str, not " + type_name(*order));
  const std::string name = text_of(given);
  if (name.size() == 1 && std::string_view("CFAKcfak").find(name[0]) != std::string_view::npos)
    return text_of(given.attr("upper")());
  raise(ExceptionKind::ValueError,
        "order must be one of 'C', 'F', 'A', or 'K' (got '" + base::escape_message(name) + "')");
}

bool Evaluator::wants_fortran_order(Call& call, size_t position) {
  need_no_device(call);
  const std::string order = order_argument(call, position, "C");
  if (order != "C" && order != "F") raise(ExceptionKind::ValueError, "only 'C' or 'F' order is permitted");
  return order == "F";
}

Array Evaluator::new_array(std::vector<NodeId> lengths, bool fortran, const NewArray& make) {
  if (!fortran) return make(lengths);
  std::ranges::reverse(lengths);
  std::vector<int64_t> axes(lengths.size());
  std::iota(axes.rbegin(), axes.rend(), 0);
  return owner(transposed(make(lengths).node, axes));
}

Value Evaluator::np_empty(Call& call) {
  const std::vector<NodeId> lengths = shape_argument(need(call, 0, "shape"));
  const DType dtype = dtype_argument(call, 1, DType::Float64);
  const bool fortran = wants_fortran_order(call, 2);
  finish(call, 3);
  return new_array(lengths, fortran, [&](auto as_they_lie) { return empty(as_they_lie, dtype); });
}

Value Evaluator::np_zeros(Call& call) {
  const std::vector<NodeId> lengths = shape_argument(need(call, 0, "shape"));
  const DType dtype = dtype_argument(call, 1, DType::Float64);
  const NodeId value = builder_->constant(ir::Type::scalar(dtype), {});
  const bool fortran = wants_fortran_order(call, 2);
  finish(call, 3);
  return new_array(lengths, fortran, [&](auto as_they_lie) { return filled(as_they_lie, value); });
}

Value Evaluator::np_ones(Call& call) {
  const std::vector<NodeId> lengths = shape_argument(need(call, 0, "shape"));
  const DType dtype = dtype_argument(call, 1, DType::Float64);
  const NodeId value = builder_->cast(builder_->constant(true), dtype);
  const bool fortran = wants_fortran_order(call, 2);
  finish(call, 3);
  return new_array(lengths, fortran, [&](auto as_they_lie) { return filled(as_they_lie, value); });
}

namespace {

/// Whether filling with a Python number casts an array of it, because it is not of the dtype's class.
bool loses_class(Kind kind, DType dtype) {
  if (kind == Kind::py_complex()) return base::is_int(dtype) || base::is_float(dtype);
  return kind == Kind::py_float() && base::is_int(dtype);
}

}  // namespace

Value Evaluator::np_full(Call& call) {
  const std::vector<NodeId> lengths = shape_argument(need(call, 0, "shape"));
  Value value = need(call, 1, "fill_value");
  if (is_sequence(value)) value = array_of(value, call.node);
  const std::optional<Kind> kind = kind_of(value);
  if (!kind) unsupported(call.node, "np.full with a " + type_name(value), "use a number");
  const DType dtype = dtype_argument(call, 2, kind->dtype());
  const bool fortran = wants_fortran_order(call, 3);
  finish(call, 4);
  if (value.is<Array>()) {
    const Array result =
        new_array(lengths, fortran, [&](auto as_they_lie) { return empty(as_they_lie, dtype); });
    assign_index(result, Static{nb::ellipsis()}, value, call.node);
    return result;
  }
  const NodeId number =
      loses_class(*kind, dtype) ? builder_->cast(stage(value, *kind), dtype) : value_for(value, dtype);
  return new_array(lengths, fortran, [&](auto as_they_lie) { return filled(as_they_lie, number); });
}

Value Evaluator::like(Call& call, const std::function<Array(std::span<const NodeId>, DType)>& make) {
  Value prototype = need(call, 0, call.name == "empty_like" ? "prototype" : "a");
  if (is_sequence(prototype)) prototype = array_of(prototype, call.node);
  if (const std::optional<Kind> kind = number_kind(prototype))
    prototype = filled({}, stage(prototype, *kind));
  const Array* a = prototype.as<Array>();
  if (a == nullptr)
    unsupported(call.node, "`np." + call.name + "` of a " + type_name(prototype), "give it an array");
  const DType dtype = dtype_argument(call, 1, a->type.dtype());
  const std::string lie = order_argument(call, 2, "K");
  argument(call, 3, "subok");
  const Value* shape = argument(call, 4, "shape");
  const bool reshaped = shape != nullptr && !is_none(*shape);
  const std::vector<NodeId> lengths = reshaped ? shape_argument(*shape) : lengths_of(a->node);
  need_no_device(call);
  finish(call, 5);
  if (lie == "A" && a->type.rank() > 1) {
    const Value fortran =
        call_library(*this, "shapes", "is_fortran", {named(prototype), Static{nb::str("A")}}, call.node);
    const auto in_order = [&](bool reversed) {
      return [&, reversed] {
        return Value(
            new_array(lengths, reversed, [&](auto as_they_lie) { return make(as_they_lie, dtype); }));
      };
    };
    return fork(truth(fortran, call.node), in_order(true), in_order(false));
  }
  std::vector<int64_t> axes(lengths.size());
  std::iota(axes.begin(), axes.end(), 0);
  const bool alike = lengths.size() == static_cast<size_t>(a->type.rank());
  const std::vector<int64_t> own = order_of({&a->node, 1});
  if (lie == "K" && alike) axes = own;
  if (lie == "F") std::ranges::reverse(axes);
  std::vector<NodeId> as_they_lie;
  as_they_lie.reserve(axes.size());
  for (const int64_t axis : axes) as_they_lie.push_back(lengths[static_cast<size_t>(axis)]);
  return owner(transposed(make(as_they_lie, dtype).node, inverse_of(axes)));
}

Value Evaluator::np_empty_like(Call& call) {
  return like(call, [&](auto lengths, DType dtype) { return empty(lengths, dtype); });
}

Value Evaluator::np_zeros_like(Call& call) {
  return like(call, [&](auto lengths, DType dtype) {
    return filled(lengths, builder_->constant(ir::Type::scalar(dtype), {}));
  });
}

Value Evaluator::np_ones_like(Call& call) {
  return like(call, [&](auto lengths, DType dtype) {
    return filled(lengths, builder_->cast(builder_->constant(true), dtype));
  });
}

Value Evaluator::np_full_like(Call& call) {
  Value value = need(call, 1, "fill_value");
  if (is_sequence(value)) value = array_of(value, call.node);
  if (!kind_of(value)) unsupported(call.node, "np.full_like with a " + type_name(value), "use a number");
  Call rest = call;
  if (rest.positional.size() > 1) rest.positional.erase(rest.positional.begin() + 1);
  if (value.is<Array>()) {
    const Value result = like(rest, [&](auto lengths, DType dtype) { return empty(lengths, dtype); });
    assign_index(*result.as<Array>(), Static{nb::ellipsis()}, value, call.node);
    return result;
  }
  return like(rest, [&](auto lengths, DType dtype) {
    const Kind kind = base::known(kind_of(value));
    const bool is_cast = loses_class(kind, dtype);
    return filled(lengths, is_cast ? builder_->cast(stage(value, kind), dtype) : value_for(value, dtype));
  });
}

Value Evaluator::np_arange(Call& call) {
  Value start = Static{nb::int_(0)};
  const Value* const first_given = argument(call, 0, "start");
  Value stop = first_given != nullptr ? *first_given : need(call, 1, "stop");
  Value step = Static{nb::int_(1)};
  if (const Value* end = argument(call, 1, "stop");
      first_given != nullptr && end != nullptr && !is_none(*end)) {
    start = stop;
    stop = *end;
  }
  if (const Value* by = argument(call, 2, "step"); by != nullptr && !is_none(*by)) step = *by;
  need_no_device(call);
  std::vector<Kind> kinds{Kind(DType::Int64)};
  bool plain = true;
  for (const Value& v : {start, stop, step}) {
    const std::optional<Kind> kind = number_kind(v);
    if (!kind || base::is_complex(kind->dtype()))
      unsupported(call.node, "np.arange of a " + type_name(v), "use real numbers");
    const bool is_large = side_of_64_bits(v) != 0;
    plain = plain && !is_large &&
            (kind->is_python() || *kind == Kind(DType::Int64) || *kind == Kind(DType::Float64));
    kinds.push_back(is_large ? Kind(DType::UInt64) : Kind(kind->dtype()));
  }
  const Kind kind = result_kind(kinds);
  const DType dtype = dtype_argument(call, 3, kind.dtype());
  finish(call, 4);
  if (!plain || Kind(dtype) != kind) {
    const nb::object spelled = imported("numpy").attr("dtype")(std::string(base::info(dtype).numpy));
    return call_library(*this, "creation", "numbers_between", {start, stop, step, Static{spelled}},
                        call.node);
  }
  const auto vector = [&](NodeId length) { return builder_->make(Op::iota, {length}, {0}); };
  if (base::is_int(kind.dtype())) {
    check(builder_->make(Op::not_equal, {stage_index(step), builder_->index(0)}),
          ExceptionKind::ZeroDivisionError, "division by zero");
    const Range range{share(std::array<Value, 3>{start, stop, step})};
    const NodeId count = trips_of(range, call.node).count;
    const NodeId scaled = builder_->make(Op::multiply, {vector(count), stage_index(step)});
    return from_node(builder_->make(Op::add, {scaled, stage_index(start)}));
  }
  const NodeId first = stage(start, Kind::py_float());
  const NodeId by = stage(step, Kind::py_float());
  const NodeId span = builder_->make(Op::subtract, {stage(stop, Kind::py_float()), first});
  check(builder_->make(Op::not_equal, {by, builder_->constant(0.0)}), ExceptionKind::ZeroDivisionError,
        "float division by zero");
  const NodeId iterations = builder_->make(Op::ceil, {builder_->make(Op::divide, {span, by})});
  check(builder_->make(Op::equal, {iterations, iterations}), ExceptionKind::ValueError,
        "arange: cannot compute length");
  check(builder_->make(Op::less, {iterations, builder_->constant(0x1p62)}), ExceptionKind::ValueError,
        "Maximum allowed size exceeded");
  const NodeId count =
      builder_->make(Op::maximum, {builder_->cast(iterations, DType::Int64), builder_->index(0)});
  // NumPy computes first + i * ((first + step) - first).
  const NodeId delta = builder_->make(Op::subtract, {builder_->make(Op::add, {first, by}), first});
  const NodeId scaled = builder_->make(Op::multiply, {builder_->cast(vector(count), DType::Float64), delta});
  return from_node(builder_->make(Op::add, {scaled, first}));
}

Value Evaluator::primitive_select(Call& call) {
  std::vector<Kind> kinds;
  for (const Value& v : call.positional) {
    const std::optional<Kind> kind = kind_of(v);
    if (!kind) unsupported(call.node, "np.where of a " + type_name(v), "use numbers and arrays");
    kinds.push_back(*kind);
  }
  const DType dtype = result_kind(std::span(kinds).subspan(1)).dtype();
  // Python's numbers are cast here like NumPy's: -3 with a uint8 is 253.
  const auto operand = [&](const Value& v, DType t) { return node_as(*this, v, t); };
  std::vector<NodeId> nodes = {operand(call.positional[0], DType::Bool), operand(call.positional[1], dtype),
                               operand(call.positional[2], dtype)};
  nodes = broadcast_together(std::move(nodes));
  const NodeId result = by_element(
      std::move(nodes), [&](const auto& operands) { return builder_->make(Op::select, operands); });
  if (builder_->function().type(result).is_array()) return from_node(result);
  return filled({}, result);  // as NumPy does
}

Value Evaluator::np_matmul(Call& call) {
  if (!call.keywords.empty() && (needs_library(call, true) || has_axes(call))) return ufunc_by_library(call);
  make_arrays(call, 2);
  const Value a = need(call, 0, "x1");
  const Value b = need(call, 1, "x2");
  const Value* out = argument(call, 2, "out");
  const bool is_named = call.positional.size() < 3;
  if (out != nullptr && is_named && out->is<Tuple>() && out->as<Tuple>()->members.size() == 1)
    out = out->as<Tuple>()->members.data();
  finish(call, 3);
  const auto make = [&] { return matmul(a, b, call.node); };
  return out == nullptr || is_none(*out) ? make() : into_output(*out, call, make, nullptr);
}

Value Evaluator::np_dot(Call& call) {
  make_arrays(call, 2);
  const Value a = need(call, 0, "a");
  const Value b = need(call, 1, "b");
  const Value* out = argument(call, 2, "out");
  finish(call, 3);
  const auto axes = [](const Value& v) { return rank_of(v).value_or(0); };
  const bool is_into = out != nullptr && !is_none(*out);
  const auto is_product = [&](const Value& v) { return axes(v) == 1 || axes(v) == 2; };
  if (is_into || !is_product(a) || !is_product(b)) {
    Call whole{.positional = {a, b}, .keywords = {}, .name = "dot", .node = call.node};
    if (is_into) whole.positional.push_back(*out);
    return inline_function(imported("ingot.library.products").attr("dot"), whole);
  }
  return matmul(a, b, call.node, true);
}

Value Evaluator::copy(Call& call, const char* otherwise) {
  const Value value = need(call, 0, "a");
  const std::string lie = order_argument(call, 1, otherwise);
  argument(call, 2, "subok");
  finish(call, 3);
  if (lie == "A" && value.is<Array>()) {
    return call_library(*this, "creation", "copy_as_it_lies", {named(value)}, call.node);
  }
  if (!value.is<Array>()) unsupported(call.node, "a copy of a " + type_name(value), "use the value");
  const NodeId array = whole(value);
  if (builder_->function().type(array).is_scalar()) return filled({}, array);
  if (lie == "K") return owner(materialized(array));
  if (lie == "C") return owner(builder_->make(Op::materialize, {array}));
  std::vector<int64_t> axes(static_cast<size_t>(builder_->function().type(array).rank()));
  std::iota(axes.rbegin(), axes.rend(), 0);
  return owner(transposed(builder_->make(Op::materialize, {transposed(array, axes)}), axes));
}

Value Evaluator::np_copy(Call& call) { return copy(call, "K"); }
Value Evaluator::array_copy(Call& call) { return copy(call, "C"); }

Value Evaluator::np_astype(Call& call) {
  const Value value = need(call, 0, "a");
  const Call given = call;
  const DType dtype = dtype_argument(call, 1, DType::Float64);
  if (call.positional.size() > 2 ||
      std::ranges::any_of(call.keywords, [](const auto& keyword) { return !keyword.first.empty(); })) {
    const nb::object function = imported("ingot.library.creation").attr("astype_of_array");
    if (binds(function, given)) {
      Call whole = given;
      return inline_function(function, whole);
    }
  }
  finish(call, 2);
  if (!value.is<Array>()) return Scalar{Kind(dtype), stage(value, Kind(dtype))};
  const NodeId array = whole(value);
  if (builder_->function().type(array).is_scalar()) return filled({}, builder_->cast(array, dtype));
  return owner(materialized(builder_->cast(array, dtype)));
}

Value Evaluator::np_scalar_type(Call& call) {
  const Value value = call.positional.empty() ? Value(Static{nb::int_(0)}) : call.positional[0];
  finish(call, 1);
  const nb::object type = imported("numpy").attr(call.name.c_str());
  if (const Static* s = value.as<Static>()) {
    return by_python(*this, [&] { return Static{type(s->object)}; });
  }
  const std::optional<Kind> kind = kind_of(value);
  if (!kind) unsupported(call.node, "np." + call.name + " of a " + type_name(value), "give it a number");
  for (int i = 0; i < base::kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (base::info(dtype).numpy != call.name) continue;
    // Python's numbers must fit; NumPy's are cast.
    if (kind->is_python()) return from_node(value_for(value, dtype));
    return from_node(node_as(*this, value, dtype));
  }
  throw base::InternalError("a scalar type of NumPy without dtype");
}

}  // namespace ingot::frontend
