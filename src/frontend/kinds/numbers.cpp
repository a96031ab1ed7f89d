#include "frontend/kinds/value_kind.h"

namespace ingot::frontend {

using base::ExceptionKind;
using ir::Op;

namespace {

/// A number known at run time.
class NumberKind final : public ValueKind {
 public:
  bool is_leaf() const override { return true; }
  void change_nodes(Value& value, const OtherNode& other) const override {
    Scalar& own = *value.as<Scalar>();
    own.node = other(own.node);
  }
  std::string type_name(const Evaluator&, const Value& value) const override {
    const Kind kind = value.as<Scalar>()->kind;
    return (kind.is_python() ? "" : "numpy.") + std::string(kind.name());
  }
  nb::object type_of(Evaluator&, const Value& value, nb::handle) const override {
    const Kind kind = value.as<Scalar>()->kind;
    return frontend::attribute(imported(kind.is_python() ? "builtins" : "numpy"),
                               std::string(kind.name()).c_str());
  }
  nb::object stand_in(const Evaluator&, const Value& value) const override {
    const Kind kind = value.as<Scalar>()->kind;
    const std::string name(kind.name());
    if (kind.is_python()) return imported("builtins").attr(name.c_str())(1);
    return imported("numpy").attr("dtype")(name).attr("type")(1);
  }
  bool has_methods(const Evaluator&, const Value&) const override { return true; }
  std::optional<Value> attribute(Evaluator& e, const Value& value, const std::string& name,
                                 nb::handle node) const override;
  std::optional<Value> item(Evaluator& e, const Value& value, const Value& index,
                            nb::handle node) const override {
    const Kind kind = value.as<Scalar>()->kind;
    if (kind.is_python()) return std::nullopt;
    return item_of_numpy_number(e, value, kind, index, node);
  }
  std::optional<NodeId> truth(Evaluator& e, const Value& value, nb::handle) const override {
    return e.kind_of(value) ? std::optional(e.stage(value, Kind::py_bool())) : std::nullopt;
  }
  std::optional<bool> known_truth(Evaluator& e, const Value& value) const override {
    const Scalar& number = *value.as<Scalar>();
    const ir::Function& function = e.builder_->function();
    if (number.kind.dtype() != DType::Bool || !function.is_constant(number.node)) return std::nullopt;
    return function.constant(number.node).bits[0] != 0;
  }
};

std::optional<Value> NumberKind::attribute(Evaluator& e, const Value& value, const std::string& name,
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
    const NodeId part = e.builder_->make(is_real ? Op::real : Op::imaginary, {e.stage(value, kind)});
    if (kind.is_python()) return Scalar{Kind::py_float(), part};
    return e.from_node(part);
  }
  if (is_real) return kind == Kind::py_bool() ? e.unary(Operator::UAdd, value, node) : value;
  const Kind zero = kind == Kind::py_bool() ? Kind::py_int() : kind;
  return Scalar{zero, e.builder_->cast(e.builder_->index(0), zero.dtype())};
}

}  // namespace

Value item_of_numpy_number(Evaluator& e, const Value& number, Kind kind, const Value& index,
                           nb::handle node) {
  const Tuple* several = index.as<Tuple>();
  for (const Value& item : several != nullptr ? several->members : std::vector<Value>{index}) {
    const std::optional<Kind> of_item = e.kind_of(item);
    const Static* known = item.as<Static>();
    const bool open = known != nullptr && (known->object.is_none() || known->object.is(nb::ellipsis()));
    if (open || (of_item && base::is_bool(of_item->dtype()))) continue;
    e.need_one_kind(ExceptionKind::IndexError, {number, item});
    e.raise(ExceptionKind::IndexError, "invalid index to scalar variable.");
  }
  return e.index_array(e.filled({}, e.stage(number, kind)), index, node);
}

INGOT_VALUE_KIND(Scalar, NumberKind)

}  // namespace ingot::frontend
