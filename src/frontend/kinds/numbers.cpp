#include "frontend/kinds/numbers.h"

#include "frontend/arrays/arrays.h"
#include "frontend/arrays/indexing.h"
#include "frontend/arrays/numpy.h"
#include "frontend/arrays/operators.h"
#include "frontend/arrays/scalars.h"
#include "frontend/expressions/expressions.h"
#include "frontend/joins/joins.h"
#include "frontend/kinds/sequences.h"
#include "frontend/kinds/strings.h"
#include "frontend/tracer/evaluate.h"
#include "frontend/tracer/python_objects.h"

namespace ingot::frontend {

using base::ExceptionKind;
using ir::Op;

namespace {

/// A number known at run time.
class NumberKind final : public OperandKind {
 public:
  bool is_leaf() const override { return true; }
  void change_nodes(Value& value, const OtherNode& other) const override {
    Scalar& own = *value.as<Scalar>();
    own.node = other(own.node);
  }
  Value shape(const Value& value, const Stays& stays) const override {
    Scalar shape = *value.as<Scalar>();
    if (!shape.node || !stays(shape.node)) shape.node = {};
    return shape;
  }
  bool is_same(const Value& a, const Value& b) const override {
    const Scalar& x = *a.as<Scalar>();
    const Scalar& y = *b.as<Scalar>();
    return x.kind == y.kind && x.node == y.node && x.is_mixed == y.is_mixed;
  }
  Answer join(Tracer& t, const Value& a, const Value& b, const std::string& what) const override {
    return joined_numbers(t, a, b, what);
  }
  void slot_types(ir::TypeTable&, const Value& shape, Types& out) const override {
    const Scalar& number = *shape.as<Scalar>();
    if (!number.node) out.push_back(ir::Type::scalar(number.kind.dtype()));
  }
  void carry(Tracer& t, const Value& shape, const Value& actual, Nodes& out) const override {
    const Scalar& number = *shape.as<Scalar>();
    if (!number.node) out.push_back(frontend::convert(t, actual, number.kind));
  }
  Value fill(Tracer& t, const Value& shape, const NextNode& next) const override {
    Scalar filled = *shape.as<Scalar>();
    if (!filled.node) filled.node = next();
    if (filled.is_mixed) t.mixed.insert(filled.node.index);
    return filled;
  }
  Value blank(Tracer& t, const Value& shape) const override {
    Scalar dummy = *shape.as<Scalar>();
    if (!dummy.node) dummy = {dummy.kind, t.builder->constant(ir::Type::scalar(dummy.kind.dtype()), {})};
    return dummy;
  }
  Value key(const Tracer&, const Value& value) const override { return Scalar{value.as<Scalar>()->kind}; }
  Answer form(Tracer&, const Value& value) const override {
    const Scalar& number = *value.as<Scalar>();
    return Scalar{number.kind, {}, number.is_mixed};
  }
  void column_kinds(const Value& form, std::vector<Kind>& kinds) const override {
    kinds.push_back(form.as<Scalar>()->kind);
  }
  void numbers(Tracer& t, const Value& form, const Value& element, Nodes& out) const override {
    out.push_back(frontend::convert(t, element, form.as<Scalar>()->kind));
  }
  Value element(Tracer&, const Value& form, const NextNode& next) const override {
    return Scalar{form.as<Scalar>()->kind, next()};
  }
  void convert(Tracer&, const Value& from, const Value& to, Conversion& columns) const override {
    columns.add_next_as(from.as<Scalar>()->kind, to.as<Scalar>()->kind);
  }
  std::optional<Description> describe(Tracer&, const Value& value, Outward& outward) const override {
    const Scalar& number = *value.as<Scalar>();
    outward.leaves.push_back(number.node);
    return Description{described::Scalar{number.kind}};
  }

  std::string type_name(const Tracer&, const Value& value) const override {
    const Kind kind = value.as<Scalar>()->kind;
    return (kind.is_python() ? "" : "numpy.") + std::string(kind.name());
  }
  nb::object type_of(Tracer&, const Value& value, nb::handle) const override {
    const Kind kind = value.as<Scalar>()->kind;
    return frontend::attribute(imported(kind.is_python() ? "builtins" : "numpy"),
                               std::string(kind.name()).c_str());
  }
  nb::object stand_in(const Tracer&, const Value& value) const override {
    const Kind kind = value.as<Scalar>()->kind;
    const std::string name(kind.name());
    if (kind.is_python()) return imported("builtins").attr(name.c_str())(1);
    return imported("numpy").attr("dtype")(name).attr("type")(1);
  }
  bool has_methods(const Tracer&, const Value&) const override { return true; }
  Answer attribute(Tracer& t, const Value& value, const std::string& name, nb::handle node) const override;
  Answer item(Tracer& t, const Value& value, const Value& index, nb::handle node) const override {
    const Kind kind = value.as<Scalar>()->kind;
    if (kind.is_python()) return std::nullopt;
    return item_of_numpy_number(t, value, kind, index, node);
  }
  Answer method(Tracer& t, const Value& value, const std::string& name, Call& call) const override {
    return call_number_method(t, value, name, call);
  }
  nb::object demanded(Tracer& t, const Value& value, const char*, nb::handle node) const override {
    const std::optional<NeedsFact> source = source_of(t, value.as<Scalar>()->node, node, true);
    if (source) throw NeedsFact(*source);
    return {};
  }
  Answer text(Tracer&, const Value& value, const std::string& form, nb::handle) const override {
    return filled_by(value, form);
  }
  IndexPart index_part(const Value& value) const override {
    return index_part_of_number(value.as<Scalar>()->kind);
  }
  std::optional<NodeId> truth(Tracer& t, const Value& value, nb::handle) const override {
    return kind_of(value) ? std::optional(stage(t, value, Kind::py_bool())) : std::nullopt;
  }
  std::optional<bool> known_truth(Tracer& t, const Value& value) const override {
    const Scalar& number = *value.as<Scalar>();
    const ir::Function& function = t.builder->function();
    if (number.kind.dtype() != DType::Bool || !function.is_constant(number.node)) return std::nullopt;
    return function.constant(number.node).bits[0] != 0;
  }
};

std::optional<Value> NumberKind::attribute(Tracer& t, const Value& value, const std::string& name,
                                           nb::handle node) const {
  const Kind kind = value.as<Scalar>()->kind;
  const DType dtype = kind.dtype();
  if (!kind.is_python()) {
    if (name == "dtype") return Static{imported("numpy").attr("dtype")(std::string(kind.name()))};
    if (name == "shape") return Tuple{};
    if (name == "ndim" || name == "size") return Static{nb::int_(name == "size" ? 1 : 0)};
  }
  const bool is_real = name == "real";
  if (!is_real && name != "imag") return std::nullopt;
  if (base::is_complex(dtype)) {
    const NodeId part = t.builder->make(is_real ? Op::real : Op::imaginary, {stage(t, value, kind)});
    if (kind.is_python()) return Scalar{Kind::py_float(), part};
    return from_node(t, part);
  }
  if (is_real) return kind == Kind::py_bool() ? frontend::unary(t, Operator::UAdd, value, node) : value;
  const Kind zero = kind == Kind::py_bool() ? Kind::py_int() : kind;
  return Scalar{zero, t.builder->cast(t.builder->index(0), zero.dtype())};
}

}  // namespace

std::optional<Kind> number_kind(const Value& value) {
  if (const Scalar* s = value.as<Scalar>()) return s->kind;
  const Static* s = value.as<Static>();
  if (s == nullptr) return std::nullopt;
  PyObject* o = s->object.ptr();
  if (PyBool_Check(o)) return Kind::py_bool();
  if (PyLong_CheckExact(o)) return Kind::py_int();
  if (PyFloat_CheckExact(o)) return Kind::py_float();
  if (PyComplex_CheckExact(o)) return Kind::py_complex();
  if (is_plain(s->object) || !nb::isinstance(s->object, imported("numpy").attr("generic")))
    return std::nullopt;
  // None for unsupported dtypes.
  const auto dtype = base::dtype_from_numpy(text_of(s->object.attr("dtype").attr("name")));
  return dtype ? std::optional<Kind>(*dtype) : std::nullopt;
}

IndexPart index_part_of_number(std::optional<Kind> kind) {
  if (kind && base::is_bool(kind->dtype())) return IndexPart::Flag;
  return kind && base::is_int(kind->dtype()) ? IndexPart::Number : IndexPart::Other;
}

NodeId node_as(Tracer& t, const Value& value, DType dtype) {
  return value.is<Array>() ? t.builder->cast(whole(t, value), dtype) : stage(t, value, dtype);
}

Value without_0d(Tracer& t, const Value& value) {
  const Array* array = value.as<Array>();
  return array != nullptr && array->type.rank() == 0 ? from_node(t, whole(t, value)) : value;
}

std::optional<Value> joined_numbers(const Tracer& t, const Value& a, const Value& b,
                                    const std::string& what) {
  const std::optional<Kind> j = number_kind(a);
  const std::optional<Kind> k = number_kind(b);
  if (!j || !k) return std::nullopt;
  const std::optional<Kind> kind = frontend::join(*j, *k);
  if (!kind) return apart(t, a, b, what);
  return Scalar{*kind, {}, *j != *k || is_mixed(a) || is_mixed(b)};
}

Value item_of_numpy_number(Tracer& t, const Value& number, Kind kind, const Value& index, nb::handle node) {
  for (const Value& item : parts_of_index(index)) {
    if (axes_of_part(item) == 0 || kind_of(item) == Kind(DType::Bool)) continue;
    need_one_kind(t, ExceptionKind::IndexError, {number, item});
    raise(t, ExceptionKind::IndexError, "invalid index to scalar variable.");
  }
  return index_array(t, filled(t, {}, stage(t, number, kind)), index, node);
}

std::optional<Value> call_numpy_method(Tracer& t, const Value& self, const std::string& name, Call& call) {
  const int handler = t.registry.method(name);
  const nb::object member = handler >= 0 ? nb::object() : t.registry.member(name);
  if (handler < 0 && !member.is_valid()) return std::nullopt;
  if (handler >= 0) refuse_foreign(t, call, name, nb::none());
  call.positional.insert(call.positional.begin(), self);
  return handler >= 0 ? handle(t, {.handler = handler}, call) : call_value(t, Static{member}, call);
}

Value call_number_method(Tracer& t, const Value& self, const std::string& name, Call& call) {
  if (!base::known(number_kind(self)).is_python())
    if (std::optional<Value> result = call_numpy_method(t, self, name, call)) return *std::move(result);
  return call_own_method(t, self, name, call);
}

Value call_own_method(Tracer& t, const Value& self, const std::string& name, Call& call) {
  const Kind kind = base::known(number_kind(self));
  if (name == "conjugate" && call.positional.empty()) {
    if (!base::is_complex(kind.dtype()))
      return kind == Kind::py_bool() ? unary(t, Operator::UAdd, self, call.node) : self;
    return Scalar{kind, t.builder->make(Op::conjugate, {stage(t, self, kind)})};
  }
  if (kind.is_python()) {  // the library has methods of numbers as functions
    const bool is_int = kind == Kind::py_int() || kind == Kind::py_bool();
    const std::string own = (is_int ? "int_" : std::string(kind.name()) + "_") + name;
    const nb::object method = attribute_or(imported("ingot.library.numbers"), own.c_str(), nb::object());
    if (method.is_valid()) {
      call.positional.insert(call.positional.begin(), self);
      return inline_function(t, method, call);
    }
  }
  if (name == "item" && call.positional.empty()) {
    static constexpr std::array kPython = {Kind::py_bool(), Kind::py_int(), Kind::py_float(),
                                           Kind::py_complex()};
    const size_t of = base::is_bool(kind.dtype())    ? 0
                      : base::is_int(kind.dtype())   ? 1
                      : base::is_float(kind.dtype()) ? 2
                                                     : 3;
    if (kind.dtype() == DType::UInt64) unsupported(t, call.node, "`item` of a uint64", "use int()");
    return Scalar{kPython[of], stage(t, self, kPython[of])};
  }
  unsupported(t, call.node, "the method `" + name + "` of a " + type_name(t, self), "use operators");
}

INGOT_VALUE_KIND(Scalar, NumberKind)

}  // namespace ingot::frontend
