#include "frontend/arrays/arrays.h"

#include "frontend/arrays/indexing.h"
#include "frontend/arrays/numpy.h"
#include "frontend/arrays/ufuncs.h"
#include "frontend/expressions/expressions.h"
#include "frontend/joins/joins.h"
#include "frontend/kinds/numbers.h"
#include "frontend/kinds/objects.h"
#include "frontend/kinds/sequences.h"
#include "frontend/kinds/strings.h"
#include "frontend/tracer/evaluate.h"
#include "frontend/tracer/python_objects.h"

namespace ingot::frontend {

using ir::Op;

namespace {

class ArrayKind final : public OperandKind {
 public:
  void renumber(Value& value, const Renumber&, const Renumber& array) const override {
    Array& own = *value.as<Array>();
    if (own.object != 0) own.object = array(own.object);
  }
  void change_nodes(Value& value, const OtherNode& other) const override {
    Array& own = *value.as<Array>();
    own.node = other(own.node);
    own.origin = other(own.origin);
  }
  bool is_leaf() const override { return true; }

  Value shape(const Value& value, const Stays& stays) const override {
    const Array& array = *value.as<Array>();
    Array shape = array;
    // Joined arrays are memory: values become views on their paths.
    if (shape.type.is_array()) {
      shape.type = shape.type.as_view();
      shape.owns = true;
    }
    if (!array.node || array.type.is_array() || !stays(array.node)) shape.node = {};
    return !array.origin || stays(array.origin) ? shape : with_open_origin(shape);
  }
  bool is_same(const Value& a, const Value& b) const override {
    const Array& x = *a.as<Array>();
    const Array& y = *b.as<Array>();
    return x.node == y.node && x.type == y.type && x.argument == y.argument && x.origin == y.origin &&
           x.access == y.access && x.object == y.object && x.owns == y.owns;
  }
  Answer join(Tracer& t, const Value& a, const Value& b, const std::string& what) const override;
  void slot_types(ir::TypeTable&, const Value& shape, Types& out) const override {
    const Array& array = *shape.as<Array>();
    if (!array.node) out.push_back(array.type);
    if (array.argument == kOpenOrigin) out.push_back(ir::kInt64);
  }
  void carry(Tracer& t, const Value& shape, const Value& actual, Nodes& out) const override {
    const Array& array = *shape.as<Array>();
    const Array& from = *actual.as<Array>();
    if (!array.node) out.push_back(named(t, actual).node);
    if (array.argument == kOpenOrigin)
      out.push_back(from.origin ? from.origin : t.builder->index(from.argument));
  }
  Value fill(Tracer&, const Value& shape, const NextNode& next) const override {
    Array array = *shape.as<Array>();
    if (!array.node) array.node = next();
    if (array.argument != kOpenOrigin) return array;
    array.argument = -1;
    array.origin = next();
    return array;
  }
  Value blank(Tracer& t, const Value& shape) const override {
    Array array = *shape.as<Array>();
    const std::vector<NodeId> lengths(static_cast<size_t>(array.type.rank()), t.builder->index(0));
    if (!array.node) array.node = new_memory(t, lengths, array.type.dtype()).node;
    if (array.argument == kOpenOrigin) array.argument = -1;
    return array;
  }
  Value key(const Tracer&, const Value& value) const override {
    const Array& array = *value.as<Array>();
    return Array{.type = ir::Type::view(array.type.dtype(), array.type.rank()), .access = array.access};
  }
  Answer form(Tracer&, const Value& value) const override {
    const Array& array = *value.as<Array>();
    return Array{.type = array.type.as_view(), .access = array.access, .owns = is_own(array)};
  }
  void column_kinds(const Value& form, std::vector<Kind>& kinds) const override {
    kinds.insert(kinds.end(), count_of_columns(form), Kind::py_int());
  }
  void numbers(Tracer& t, const Value& form, const Value& element, Nodes& out) const override;
  Value element(Tracer& t, const Value& form, const NextNode& next) const override {
    Array array = *form.as<Array>();
    std::vector<NodeId> operands{t.builder->make(Op::kept, {next()}), next()};
    array.origin = next();
    for (int i = 0; i < 2 * array.type.rank(); ++i) operands.push_back(next());
    array.node = t.builder->make(Op::view, operands, {}, array.type);
    return array;
  }
  void convert(Tracer&, const Value&, const Value& to, Conversion& columns) const override {
    for (size_t i = 0; i < count_of_columns(to); ++i) columns.add(columns.next());
  }
  std::optional<Description> describe(Tracer& t, const Value& value, Outward& outward) const override;

  std::string words(const Tracer&, const Value& value) const override {
    const ir::Type type = value.as<Array>()->type;
    std::string axes = type.rank() > 0 ? ":" : "";
    for (int i = 1; i < type.rank(); ++i) axes += ", :";
    return "an array " + std::string(base::info(type.dtype()).numpy) + "[" + axes + "]";
  }
  std::string type_name(const Tracer&, const Value&) const override { return "numpy.ndarray"; }
  nb::object type_of(Tracer& t, const Value&, nb::handle node) const override {
    need_no_memory_maps(t, "the class of an array", node);
    return frontend::attribute(imported("numpy"), "ndarray");
  }
  nb::object stand_in(const Tracer&, const Value& value) const override {
    const ir::Type type = value.as<Array>()->type;
    nb::list shape;
    for (int i = 0; i < type.rank(); ++i) shape.append(1);
    return imported("numpy").attr("ones")(nb::tuple(shape), std::string(base::info(type.dtype()).numpy));
  }

  Answer attribute(Tracer& t, const Value& value, const std::string& name, nb::handle node) const override {
    return array_attribute(t, *value.as<Array>(), name, node);
  }
  bool takes_open_bounds() const override { return true; }
  Answer item(Tracer& t, const Value& value, const Value& index, nb::handle node) const override {
    return index_array(t, *value.as<Array>(), plain_number(t, index), node);
  }
  bool set_item(Tracer& t, const Value& value, const Value& index, const Value& item,
                nb::handle node) const override {
    if (is_instance(index) || is_instance(item))
      unsupported(t, node, "an instance as an index or an element of an array", "use its parts");
    assign_index(t, *value.as<Array>(), plain_number(t, index), plain_number(t, item), node);
    return true;
  }
  bool delete_item(Tracer& t, const Value&, const Value&, nb::handle) const override {
    raise(t, base::ExceptionKind::ValueError, "cannot delete array elements");
  }
  bool set_attribute(Tracer& t, const Value& value, const std::string& name, const Value& attribute,
                     nb::handle node) const override {
    if (name != "flat") return false;
    call_library(t, "shapes", "set_flat", {value, attribute}, node);
    return true;
  }
  Answer method(Tracer& t, const Value& value, const std::string& name, Call& call) const override {
    if (Answer result = call_numpy_method(t, value, name, call)) return result;
    unsupported(t, call.node, "the array method `" + name + "`", "use a NumPy function");
  }
  /// The array's dtype and shape do not change.
  Answer in_place(Tracer& t, Operator op, const Value& value, const Value& right,
                  nb::handle node) const override {
    frontend::in_place(t, *value.as<Array>(), op, right, node);
    return Unbound{};
  }
  Answer length(Tracer& t, const Value& value, nb::handle) const override {
    const Array& array = *value.as<Array>();
    if (array.type.rank() == 0) raise(t, base::ExceptionKind::TypeError, "len() of unsized object");
    return Scalar{Kind::py_int(), t.builder->length(array.node, 0)};
  }
  std::optional<ir::Type> array_type(const Value& value) const override { return value.as<Array>()->type; }
  std::optional<int> rank(const Value& value) const override { return value.as<Array>()->type.rank(); }
  std::optional<Trips> trips(Tracer& t, const Value& value, nb::handle node) const override {
    if (rank(value) == 0) raise(t, base::ExceptionKind::TypeError, "iteration over a 0-d array");
    const Array array = named(t, value);
    return Trips{t.builder->length(array.node, 0), [&t, array, node](NodeId k) {
                   return index_array(t, array, Scalar{Kind::py_int(), k}, node);
                 }};
  }
  Answer rest(Tracer& t, const Value& value, const Value& taken, Known, nb::handle node) const override {
    return eval_item(t, value, slice_from(taken), node);
  }
  Answer reversed(Tracer& t, const Value& value, nb::handle node) const override {
    return reversed_slice(t, value, node);
  }
  bool has_open_length(const Tracer&, const Value& value) const override { return rank(value) != 0; }
  /// The string shows its present elements.
  Answer text(Tracer& t, const Value& value, const std::string& form, nb::handle node) const override {
    if (rank(value) == 0) unsupported(t, node, "the text of an array without axes", "show its element");
    return filled_by(owner(t, t.builder->make(Op::materialize, {whole(t, value)})), form);
  }
  IndexPart index_part(const Value& value) const override {
    const ir::Type type = value.as<Array>()->type;
    if (base::is_bool(type.dtype())) return type.rank() == 0 ? IndexPart::Flag : IndexPart::Mask;
    return base::is_int(type.dtype()) ? IndexPart::Numbers : IndexPart::Other;
  }
  std::optional<NodeId> truth(Tracer& t, const Value& value, nb::handle node) const override;
  std::optional<bool> identical(Tracer&, const Value& a, const Value& b, nb::handle) const override {
    const uint32_t object = a.as<Array>()->object;
    return object != 0 && object == b.as<Array>()->object ? std::optional(true) : std::nullopt;
  }

 private:
  static constexpr int kOpenOrigin = -2;                ///< `argument` of a shape whose origin is a slot
  static constexpr uint32_t kUnnumbered = 0x4000'0000;  ///< with the number of its node: a view without one

  static Array with_open_origin(Array shape) {
    shape.argument = kOpenOrigin;
    shape.origin = {};
    return shape;
  }
  static size_t count_of_columns(const Value& form) {
    return 3 + 2 * static_cast<size_t>(form.as<Array>()->type.rank());
  }
  static bool is_own(const Array& array) { return array.owns || array.type.is_array(); }
};

std::optional<Value> ArrayKind::join(Tracer& t, const Value& a, const Value& b,
                                     const std::string& what) const {
  const Array* x = a.as<Array>();
  const Array* y = b.as<Array>();
  if (x == nullptr || y == nullptr) return std::nullopt;
  if (x->type.dtype() != y->type.dtype() || x->type.rank() != y->type.rank()) return apart(t, a, b, what);
  if (x->type.as_view() != y->type.as_view()) {
    return Conflict{what +
                    ", which is in the memory of a block or a thread on one path and elsewhere on another,"};
  }
  const Array shape{.type = x->type.as_view(),
                    .access = x->access == y->access ? x->access : Access::Differs,
                    .argument = x->argument,
                    .origin = x->origin,
                    .object = merged(t, x->object, y->object),
                    .owns = is_own(*x) && is_own(*y)};
  return x->argument != y->argument || x->origin || y->origin ? with_open_origin(shape) : shape;
}

void ArrayKind::numbers(Tracer& t, const Value&, const Value& element, Nodes& out) const {
  ir::Builder& builder = *t.builder;
  const Array array = named(t, element);
  const NodeId view = array.node;
  if (array.type.space() == ir::Space::Shared || array.type.space() == ir::Space::Local)
    unsupported(t, {}, "an array in the memory of a block or a thread that may not have been made yet",
                "make it before the loop or the branch");
  // For arrays that are no argument: `kOwner` for the object that the memory was allocated for, else -1.
  const NodeId nothing = builder.index(array.owns ? Array::kOwner : -1);
  NodeId origin = builder.index(array.argument);
  if (array.origin && array.owns) {
    const NodeId is_argument = builder.make(Op::greater_equal, {array.origin, builder.index(0)});
    origin = builder.make(Op::select, {is_argument, array.origin, nothing});
  } else if (array.origin || array.argument < 0) {
    origin = array.origin ? array.origin : nothing;
  }
  out.push_back(builder.make(Op::keep, {builder.make(Op::buffer, {view})}));
  out.push_back(builder.make(Op::offset, {view}));
  out.push_back(origin);
  for (int axis = 0; axis < array.type.rank(); ++axis) out.push_back(builder.length(view, axis));
  for (int axis = 0; axis < array.type.rank(); ++axis)
    out.push_back(builder.make(Op::stride, {view}, {axis}));
}

std::optional<Description> ArrayKind::describe(Tracer& t, const Value& value, Outward& outward) const {
  const Array a = named(t, value);
  if (a.access == Access::Differs)
    unsupported(t, {}, "a result that is a read-only array on one path only", "return a copy of it");
  // A view that a loop has carried has no number: its node identifies it.
  const uint32_t number = a.object != 0 ? a.object : kUnnumbered | a.node.index;
  if (std::optional<Description> again = outward.again(number)) return *again;
  outward.leaves.push_back(a.node);
  if (a.origin) outward.leaves.push_back(a.origin);
  described::Array array{.dtype = a.type.dtype(),
                         .ndim = a.type.rank(),
                         .is_writable = a.access == Access::Writable,
                         .argument = a.argument,
                         .owns = a.owns};
  if (a.origin) array.argument.reset();
  return Description{array};
}

std::optional<NodeId> ArrayKind::truth(Tracer& t, const Value& value, nb::handle) const {
  const Array& array = *value.as<Array>();
  NodeId size = array.node;
  for (int axis = 0; axis < array.type.rank(); ++axis) {
    const NodeId length = t.builder->length(array.node, axis);
    size = axis == 0 ? length : t.builder->make(Op::multiply, {size, length});
  }
  if (array.type.rank() > 0) {
    check(t, t.builder->make(Op::equal, {size, t.builder->index(1)}), base::ExceptionKind::ValueError,
          "The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()");
  }
  const NodeId flags = t.builder->cast(whole(t, value), DType::Bool);
  return t.builder->function().type(flags).is_scalar() ? flags : reduce_all(t, {flags}, Op::bitwise_or);
}

}  // namespace

INGOT_VALUE_KIND(Array, ArrayKind)

}  // namespace ingot::frontend
