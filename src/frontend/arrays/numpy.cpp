#include "frontend/arrays/numpy.h"

#include <numeric>

#include "frontend/arrays/arguments.h"
#include "frontend/arrays/arrays.h"
#include "frontend/arrays/indexing.h"
#include "frontend/arrays/memory_order.h"
#include "frontend/arrays/operators.h"
#include "frontend/arrays/products.h"
#include "frontend/arrays/scalars.h"
#include "frontend/arrays/ufuncs.h"
#include "frontend/tracer/evaluate.h"
#include "frontend/tracer/python_objects.h"

namespace ingot::frontend {

using base::ExceptionKind;
using ir::Op;

void check_size(Tracer& t, std::span<const NodeId> lengths, DType dtype) {
  NodeId bytes = t.builder->index(static_cast<int64_t>(base::size_of(dtype)));
  for (size_t i = lengths.size(); i-- > 0;) {
    // As in NumPy, which treats a length of 0 as 1 here.
    const NodeId length = t.builder->make(Op::maximum, {lengths[i], t.builder->index(1)});
    check(t, negate(t, t.builder->make(Op::multiply_overflows, {bytes, length})), ExceptionKind::ValueError,
          "array is too big; `arr.size * arr.dtype.itemsize` is larger than the maximum possible size.");
    bytes = t.builder->make(Op::multiply, {bytes, length});
  }
}

Array filled(Tracer& t, std::span<const NodeId> lengths, NodeId value) {
  check_size(t, lengths, t.builder->function().type(value).dtype());
  return owner(t, t.builder->make(Op::materialize, {repeated(t, value, lengths)}));
}

Array empty(Tracer& t, std::span<const NodeId> lengths, DType dtype) {
  check_size(t, lengths, dtype);
  return new_memory(t, lengths, dtype);
}

Array new_memory(Tracer& t, std::span<const NodeId> lengths, DType dtype) {
  // C order: each stride is the product of the lengths to its right.
  std::vector<NodeId> strides(lengths.size());
  NodeId bytes = t.builder->index(static_cast<int64_t>(base::size_of(dtype)));
  for (size_t i = lengths.size(); i-- > 0;) {
    strides[i] = bytes;
    bytes = t.builder->make(Op::multiply, {bytes, lengths[i]});
  }
  std::vector<NodeId> operands{
      t.builder->make(Op::alloc, {bytes}, {static_cast<int64_t>(ir::Life::Call)}, ir::Type::buffer()),
      t.builder->index(0)};
  operands.insert(operands.end(), lengths.begin(), lengths.end());
  operands.insert(operands.end(), strides.begin(), strides.end());
  const ir::Type type = ir::Type::view(dtype, static_cast<int>(lengths.size()));
  return owner(t, t.builder->make(Op::view, operands, {}, type));
}

namespace {

using Creation = std::function<Array(Tracer&, std::span<const NodeId>, DType)>;

/// A new array, made by `make`; `fortran`: with its axes in Fortran's order in memory.
Array new_array(Tracer& t, std::vector<NodeId> lengths, bool fortran, const NewArray& make) {
  if (!fortran) return make(lengths);
  std::ranges::reverse(lengths);
  std::vector<int64_t> axes(lengths.size());
  std::iota(axes.rbegin(), axes.rend(), 0);
  return owner(t, transposed(t, make(lengths).node, axes));
}

}  // namespace

namespace {

Array zeros(Tracer& t, std::span<const NodeId> lengths, DType dtype) {
  return filled(t, lengths, t.builder->constant(ir::Type::scalar(dtype), {}));
}
Array ones(Tracer& t, std::span<const NodeId> lengths, DType dtype) {
  return filled(t, lengths, t.builder->cast(t.builder->constant(true), dtype));
}

/// `np.empty` and the like.
Value created(Tracer& t, Call& call, const Creation& make) {
  const std::vector<NodeId> lengths = shape_argument(t, need(t, call, 0, "shape"));
  const DType dtype = dtype_argument(t, call, 1, DType::Float64);
  const bool fortran = wants_fortran_order(t, call, 2);
  finish(t, call, 3);
  return new_array(t, lengths, fortran, [&](auto as_they_lie) { return make(t, as_they_lie, dtype); });
}

}  // namespace

Value np_empty(Tracer& t, Call& call) { return created(t, call, empty); }
Value np_zeros(Tracer& t, Call& call) { return created(t, call, zeros); }
Value np_ones(Tracer& t, Call& call) { return created(t, call, ones); }

namespace {

/// Whether filling with a Python number casts an array of it, because it is not of the dtype's class.
bool loses_class(Kind kind, DType dtype) {
  if (kind == Kind::py_complex()) return base::is_int(dtype) || base::is_float(dtype);
  return kind == Kind::py_float() && base::is_int(dtype);
}

}  // namespace

Value np_full(Tracer& t, Call& call) {
  const std::vector<NodeId> lengths = shape_argument(t, need(t, call, 0, "shape"));
  Value value = need(t, call, 1, "fill_value");
  if (is_sequence(value)) value = array_of(t, value, call.node);
  const std::optional<Kind> kind = kind_of(value);
  if (!kind) unsupported(t, call.node, "np.full with a " + type_name(t, value), "use a number");
  const DType dtype = dtype_argument(t, call, 2, kind->dtype());
  const bool fortran = wants_fortran_order(t, call, 3);
  finish(t, call, 4);
  if (array_type_of(value)) {
    const Array result =
        new_array(t, lengths, fortran, [&](auto as_they_lie) { return empty(t, as_they_lie, dtype); });
    assign_index(t, result, Static{nb::ellipsis()}, value, call.node);
    return result;
  }
  const NodeId number =
      loses_class(*kind, dtype) ? t.builder->cast(stage(t, value, *kind), dtype) : value_for(t, value, dtype);
  return new_array(t, lengths, fortran, [&](auto as_they_lie) { return filled(t, as_they_lie, number); });
}

namespace {

/// `np.empty_like` and the like: new arrays with the axis order of the argument in memory.
Value like(Tracer& t, Call& call, const Creation& make) {
  Value prototype = need(t, call, 0, call.name == "empty_like" ? "prototype" : "a");
  if (is_sequence(prototype)) prototype = array_of(t, prototype, call.node);
  if (const std::optional<Kind> kind = number_kind(prototype))
    prototype = filled(t, {}, stage(t, prototype, *kind));
  const Array* a = prototype.as<Array>();
  if (a == nullptr)
    unsupported(t, call.node, "`np." + call.name + "` of a " + type_name(t, prototype), "give it an array");
  const DType dtype = dtype_argument(t, call, 1, a->type.dtype());
  const std::string lie = order_argument(t, call, 2, "K");
  argument(t, call, 3, "subok");
  const Value* shape = argument(t, call, 4, "shape");
  const bool reshaped = shape != nullptr && !is_none(*shape);
  const std::vector<NodeId> lengths = reshaped ? shape_argument(t, *shape) : lengths_of(t, a->node);
  need_no_device(t, call);
  finish(t, call, 5);
  if (lie == "A" && a->type.rank() > 1) {
    const Value fortran =
        call_library(t, "shapes", "is_fortran", {named(t, prototype), Static{nb::str("A")}}, call.node);
    const auto in_order = [&](bool reversed) {
      return [&, reversed] {
        return Value(
            new_array(t, lengths, reversed, [&](auto as_they_lie) { return make(t, as_they_lie, dtype); }));
      };
    };
    return fork(t, truth(t, fortran, call.node), in_order(true), in_order(false));
  }
  std::vector<int64_t> axes(lengths.size());
  std::iota(axes.begin(), axes.end(), 0);
  const bool alike = lengths.size() == static_cast<size_t>(a->type.rank());
  const std::vector<int64_t> own = order_of(t, {&a->node, 1});
  if (lie == "K" && alike) axes = own;
  if (lie == "F") std::ranges::reverse(axes);
  std::vector<NodeId> as_they_lie;
  as_they_lie.reserve(axes.size());
  for (const int64_t axis : axes) as_they_lie.push_back(lengths[static_cast<size_t>(axis)]);
  return owner(t, transposed(t, make(t, as_they_lie, dtype).node, inverse_of(axes)));
}

}  // namespace

Value np_empty_like(Tracer& t, Call& call) { return like(t, call, empty); }
Value np_zeros_like(Tracer& t, Call& call) { return like(t, call, zeros); }
Value np_ones_like(Tracer& t, Call& call) { return like(t, call, ones); }

Value np_full_like(Tracer& t, Call& call) {
  Value value = need(t, call, 1, "fill_value");
  if (is_sequence(value)) value = array_of(t, value, call.node);
  if (!kind_of(value))
    unsupported(t, call.node, "np.full_like with a " + type_name(t, value), "use a number");
  Call rest = call;
  if (rest.positional.size() > 1) rest.positional.erase(rest.positional.begin() + 1);
  if (array_type_of(value)) {
    const Value result = like(t, rest, empty);
    assign_index(t, *result.as<Array>(), Static{nb::ellipsis()}, value, call.node);
    return result;
  }
  return like(t, rest, [&](Tracer&, auto lengths, DType dtype) {
    const Kind kind = base::known(kind_of(value));
    const bool is_cast = loses_class(kind, dtype);
    return filled(t, lengths,
                  is_cast ? t.builder->cast(stage(t, value, kind), dtype) : value_for(t, value, dtype));
  });
}

Value np_arange(Tracer& t, Call& call) {
  Value start = Static{nb::int_(0)};
  const Value* const first_given = argument(t, call, 0, "start");
  Value stop = first_given != nullptr ? *first_given : need(t, call, 1, "stop");
  Value step = Static{nb::int_(1)};
  if (const Value* end = argument(t, call, 1, "stop");
      first_given != nullptr && end != nullptr && !is_none(*end)) {
    start = stop;
    stop = *end;
  }
  if (const Value* by = argument(t, call, 2, "step"); by != nullptr && !is_none(*by)) step = *by;
  need_no_device(t, call);
  std::vector<Kind> kinds{Kind(DType::Int64)};
  bool plain = true;
  for (const Value& v : {start, stop, step}) {
    const std::optional<Kind> kind = number_kind(v);
    if (!kind || base::is_complex(kind->dtype()))
      unsupported(t, call.node, "np.arange of a " + type_name(t, v), "use real numbers");
    const bool is_large = side_of_64_bits(v) != 0;
    plain = plain && !is_large &&
            (kind->is_python() || *kind == Kind(DType::Int64) || *kind == Kind(DType::Float64));
    kinds.push_back(is_large ? Kind(DType::UInt64) : Kind(kind->dtype()));
  }
  const Kind kind = result_kind(kinds);
  const DType dtype = dtype_argument(t, call, 3, kind.dtype());
  finish(t, call, 4);
  if (!plain || Kind(dtype) != kind) {
    const nb::object spelled = imported("numpy").attr("dtype")(std::string(base::info(dtype).numpy));
    return call_library(t, "creation", "numbers_between", {start, stop, step, Static{spelled}}, call.node);
  }
  const auto vector = [&](NodeId length) { return t.builder->make(Op::iota, {length}, {0}); };
  if (base::is_int(kind.dtype())) {
    check(t, t.builder->make(Op::not_equal, {stage_index(t, step), t.builder->index(0)}),
          ExceptionKind::ZeroDivisionError, "division by zero");
    const Range range{share(std::array<Value, 3>{start, stop, step})};
    const NodeId count = trips_of(t, range, call.node).count;
    const NodeId scaled = t.builder->make(Op::multiply, {vector(count), stage_index(t, step)});
    return from_node(t, t.builder->make(Op::add, {scaled, stage_index(t, start)}));
  }
  const NodeId first = stage(t, start, Kind::py_float());
  const NodeId by = stage(t, step, Kind::py_float());
  const NodeId span = t.builder->make(Op::subtract, {stage(t, stop, Kind::py_float()), first});
  check(t, t.builder->make(Op::not_equal, {by, t.builder->constant(0.0)}), ExceptionKind::ZeroDivisionError,
        "float division by zero");
  const NodeId iterations = t.builder->make(Op::ceil, {t.builder->make(Op::divide, {span, by})});
  check(t, t.builder->make(Op::equal, {iterations, iterations}), ExceptionKind::ValueError,
        "arange: cannot compute length");
  check(t, t.builder->make(Op::less, {iterations, t.builder->constant(0x1p62)}), ExceptionKind::ValueError,
        "Maximum allowed size exceeded");
  const NodeId count =
      t.builder->make(Op::maximum, {t.builder->cast(iterations, DType::Int64), t.builder->index(0)});
  // NumPy computes first + i * ((first + step) - first).
  const NodeId delta = t.builder->make(Op::subtract, {t.builder->make(Op::add, {first, by}), first});
  const NodeId scaled =
      t.builder->make(Op::multiply, {t.builder->cast(vector(count), DType::Float64), delta});
  return from_node(t, t.builder->make(Op::add, {scaled, first}));
}

Value primitive_select(Tracer& t, Call& call) {
  std::vector<Kind> kinds;
  for (const Value& v : call.positional) {
    const std::optional<Kind> kind = kind_of(v);
    if (!kind) unsupported(t, call.node, "np.where of a " + type_name(t, v), "use numbers and arrays");
    kinds.push_back(*kind);
  }
  const DType dtype = result_kind(std::span(kinds).subspan(1)).dtype();
  // Python's numbers are cast here like NumPy's: -3 with a uint8 is 253.
  const auto operand = [&](const Value& v, DType wanted) { return node_as(t, v, wanted); };
  std::vector<NodeId> nodes = {operand(call.positional[0], DType::Bool), operand(call.positional[1], dtype),
                               operand(call.positional[2], dtype)};
  nodes = broadcast_together(t, std::move(nodes));
  const NodeId result = by_element(
      t, std::move(nodes), [&](const auto& operands) { return t.builder->make(Op::select, operands); });
  if (t.builder->function().type(result).is_array()) return from_node(t, result);
  return filled(t, {}, result);  // as NumPy does
}

Value np_matmul(Tracer& t, Call& call) {
  if (!call.keywords.empty() && (needs_library(call, true) || has_axes(call)))
    return ufunc_by_library(t, call);
  make_arrays(t, call, 2);
  const Value a = need(t, call, 0, "x1");
  const Value b = need(t, call, 1, "x2");
  const std::optional<Value> out = output_argument(t, call, 2);
  finish(t, call, 3);
  const auto make = [&] { return matmul(t, a, b, call.node); };
  return out ? into_output(t, *out, call, make, nullptr) : make();
}

Value np_dot(Tracer& t, Call& call) {
  make_arrays(t, call, 2);
  const Value a = need(t, call, 0, "a");
  const Value b = need(t, call, 1, "b");
  const Value* out = argument(t, call, 2, "out");
  finish(t, call, 3);
  const auto axes = [](const Value& v) { return rank_of(v).value_or(0); };
  const bool is_into = out != nullptr && !is_none(*out);
  const auto is_product = [&](const Value& v) { return axes(v) == 1 || axes(v) == 2; };
  if (is_into || !is_product(a) || !is_product(b)) {
    std::vector<Value> given{a, b};
    if (is_into) given.push_back(*out);
    return call_library(t, "products", "dot", std::move(given), call.node);
  }
  return matmul(t, a, b, call.node, true);
}

namespace {

/// `copy` as a function and as a method, whose default orders are NumPy's K and C.
Value copy(Tracer& t, Call& call, const char* otherwise) {
  const Value value = need(t, call, 0, "a");
  const std::string lie = order_argument(t, call, 1, otherwise);
  argument(t, call, 2, "subok");
  finish(t, call, 3);
  if (!array_type_of(value)) unsupported(t, call.node, "a copy of a " + type_name(t, value), "use the value");
  if (lie == "A") return call_library(t, "creation", "copy_as_it_lies", {named(t, value)}, call.node);
  const NodeId array = whole(t, value);
  if (t.builder->function().type(array).is_scalar()) return filled(t, {}, array);
  if (lie == "K") return owner(t, materialized(t, array));
  if (lie == "C") return owner(t, t.builder->make(Op::materialize, {array}));
  std::vector<int64_t> axes(static_cast<size_t>(t.builder->function().type(array).rank()));
  std::iota(axes.rbegin(), axes.rend(), 0);
  return owner(t, transposed(t, t.builder->make(Op::materialize, {transposed(t, array, axes)}), axes));
}

}  // namespace

Value np_copy(Tracer& t, Call& call) { return copy(t, call, "K"); }
Value array_copy(Tracer& t, Call& call) { return copy(t, call, "C"); }

Value np_astype(Tracer& t, Call& call) {
  const Value value = need(t, call, 0, "a");
  const Call given = call;
  const DType dtype = dtype_argument(t, call, 1, DType::Float64);
  if (call.positional.size() > 2 ||
      std::ranges::any_of(call.keywords, [](const auto& keyword) { return !keyword.first.empty(); })) {
    const nb::object function = imported("ingot.library.creation").attr("astype_of_array");
    if (binds(function, given)) {
      Call whole = given;
      return inline_function(t, function, whole);
    }
  }
  finish(t, call, 2);
  if (!array_type_of(value)) return Scalar{Kind(dtype), stage(t, value, Kind(dtype))};
  const NodeId array = whole(t, value);
  if (t.builder->function().type(array).is_scalar()) return filled(t, {}, t.builder->cast(array, dtype));
  return owner(t, materialized(t, t.builder->cast(array, dtype)));
}

Value np_scalar_type(Tracer& t, Call& call) {
  const Value value = call.positional.empty() ? Value(Static{nb::int_(0)}) : call.positional[0];
  finish(t, call, 1);
  const nb::object type = imported("numpy").attr(call.name.c_str());
  if (const nb::object known = known_of(value); known.is_valid())
    return by_python(t, [&] { return Static{type(known)}; });
  const std::optional<Kind> kind = kind_of(value);
  if (!kind)
    unsupported(t, call.node, "np." + call.name + " of a " + type_name(t, value), "give it a number");
  for (int i = 0; i < base::kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (base::info(dtype).numpy != call.name) continue;
    // Python's numbers must fit; NumPy's are cast.
    if (kind->is_python()) return from_node(t, value_for(t, value, dtype));
    return from_node(t, node_as(t, value, dtype));
  }
  throw base::InternalError("a scalar type of NumPy without dtype");
}

}  // namespace ingot::frontend
