#include <numeric>

#include "frontend/evaluator_parts.h"

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
  try {
    dtype = nb::module_::import_("numpy").attr("dtype")(spelled);
  } catch (nb::python_error& error) {
    raise_host_error(error);
  }
  const std::string name = text_of(dtype.attr("name"));
  if (nb::cast<bool>(dtype.attr("isnative"))) {
    for (int i = 0; i < base::kDTypeCount; ++i)
      if (base::info(static_cast<DType>(i)).numpy == name) return static_cast<DType>(i);
  }
  unsupported(node, "the dtype " + name, "use a bool, integer, floating or complex dtype");
}

std::vector<NodeId> Evaluator::shape_argument(const Value& shape) {
  std::vector<Value> parts{shape};
  if (const Static* s = shape.as<Static>(); s != nullptr && PyBytes_Check(s->object.ptr()))
    unsupported(here_, "a shape that is a bytes object", "use a tuple of ints");
  if (const Array* a = shape.as<Array>(); a != nullptr && a->type.rank() > 0) {
    raise_by_type("call", "zeros", {shape}, nb::module_::import_("numpy").attr("zeros"));
    unsupported(here_, "a shape that is an array", "use a tuple of ints");
  }
  if (const Tuple* t = shape.as<Tuple>()) parts = t->members;
  if (const Reference* r = shape.as<Reference>()) parts = contents(*r, here_).values;
  std::vector<NodeId> lengths;
  for (const Value& part : parts) {
    if (const std::optional<Kind> kind = kind_of(part); kind && base::is_bool(kind->dtype()))
      raise(ExceptionKind::TypeError, "an integer is required");
    if (kind_of(part) == Kind(DType::UInt64) && !part.is<Array>()) {
      check(builder_->make(Op::greater_equal, {stage(part, Kind::py_int()), builder_->index(0)}),
            ExceptionKind::ValueError, "Maximum allowed dimension exceeded");
    }
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
    // As NumPy, which takes a length of 0 for 1 here.
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
  // C order: each stride is the product of the lengths to its right.
  std::vector<NodeId> strides(lengths.size());
  NodeId bytes = builder_->index(static_cast<int64_t>(base::size_of(dtype)));
  for (size_t i = lengths.size(); i-- > 0;) {
    strides[i] = bytes;
    bytes = builder_->make(Op::multiply, {bytes, lengths[i]});
  }
  std::vector<NodeId> operands{builder_->make(Op::alloc, {bytes}, {}, ir::Type::buffer()),
                               builder_->index(0)};
  operands.insert(operands.end(), lengths.begin(), lengths.end());
  operands.insert(operands.end(), strides.begin(), strides.end());
  const ir::Type type = ir::Type::view(dtype, static_cast<int>(lengths.size()));
  return owner(builder_->make(Op::view, operands, {}, type));
}

Value Evaluator::np_empty(Call& call) {
  const std::vector<NodeId> lengths = shape_argument(need(call, 0, "shape"));
  const DType dtype = dtype_argument(call, 1, DType::Float64);
  finish(call, 2);
  return empty(lengths, dtype);
}

Value Evaluator::np_zeros(Call& call) {
  const std::vector<NodeId> lengths = shape_argument(need(call, 0, "shape"));
  const DType dtype = dtype_argument(call, 1, DType::Float64);
  finish(call, 2);
  return filled(lengths, builder_->constant(ir::Type::scalar(dtype), {}));
}

Value Evaluator::np_ones(Call& call) {
  const std::vector<NodeId> lengths = shape_argument(need(call, 0, "shape"));
  const DType dtype = dtype_argument(call, 1, DType::Float64);
  finish(call, 2);
  return filled(lengths, builder_->cast(builder_->constant(true), dtype));
}

Value Evaluator::np_full(Call& call) {
  const std::vector<NodeId> lengths = shape_argument(need(call, 0, "shape"));
  const Value value = need(call, 1, "fill_value");
  const std::optional<Kind> kind = kind_of(value);
  if (!kind || value.is<Array>())
    unsupported(call.node, "np.full with a " + type_name(value), "use a number");
  const DType dtype = dtype_argument(call, 2, kind->dtype());
  finish(call, 3);
  return filled(lengths, value_for(value, dtype));
}

Value Evaluator::like(Call& call, const std::function<Array(std::span<const NodeId>, DType)>& make) {
  const Value prototype = need(call, 0, "a");
  const Array* a = prototype.as<Array>();
  if (a == nullptr)
    unsupported(call.node, "`np." + call.name + "` of a " + type_name(prototype), "give it an array");
  const DType dtype = dtype_argument(call, 1, a->type.dtype());
  finish(call, 2);
  const std::vector<int64_t> order = memory_order(builder_->function(), {&a->node, 1});
  const std::vector<NodeId> lengths = lengths_of(a->node);
  std::vector<NodeId> as_they_lie;
  for (const int64_t axis : order) as_they_lie.push_back(lengths[static_cast<size_t>(axis)]);
  return owner(transposed(make(as_they_lie, dtype).node, inverse_of(order)));
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

Value Evaluator::np_arange(Call& call) {
  Value start = Static{nb::int_(0)};
  Value stop = need(call, 0, "start");
  Value step = Static{nb::int_(1)};
  if (call.positional.size() > 1) {
    start = stop;
    stop = call.positional[1];
  }
  if (call.positional.size() > 2) step = call.positional[2];
  std::vector<Kind> kinds;
  for (const Value& v : {start, stop, step}) {
    const std::optional<Kind> kind = kind_of(v);
    if (!kind || v.is<Array>() || base::is_complex(kind->dtype()))
      unsupported(call.node, "np.arange of a " + type_name(v), "use real numbers");
    kinds.push_back(*kind);
  }
  Kind kind = result_kind(kinds);
  if (kind == Kind::py_bool()) kind = Kind::py_int();
  const DType dtype = dtype_argument(call, 3, kind.dtype());
  finish(call, 4);
  const auto vector = [&](NodeId length) {
    if (base::is_bool(dtype)) {
      check(builder_->make(Op::less_equal, {length, builder_->index(2)}), ExceptionKind::TypeError,
            "arange() is only supported for booleans when the result has at most length 2.");
    }
    return builder_->make(Op::iota, {length}, {0});
  };
  if (base::is_int(kind.dtype())) {
    const Range range{share(std::array<Value, 3>{start, stop, step})};
    const NodeId count = trips_of_range(range).count;
    const NodeId scaled = builder_->make(Op::multiply, {vector(count), stage_index(step)});
    return from_node(builder_->cast(builder_->make(Op::add, {scaled, stage_index(start)}), dtype));
  }
  const NodeId first = stage(start, Kind::py_float());
  const NodeId by = stage(step, Kind::py_float());
  const NodeId span = builder_->make(Op::subtract, {stage(stop, Kind::py_float()), first});
  check(builder_->make(Op::not_equal, {by, builder_->constant(0.0)}), ExceptionKind::ZeroDivisionError,
        "division by zero");
  const NodeId turns = builder_->make(Op::ceil, {builder_->make(Op::divide, {span, by})});
  check(builder_->make(Op::less, {turns, builder_->constant(0x1p62)}), ExceptionKind::ValueError,
        "Maximum allowed size exceeded");
  const NodeId count = builder_->make(Op::maximum, {builder_->cast(turns, DType::Int64), builder_->index(0)});
  // NumPy fills with first + i * ((first + step) - first).
  const NodeId delta = builder_->make(Op::subtract, {builder_->make(Op::add, {first, by}), first});
  const NodeId scaled = builder_->make(Op::multiply, {builder_->cast(vector(count), DType::Float64), delta});
  return from_node(builder_->cast(builder_->make(Op::add, {scaled, first}), dtype));
}

Value Evaluator::np_where(Call& call) {
  if (call.positional.size() != 3) {
    unsupported(call.node, "np.where with " + std::to_string(call.positional.size()) + " arguments",
                "give it three");
  }
  finish(call, 3);
  std::vector<Kind> kinds;
  for (const Value& v : call.positional) {
    const std::optional<Kind> kind = kind_of(v);
    if (!kind) unsupported(call.node, "np.where of a " + type_name(v), "use numbers and arrays");
    kinds.push_back(*kind);
  }
  const DType dtype = result_kind(std::span(kinds).subspan(1)).dtype();
  // Python's numbers are cast here as NumPy's are: -3 beside a uint8 is 253.
  const auto operand = [&](const Value& v, DType t) {
    return v.is<Array>() ? builder_->cast(whole(v), t) : stage(v, t);
  };
  std::vector<NodeId> nodes = {operand(call.positional[0], DType::Bool), operand(call.positional[1], dtype),
                               operand(call.positional[2], dtype)};
  nodes = broadcast_together(std::move(nodes));
  const NodeId result = by_element(
      std::move(nodes), [&](const auto& operands) { return builder_->make(Op::select, operands); });
  if (builder_->function().type(result).is_array()) return from_node(result);
  return filled({}, result);  // as NumPy does
}

Value Evaluator::np_ravel(Call& call) {
  const Value value = need(call, 0, "a");
  finish(call, 1);
  if (!value.is<Array>()) unsupported(call.node, "np.ravel of a " + type_name(value), "give it an array");
  // A view where the elements lie in order, else a copy; which is known when the call runs.
  const Array view = named(value);
  const NodeId size = size_of(view.node);
  if (view.type.rank() == 0) {
    const NodeId copy =
        builder_->make(Op::broadcast, {builder_->make(Op::load, {view.node}), builder_->index(1)});
    return from_node(copy);
  }
  const NodeId contiguous = is_contiguous(view.node);
  const auto flatten = [&](NodeId v, Access access) {
    return Value(viewing(builder_->make(Op::reshape, {v, size}), access));
  };
  return fork(
      contiguous, [&] { return flatten(view.node, view.access); },
      [&] {
        return flatten(builder_->make(Op::materialize, {builder_->make(Op::read, {view.node})}),
                       Access::Writable);
      });
}

/// The axis that an argument names, counted from the front; `otherwise` without one; none: `None`.
std::optional<int64_t> Evaluator::axis_of(Call& call, size_t place, int rank,
                                          std::optional<int64_t> otherwise) {
  const Value* axis = argument(call, place, "axis");
  if (axis == nullptr) return otherwise;
  const Static known{require_static(*axis, "an axis", call.node)};
  if (known.object.is_none()) return std::nullopt;
  const std::optional<int64_t> given = static_int(known);
  if (!given) unsupported(call.node, "an axis that is a " + type_name(known), "give an int");
  if (*given < -rank || *given >= rank) {
    raise(ExceptionKind::ValueError, "axis " + std::to_string(*given) +
                                         " is out of bounds for array of dimension " + std::to_string(rank));
  }
  return *given < 0 ? *given + rank : *given;
}

Value Evaluator::np_argsort(Call& call) {
  const Value value = need(call, 0, "a");
  const Array* a = value.as<Array>();
  if (a == nullptr || a->type.rank() == 0)
    unsupported(call.node, "np.argsort of a " + type_name(value), "give it an array");
  const std::optional<int64_t> axis = axis_of(call, 1, a->type.rank(), a->type.rank() - 1);
  finish(call, 2);
  if (!axis) unsupported(call.node, "np.argsort with axis=None", "ravel the array first");
  return from_node(builder_->make(Op::argsort, {whole(value)}, {*axis, 0}));
}

Value Evaluator::np_matmul(Call& call) {
  const Value a = need(call, 0, "x1");
  const Value b = need(call, 1, "x2");
  finish(call, 2);
  return matmul(a, b, call.node);
}

Value Evaluator::np_dot(Call& call) {
  const Value a = need(call, 0, "a");
  const Value b = need(call, 1, "b");
  finish(call, 2);
  const auto axes = [](const Value& v) { return v.is<Array>() ? v.as<Array>()->type.rank() : 0; };
  if (axes(a) == 0 || axes(b) == 0) return elementwise(Op::multiply, {a, b}, "multiply", call.node);
  if (axes(a) > 2 || axes(b) > 2) unsupported(call.node, "np.dot of arrays of more than two axes", "use `@`");
  return matmul(a, b, call.node, true);
}

Array Evaluator::copy(Call& call, bool as_it_lies) {
  const Value value = need(call, 0, "a");
  finish(call, 1);
  if (!value.is<Array>()) unsupported(call.node, "a copy of a " + type_name(value), "use the value");
  const NodeId array = whole(value);
  if (builder_->function().type(array).is_scalar()) return filled({}, array);
  return owner(as_it_lies ? materialized(array) : builder_->make(Op::materialize, {array}));
}

Value Evaluator::np_copy(Call& call) { return copy(call, true); }
Value Evaluator::array_copy(Call& call) { return copy(call, false); }

Value Evaluator::np_astype(Call& call) {
  const Value value = need(call, 0, "a");
  const DType dtype = dtype_argument(call, 1, DType::Float64);
  finish(call, 2);
  if (!value.is<Array>()) return Scalar{Kind(dtype), stage(value, Kind(dtype))};
  const NodeId array = whole(value);
  if (builder_->function().type(array).is_scalar()) return filled({}, builder_->cast(array, dtype));
  return owner(materialized(builder_->cast(array, dtype)));
}

Value Evaluator::np_randn(Call& call) {
  finish(call, call.positional.size());
  NodeId count = builder_->index(1);
  std::vector<NodeId> lengths;
  for (const Value& part : call.positional) {
    lengths.push_back(shape_argument(part)[0]);
    count = builder_->make(Op::multiply, {count, lengths.back()});
  }
  const NodeId numbers = builder_->make(Op::library, {count}, {module_.text("randn").index, 0},
                                        ir::Type::array(DType::Float64, 1));
  if (lengths.empty()) return Scalar{Kind::py_float(), reduce_all({numbers}, Op::add)};
  std::vector<NodeId> operands{numbers};
  operands.insert(operands.end(), lengths.begin(), lengths.end());
  return from_node(builder_->make(Op::reshape, operands));
}

Value Evaluator::np_scalar_type(Call& call) {
  const Value value = call.positional.empty() ? Value(Static{nb::int_(0)}) : call.positional[0];
  finish(call, 1);
  const nb::object type = nb::module_::import_("numpy").attr(call.name.c_str());
  if (const Static* s = value.as<Static>()) {
    try {
      return Static{type(s->object)};
    } catch (nb::python_error& error) {
      raise_host_error(error);
    }
  }
  const std::optional<Kind> kind = kind_of(value);
  if (!kind) unsupported(call.node, "np." + call.name + " of a " + type_name(value), "give it a number");
  for (int i = 0; i < base::kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (base::info(dtype).numpy != call.name) continue;
    // Python's numbers must fit; NumPy's are cast.
    if (kind->is_python()) return from_node(value_for(value, dtype));
    return from_node(value.is<Array>() ? builder_->cast(whole(value), dtype) : stage(value, dtype));
  }
  throw base::InternalError("a scalar type of NumPy without dtype");
}

}  // namespace ingot::frontend
