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
  std::vector<NodeId> operands{builder_->make(Op::alloc, {bytes}, {}, ir::Type::buffer()),
                               builder_->index(0)};
  operands.insert(operands.end(), lengths.begin(), lengths.end());
  operands.insert(operands.end(), strides.begin(), strides.end());
  const ir::Type type = ir::Type::view(dtype, static_cast<int>(lengths.size()));
  return owner(builder_->make(Op::view, operands, {}, type));
}

bool Evaluator::wants_fortran_order(Call& call, size_t position) {
  for (const char* name : {"device", "like"}) {
    const Value* value = argument(call, SIZE_MAX, name);
    if (value != nullptr && !is_none(*value))
      unsupported(call.node, std::string("the keyword `") + name + "` of `" + call.name + "`",
                  "leave it out");
  }
  const Value* order = argument(call, position, "order");
  if (order == nullptr || is_none(*order)) return false;
  const std::string name = text_of(require_static(*order, "an order", call.node));
  if (name != "C" && name != "F") raise(ExceptionKind::ValueError, "only 'C' or 'F' order is permitted");
  return name == "F";
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

Value Evaluator::np_full(Call& call) {
  const std::vector<NodeId> lengths = shape_argument(need(call, 0, "shape"));
  Value value = need(call, 1, "fill_value");
  if (value.is<Tuple>() || value.is<Reference>()) value = array_of(value, call.node);
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
  const NodeId number = value_for(value, dtype);
  return new_array(lengths, fortran, [&](auto as_they_lie) { return filled(as_they_lie, number); });
}

Value Evaluator::like(Call& call, const std::function<Array(std::span<const NodeId>, DType)>& make) {
  Value prototype = need(call, 0, call.name == "empty_like" ? "prototype" : "a");
  if (prototype.is<Tuple>() || prototype.is<Reference>()) prototype = array_of(prototype, call.node);
  if (const std::optional<Kind> kind = kind_of(prototype); kind && !prototype.is<Array>())
    prototype = filled({}, stage(prototype, *kind));
  const Array* a = prototype.as<Array>();
  if (a == nullptr)
    unsupported(call.node, "`np." + call.name + "` of a " + type_name(prototype), "give it an array");
  const DType dtype = dtype_argument(call, 1, a->type.dtype());
  const Value* order = argument(call, 2, "order");
  const std::string lie = order == nullptr ? "K" : text_of(require_static(*order, "an order", call.node));
  argument(call, 3, "subok");
  const Value* shape = argument(call, 4, "shape");
  const bool reshaped = shape != nullptr && !is_none(*shape);
  const std::vector<NodeId> lengths = reshaped ? shape_argument(*shape) : lengths_of(a->node);
  const Value* device = argument(call, SIZE_MAX, "device");
  if (device != nullptr && !is_none(*device))
    unsupported(call.node, "the keyword `device` of `" + call.name + "`", "leave it out");
  finish(call, 5);
  std::vector<int64_t> axes(lengths.size());
  std::iota(axes.begin(), axes.end(), 0);
  const bool alike = lengths.size() == static_cast<size_t>(a->type.rank());
  const std::vector<int64_t> own = memory_order(builder_->function(), {&a->node, 1});
  if (lie == "K" && alike) axes = own;
  if (lie == "F" || (lie == "A" && own.size() > 1 && std::ranges::is_sorted(own, std::greater())))
    std::ranges::reverse(axes);
  std::vector<NodeId> as_they_lie;
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
  const Value value = need(call, 1, "fill_value");
  if (!kind_of(value) || value.is<Array>())
    unsupported(call.node, "np.full_like with a " + type_name(value), "use a number");
  Call rest = call;
  if (rest.positional.size() > 1) rest.positional.erase(rest.positional.begin() + 1);
  return like(rest, [&](auto lengths, DType dtype) { return filled(lengths, value_for(value, dtype)); });
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

Value Evaluator::primitive_select(Call& call) {
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

Value Evaluator::reduction(Call& call, Op combiner, const char* name) {
  Value value = need(call, 0, "a");
  const std::optional<Kind> kind = kind_of(value);
  if (!kind)
    unsupported(call.node, std::string("np.") + name + " of a " + type_name(value), "give it an array");
  DType dtype = kind->dtype();
  const bool flags = combiner == Op::bitwise_or || combiner == Op::bitwise_and;
  const bool accumulates = combiner == Op::add || combiner == Op::multiply;
  if (flags) dtype = DType::Bool;
  if (accumulates && (base::is_bool(dtype) || (base::is_int(dtype) && base::is_signed(dtype))))
    dtype = DType::Int64;
  if (accumulates && base::is_int(dtype) && !base::is_signed(dtype)) dtype = DType::UInt64;
  if (!value.is<Array>()) {
    finish(call, 1);
    return Scalar{Kind(dtype), stage(value, Kind(dtype))};
  }
  const Value* axis = argument(call, 1, "axis");
  std::vector<int64_t> axes(static_cast<size_t>(value.as<Array>()->type.rank()));
  std::iota(axes.begin(), axes.end(), 0);
  if (axis != nullptr && !is_none(*axis)) {
    const nb::object given = require_static(*axis, "an axis", call.node);
    std::vector<int64_t> chosen;
    const auto add = [&](nb::handle one) {
      const std::optional<int64_t> a = static_int(Static{nb::borrow<nb::object>(one)});
      if (!a) {
        raise(ExceptionKind::TypeError,
              "'" + text_of(one.type().attr("__name__")) + "' object cannot be interpreted as an integer");
      }
      const int64_t rank = static_cast<int64_t>(axes.size());
      if (*a < -rank || *a >= rank) {
        raise(ExceptionKind::ValueError, "axis " + std::to_string(*a) +
                                             " is out of bounds for array of dimension " +
                                             std::to_string(rank));
      }
      chosen.push_back(*a < 0 ? *a + rank : *a);
    };
    if (PyTuple_Check(given.ptr())) {
      for (const nb::handle one : given) add(one);
    } else {
      add(given);
    }
    std::ranges::sort(chosen);
    if (std::ranges::adjacent_find(chosen) != chosen.end())
      raise(ExceptionKind::ValueError, "duplicate value in 'axis'");
    axes = chosen;
  }
  if (accumulates) dtype = dtype_argument(call, 2, dtype);
  const Value* keep = argument(call, 99, "keepdims");
  const bool keepdims = keep != nullptr && nb::cast<bool>(require_static(*keep, "keepdims", call.node));
  finish(call, 3);
  const NodeId array = builder_->cast(whole(value), dtype);
  if (!builder_->function().type(array).is_array()) return from_node(array);
  if (!flags && !accumulates) {
    for (const int64_t a : axes) {
      check(builder_->make(Op::greater, {builder_->length(array, static_cast<int>(a)), builder_->index(0)}),
            ExceptionKind::ValueError,
            "zero-size array to reduction operation " + std::string(ir::name_of(combiner)) +
                " which has no identity");
    }
  }
  std::vector<int64_t> attributes{static_cast<int64_t>(combiner)};
  attributes.insert(attributes.end(), axes.begin(), axes.end());
  const bool all = axes.size() == static_cast<size_t>(builder_->function().type(array).rank());
  NodeId result = all ? reduce_all(array, combiner) : builder_->make(Op::reduce, {&array, 1}, attributes);
  if (keepdims) {
    if (builder_->function().type(result).is_scalar()) result = builder_->make(Op::broadcast, {result});
    const NodeId narrow[] = {result};
    result = builder_->make(Op::expand, narrow, axes);
  }
  return from_node(result);
}

Value Evaluator::np_sum(Call& call) { return reduction(call, Op::add, "sum"); }
Value Evaluator::np_prod(Call& call) { return reduction(call, Op::multiply, "prod"); }
Value Evaluator::np_min(Call& call) { return reduction(call, Op::minimum, "min"); }
Value Evaluator::np_max(Call& call) { return reduction(call, Op::maximum, "max"); }
Value Evaluator::np_any(Call& call) { return reduction(call, Op::bitwise_or, "any"); }
Value Evaluator::np_all(Call& call) { return reduction(call, Op::bitwise_and, "all"); }

Value Evaluator::np_mean(Call& call) {
  const Value value = need(call, 0, "a");
  const Array* a = value.as<Array>();
  if (a == nullptr || call.positional.size() > 1 || !call.keywords.empty())
    unsupported(call.node, "np.mean with these arguments", "divide np.sum by the count");
  const DType own = a->type.dtype();
  const bool inexact = base::is_float(own) || base::is_complex(own);
  const DType at = own == DType::Float16 ? DType::Float32 : inexact ? own : DType::Float64;
  const NodeId array = builder_->cast(whole(value), at);
  if (!builder_->function().type(array).is_array()) return from_node(array);
  const NodeId mean =
      builder_->make(Op::divide, {reduce_all(array, Op::add), builder_->cast(size_of(array), at)});
  return from_node(builder_->cast(mean, inexact ? own : DType::Float64));
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

Value Evaluator::np_cumsum(Call& call) {
  const Value value = need(call, 0, "a");
  const Array* a = value.as<Array>();
  if (a == nullptr || a->type.rank() == 0)
    unsupported(call.node, "np.cumsum of a " + type_name(value), "give it an array");
  const std::optional<int64_t> axis = axis_of(call, 1, a->type.rank(), std::nullopt);
  finish(call, 2);
  DType dtype = a->type.dtype();
  if (base::is_bool(dtype) || (base::is_int(dtype) && base::is_signed(dtype))) dtype = DType::Int64;
  else if (base::is_int(dtype)) dtype = DType::UInt64;
  NodeId all = whole(value);
  if (!axis && a->type.rank() > 1) all = builder_->make(Op::reshape, {all, size_of(all)});
  return from_node(builder_->make(Op::scan, {builder_->cast(all, dtype)},
                                  {static_cast<int64_t>(Op::add), axis.value_or(0)}));
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

Value Evaluator::np_solve(Call& call) {
  const Value a = need(call, 0, "a");
  const Value b = need(call, 1, "b");
  finish(call, 2);
  const Array* x = a.as<Array>();
  const Array* y = b.as<Array>();
  if (x == nullptr || y == nullptr || x->type.rank() != 2 || y->type.rank() < 1 || y->type.rank() > 2)
    unsupported(call.node, "np.linalg.solve of these", "give it a matrix and a vector or matrix");
  const Kind kinds[] = {Kind(x->type.dtype()), Kind(y->type.dtype())};
  DType dtype = result_kind(kinds).dtype();
  if (dtype == DType::Float16) raise(ExceptionKind::TypeError, "array type float16 is unsupported in linalg");
  if (base::is_int(dtype) || base::is_bool(dtype)) dtype = DType::Float64;
  const NodeId left = builder_->cast(whole(a), dtype);
  NodeId right = builder_->cast(whole(b), dtype);
  const NodeId rows = builder_->length(left, 0);
  check(builder_->make(Op::equal, {rows, builder_->length(left, 1)}), ExceptionKind::LinAlgError,
        "Last 2 dimensions of the array must be square");
  check(builder_->make(Op::equal, {rows, builder_->length(right, 0)}), ExceptionKind::ValueError,
        "solve: Input operand 1 has a mismatch in its core dimension 0 (size {} is different from {})",
        {builder_->length(right, 0), rows});
  if (may_be_caught(error_of(ExceptionKind::LinAlgError, "Singular matrix", {}))) {
    unsupported(call.node, "np.linalg.solve inside a `try` that catches its error",
                "look at the matrix before");
  }
  const bool vector = y->type.rank() == 1;
  if (vector) right = builder_->make(Op::expand, {right}, {1});
  NodeId solution =
      builder_->make(Op::library, {left, right}, {module_.text("solve").index, 0}, ir::Type::array(dtype, 2));
  if (vector) solution = builder_->make(Op::squeeze, {solution}, {1});
  return from_node(solution);
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
  if (lengths.empty()) return Scalar{Kind::py_float(), reduce_all(numbers, Op::add)};
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
