#include "frontend/arrays/arrays.h"

#include <numeric>

#include "frontend/arrays/arguments.h"
#include "frontend/arrays/memory_order.h"
#include "frontend/arrays/scalars.h"
#include "frontend/kinds/strings.h"
#include "frontend/tracer/evaluate.h"
#include "frontend/tracer/python_objects.h"

namespace ingot::frontend {

using base::ExceptionKind;
using ir::Op;

namespace {

/// `(2,3)` as NumPy's messages show a shape, with holes for its lengths, which join `shown`.
std::string show_shape(std::span<const NodeId> lengths, std::vector<NodeId>& shown);

}  // namespace

NodeId both(Tracer& t, NodeId a, NodeId b) { return t.builder->make(Op::bitwise_and, {a, b}); }
NodeId negate(Tracer& t, NodeId a) { return t.builder->make(Op::invert, {a}); }

NodeId whole(Tracer& t, const Value& value) {
  const Array& a = *value.as<Array>();
  if (a.type.is_array()) return a.node;
  return t.builder->make(a.type.rank() == 0 ? Op::load : Op::read, {a.node});
}

Array named(Tracer& t, const Value& value) {
  const Array& a = *value.as<Array>();
  return a.type.is_view() ? a : owner(t, materialized(t, a.node));
}

NodeId materialized(Tracer& t, NodeId array) {
  return by_element(t, {array},
                    [&](const auto& as_it_lies) { return t.builder->make(Op::materialize, as_it_lies); });
}

NodeId transposed(Tracer& t, NodeId array, std::span<const int64_t> axes) {
  return std::ranges::is_sorted(axes) ? array : t.builder->make(Op::transpose, {&array, 1}, axes);
}

std::vector<int64_t> order_of(Tracer& t, std::span<const NodeId> operands) {
  return memory_order(t.builder->function(), operands, [&t](NodeId array, int axis) {
    const NodeId one = t.builder->make(Op::equal, {t.builder->length(array, axis), t.builder->index(1)});
    return t.builder->function().is_constant(one, 1);
  });
}

NodeId by_element(Tracer& t, std::vector<NodeId> operands, const Making& make) {
  const std::vector<int64_t> order = order_of(t, operands);
  for (NodeId& operand : operands)
    if (!t.builder->function().type(operand).is_scalar()) operand = transposed(t, operand, order);
  return transposed(t, make(operands), inverse_of(order));
}

Array owner(Tracer& t, NodeId view) {
  return {
      .type = t.builder->function().type(view), .node = view, .object = t.facts.next_object++, .owns = true};
}

Array viewing(Tracer& t, NodeId view, Access access) {
  return {.type = t.builder->function().type(view),
          .node = view,
          .access = access,
          .object = t.facts.next_object++};
}

Value from_node(Tracer& t, NodeId node) {
  const ir::Type type = t.builder->function().type(node);
  if (type.is_scalar()) return Scalar{Kind(type.dtype()), node};
  return Array{type, node};
}

std::vector<NodeId> lengths_of(Tracer& t, NodeId shaped) {
  std::vector<NodeId> lengths;
  for (int axis = 0; axis < t.builder->function().type(shaped).rank(); ++axis)
    lengths.push_back(t.builder->length(shaped, axis));
  return lengths;
}

NodeId size_of(Tracer& t, NodeId shaped) {
  NodeId size = t.builder->index(1);
  for (const NodeId length : lengths_of(t, shaped)) size = t.builder->make(Op::multiply, {size, length});
  return size;
}

void measure(Tracer& t, NodeId length) {
  const ir::Function& f = t.builder->function();
  if (f.op(length) != Op::length) return;
  const NodeId measured = f.operand(length, 0);
  const auto argument = t.unmeasured.find(measured.index);
  if (argument == t.unmeasured.end() || f.attribute(length, 0) + 1 != f.type(measured).rank()) return;
  throw NeedsFact::of(argument->second, location_of(t, t.here), NeedsFact::Kind::Lengths);
}

namespace {

/// What is combined with rows that are known to be short is short as well.
void measure_beside(Tracer& t, NodeId known, NodeId length) {
  const ir::Function& f = t.builder->function();
  if (!f.is_constant(known)) return;
  const auto count = f.constant(known).as<int64_t>();
  if (count > 1 && count <= ir::kLongestShort) measure(t, length);
}

}  // namespace

NodeId reduce(Tracer& t, std::vector<NodeId> operands, Op combiner, std::span<const int64_t> axes) {
  std::vector<int64_t> order = order_of(t, {operands.data(), 1});
  // Axes of length 1 have no order: they should not be the last.
  std::ranges::stable_partition(order, [&](int64_t axis) {
    return t.builder->function().is_constant(t.builder->length(operands[0], static_cast<int>(axis)), 1);
  });
  for (NodeId& operand : operands) operand = transposed(t, operand, order);
  std::vector<int64_t> attributes{static_cast<int64_t>(combiner)};
  std::vector<int64_t> kept;
  for (size_t i = 0; i < order.size(); ++i) {
    if (std::ranges::find(axes, order[i]) != axes.end()) attributes.push_back(static_cast<int64_t>(i));
    else kept.push_back(order[i]);
  }
  if (axes.size() == 1 && attributes.back() + 1 == static_cast<int64_t>(order.size()))
    measure(t, t.builder->length(operands[0], static_cast<int>(attributes.back())));
  const NodeId reduced = t.builder->make(Op::reduce, operands, attributes);
  // The axes that are kept, numbered as in the result.
  for (int64_t& axis : kept) axis -= std::ranges::count_if(axes, [&](int64_t gone) { return gone < axis; });
  return kept.empty() ? reduced : transposed(t, reduced, inverse_of(kept));
}

NodeId reduce_all(Tracer& t, const std::vector<NodeId>& operands, Op combiner) {
  std::vector<int64_t> axes(static_cast<size_t>(t.builder->function().type(operands[0]).rank()));
  std::iota(axes.begin(), axes.end(), 0);
  return reduce(t, operands, combiner, axes);
}

/// How many numbers a message shows: the lengths of two arrays of any rank.
constexpr size_t kMaxShown = 2 * ir::kMaxRank;

std::vector<NodeId> broadcast_together(Tracer& t, std::vector<NodeId> operands, ExceptionKind kind,
                                       const char* complaint) {
  const ir::Function& f = t.builder->function();
  int rank = -1;
  for (const NodeId operand : operands)
    if (f.type(operand).is_array()) rank = std::max(rank, f.type(operand).rank());
  if (rank < 0) return operands;
  std::vector<NodeId> shown;
  std::string shapes;
  for (const std::vector<NodeId>& all : {operands, t.outputs})
    for (const NodeId operand : all)
      shapes += (f.type(operand).is_scalar() ? "()" : show_shape(lengths_of(t, operand), shown)) + " ";
  if (shown.size() > kMaxShown) {
    shapes = "of different lengths";
    shown.clear();
  }
  const NodeId one = t.builder->index(1);
  const auto is_one = [&](NodeId length) { return t.builder->make(Op::equal, {length, one}); };
  // For each axis: the common length, and the lengths that are checked to be equal to it.
  std::vector<std::vector<NodeId>> common(static_cast<size_t>(rank));
  for (const NodeId operand : operands) {
    if (!f.type(operand).is_array()) continue;
    const std::vector<NodeId> lengths = lengths_of(t, operand);
    for (size_t i = 0; i < lengths.size(); ++i) {
      std::vector<NodeId>& known = common[common.size() - lengths.size() + i];
      if (known.empty()) known.push_back(lengths[i]);
      if (std::ranges::find(known, lengths[i]) != known.end()) continue;
      measure_beside(t, known[0], lengths[i]);
      measure_beside(t, lengths[i], known[0]);
      const NodeId same = t.builder->make(Op::equal, {known[0], lengths[i]});
      const NodeId one_is_1 = t.builder->make(Op::bitwise_or, {is_one(known[0]), is_one(lengths[i])});
      check(t, t.builder->make(Op::bitwise_or, {same, one_is_1}), kind, complaint + shapes, shown);
      if (f.is_constant(one_is_1, 0)) {
        known.push_back(lengths[i]);
        continue;
      }
      const NodeId merged = t.builder->make(Op::select, {is_one(known[0]), lengths[i], known[0]});
      if (merged != known[0]) known = {merged};
    }
  }
  for (const NodeId output : t.outputs) {
    const std::vector<NodeId> lengths = lengths_of(t, output);
    for (size_t i = 0; i < std::min(lengths.size(), common.size()); ++i) {
      const std::vector<NodeId>& known = common[common.size() - 1 - i];
      const NodeId length = lengths[lengths.size() - 1 - i];
      if (std::ranges::find(known, length) != known.end()) continue;
      const NodeId same = t.builder->make(Op::equal, {known[0], length});
      const NodeId one_is_1 = t.builder->make(Op::bitwise_or, {is_one(known[0]), is_one(length)});
      check(t, t.builder->make(Op::bitwise_or, {same, one_is_1}), kind, complaint + shapes, shown);
    }
  }
  for (NodeId& operand : operands) {
    if (!f.type(operand).is_array()) continue;
    const std::vector<NodeId> lengths = lengths_of(t, operand);
    bool fits = lengths.size() == common.size();
    for (size_t i = 0; fits && i < lengths.size(); ++i)
      fits = std::ranges::find(common[i], lengths[i]) != common[i].end();
    if (fits) continue;
    std::vector<NodeId> wanted;
    for (const std::vector<NodeId>& lengths_of_axis : common) wanted.push_back(lengths_of_axis[0]);
    operand = repeated(t, operand, wanted);
  }
  return operands;
}

NodeId value_for(Tracer& t, const Value& value, DType dtype, bool among) {
  const std::optional<Kind> kind = kind_of(value);
  const auto place = [&]() -> nb::object {
    return imported("numpy").attr("zeros")(nb::make_tuple(1), std::string(base::info(dtype).numpy));
  };
  if (is_foreign(t, value))
    use_foreign(t, "store", "", {Static{place()}, Static{nb::int_(0)}, value}, t.here);
  const auto stored_one = [&](const Value& one) { return from_node(t, value_for(t, one, dtype, among)); };
  if (const auto made = kind_of_value(value).by_presence(t, value, stored_one, t.here))
    return value_for(t, *made, dtype, among);
  const nb::object known = known_of(value);
  if (known.is_valid() && (known.is_none() || PyUnicode_Check(known.ptr()))) {
    // NumPy converts it to a number, or raises.
    const nb::object one = place();
    by_python(t, [&] { one[nb::int_(0)] = known; });
    return value_for(t, Static{one[nb::int_(0)]}, dtype, among);
  }
  if (!kind) {
    if (known.is_valid() || is_sequence(value) || Strings::is_string(value)) {
      unsupported(t, {}, "assigning a " + type_name(t, value) + " to part of an array",
                  "assign element by element");
    }
    raise(t, ExceptionKind::TypeError,
          "float() argument must be a string or a real number, not '" + type_name(t, value) + "'");
  }
  if (*kind == Kind::py_complex() && !base::is_complex(dtype) && !base::is_bool(dtype)) {
    raise(t, ExceptionKind::TypeError,
          base::is_int(dtype)
              ? "int() argument must be a string, a bytes-like object or a real number, not 'complex'"
              : "float() argument must be a string or a real number, not 'complex'");
  }
  if (array_type_of(value)) return t.builder->cast(whole(t, value), dtype);
  if (among && !kind->is_python()) return stage(t, value, dtype);
  if (base::is_int(kind->dtype()) && !kind->is_python() && base::is_int(dtype) && base::is_signed(dtype)) {
    const NodeId integer = stage(t, value, Kind::py_int());
    if (kind->dtype() == DType::UInt64) {
      check(t, t.builder->make(Op::greater_equal, {integer, t.builder->index(0)}),
            ExceptionKind::OverflowError, "Python int too large to convert to C long");
    }
    return stage_for_loop(t, Scalar{Kind::py_int(), integer}, dtype);
  }
  // A float becomes a Python int on its way into integers; a NumPy one only into signed ones.
  const bool inexact = base::is_float(kind->dtype()) || base::is_complex(kind->dtype());
  if (inexact && base::is_int(dtype) && (kind->is_python() || base::is_signed(dtype))) {
    const NodeId number = stage(t, value, Kind::py_float());
    check(t, negate(t, t.builder->make(Op::isnan, {number})), ExceptionKind::ValueError,
          "cannot convert float NaN to integer");
    check(t, negate(t, t.builder->make(Op::isinf, {number})), ExceptionKind::OverflowError,
          "cannot convert float infinity to integer");
    // Beyond the range of int64 only uint64 has numbers, up to 2**64.
    const bool widest = dtype == DType::UInt64;
    const NodeId low = t.builder->make(Op::greater_equal, {number, t.builder->constant(-0x1p63)});
    const NodeId high = t.builder->make(Op::less, {number, t.builder->constant(widest ? 0x1p64 : 0x1p63)});
    check(t, both(t, low, high), ExceptionKind::OverflowError, "Python int too large to convert to C long");
    if (!widest)
      return stage_for_loop(t, Scalar{Kind::py_int(), t.builder->cast(number, DType::Int64)}, dtype);
    const NodeId whole_number = t.builder->make(Op::trunc, {number});
    check(t, t.builder->make(Op::greater_equal, {whole_number, t.builder->constant(0.0)}),
          ExceptionKind::OverflowError, "Python integer {} out of bounds for uint64",
          {t.builder->cast(number, DType::Int64)});
    return t.builder->cast(number, dtype);
  }
  return stage_for_loop(t, value, dtype);
}

namespace {

std::string show_shape(std::span<const NodeId> lengths, std::vector<NodeId>& shown) {
  std::string text = "(";
  for (const NodeId length : lengths) {
    shown.push_back(length);
    text += "{},";
  }
  if (lengths.size() > 1) text.pop_back();
  return text + ")";
}

void check_shapes(Tracer& t, NodeId condition, ExceptionKind kind, const std::string& message,
                  std::span<const NodeId> shown) {
  check(t, condition, kind, message, shown);
}

}  // namespace

/// An operation's result, and so its operands, must broadcast to the array that stores it.
void need_shape(Tracer& t, const Array& result, std::span<const NodeId> lengths) {
  const std::vector<NodeId> own = lengths_of(t, result.node);
  std::vector<NodeId> shown;
  std::string message = "non-broadcastable output operand with shape " + show_shape(lengths, shown);
  message += " doesn't match the broadcast shape " + show_shape(own, shown);
  NodeId fits = t.builder->constant(own.size() <= lengths.size());
  for (size_t i = 0; i < own.size() && own.size() <= lengths.size(); ++i) {
    const NodeId wanted = lengths[lengths.size() - own.size() + i];
    if (own[i] == wanted) continue;
    const NodeId is_one = t.builder->make(Op::equal, {own[i], t.builder->index(1)});
    fits = both(t, fits,
                t.builder->make(Op::bitwise_or, {t.builder->make(Op::equal, {own[i], wanted}), is_one}));
  }
  check_shapes(t, fits, ExceptionKind::ValueError, message, shown);
}

NodeId fit(Tracer& t, NodeId value, std::span<const NodeId> lengths, bool gathered) {
  if (!t.builder->function().type(value).is_array()) return value;
  std::vector<NodeId> own = lengths_of(t, value);
  const std::vector<NodeId> given = own;
  const NodeId one = t.builder->index(1);
  const auto need = [&](NodeId condition) {
    std::vector<NodeId> shown;
    std::string message =
        gathered ? "shape mismatch: value array of shape " + show_shape(given, shown) +
                       " could not be broadcast to indexing result of shape "
                 : "could not broadcast input array from shape " + show_shape(own, shown) + " into shape ";
    message += show_shape(lengths, shown);
    check_shapes(t, condition, ExceptionKind::ValueError, message, shown);
  };
  // Leading axes of length 1 that the target does not have are dropped.
  while (own.size() > lengths.size()) {
    need(t.builder->make(Op::equal, {own[0], one}));
    value = t.builder->make(Op::squeeze, {value}, {0});
    own.erase(own.begin());
  }
  bool equal = own.size() == lengths.size();
  for (size_t i = 0; i < own.size(); ++i) {
    const NodeId wanted = lengths[lengths.size() - own.size() + i];
    if (own[i] == wanted) continue;
    const NodeId is_one = t.builder->make(Op::equal, {own[i], one});
    need(t.builder->make(Op::bitwise_or, {t.builder->make(Op::equal, {own[i], wanted}), is_one}));
    if (!t.builder->function().is_constant(is_one, 0)) equal = false;
  }
  return equal ? value : repeated(t, value, lengths);
}

NodeId repeated(Tracer& t, NodeId value, std::span<const NodeId> lengths) {
  std::vector<NodeId> operands{value};
  operands.insert(operands.end(), lengths.begin(), lengths.end());
  return t.builder->make(Op::broadcast, operands);
}

void need_writable(Tracer& t, const Array& array, const char* complaint, nb::handle node) {
  if (array.access == Access::Differs)
    unsupported(t, node, "writing into an array that is read-only on one path only", "make a copy of it");
  if (array.access == Access::ReadOnly) raise(t, ExceptionKind::ValueError, complaint);
}

/// In the library they are arrays like others.
void need_no_memory_maps(Tracer& t, const std::string& what, nb::handle node) {
  if (t.has_memory_maps && !t.frame->of_library)
    unsupported(t, node, what + " in a function that is given a memory map",
                "use it outside of the function, or pass np.asarray(...) of the memory map");
}

Value array_attribute(Tracer& t, const Array& array, const std::string& name, nb::handle node) {
  if (name == "shape") {
    Tuple shape;
    for (const NodeId length : lengths_of(t, array.node))
      shape.members.emplace_back(Scalar{Kind::py_int(), length});
    return shape;
  }
  if (name == "ndim") return Static{nb::int_(array.type.rank())};
  if (name == "size") return Scalar{Kind::py_int(), size_of(t, array.node)};
  if (name == "itemsize") return Static{nb::int_(base::size_of(array.type.dtype()))};
  if (name == "dtype")
    return Static{imported("numpy").attr("dtype")(std::string(base::info(array.type.dtype()).numpy))};
  if (name == "T") {
    const Array view = named(t, array);
    if (array.type.rank() < 2) return viewing(t, view.node, view.access);
    std::vector<int64_t> axes(static_cast<size_t>(array.type.rank()));
    std::iota(axes.rbegin(), axes.rend(), 0);
    const NodeId operand[] = {view.node};
    return viewing(t, t.builder->make(Op::transpose, operand, axes), view.access);
  }
  if (name == "ctypes") return pointer_to(t, array, imported("ingot._objects.c_functions").attr("INTERFACE"));
  if (name == "strides") {
    Tuple strides;
    const Array view = named(t, array);
    for (int axis = 0; axis < array.type.rank(); ++axis)
      strides.members.emplace_back(Scalar{Kind::py_int(), t.builder->make(Op::stride, {view.node}, {axis})});
    return strides;
  }
  if (t.registry.method(name) >= 0) return Method{share(Value(array)), name};
  if (const nb::object member = t.registry.member(name); member.is_valid()) {
    if (PyCallable_Check(member.ptr()) != 0) return Method{share(Value(array)), name};
    Call call{.positional = {array}, .name = name, .node = node};
    return inline_function(t, t.registry.find(member)->library, call);
  }
  if (!has_attribute(imported("numpy").attr("ndarray"), name.c_str())) {
    need_no_memory_maps(t, "the attribute `" + name + "`", node);
    raise(t, ExceptionKind::AttributeError, "'numpy.ndarray' object has no attribute '" + name + "'");
  }
  unsupported(t, node, "the array attribute `" + name + "`", "use a NumPy function");
}

}  // namespace ingot::frontend
