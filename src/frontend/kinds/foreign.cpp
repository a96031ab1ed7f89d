#include "frontend/kinds/value_kind.h"

namespace ingot::frontend {

namespace {

/// An argument of an unsupported type.
class ForeignKind final : public ValueKind {
 public:
  bool is_same(const Value& a, const Value& b) const override {
    const Foreign& f = *a.as<Foreign>();
    const Foreign& g = *b.as<Foreign>();
    return f.description.is(g.description) && f.shape == g.shape && f.points_to == g.points_to;
  }
  const char* passed_instead(const Value& value) const override {
    return value.as<Foreign>()->shape != nullptr ? "pass a part that compiled code has" : nullptr;
  }
  std::optional<Description> describe(Evaluator& e, const Value& value, Outward&) const override {
    e.use_foreign("", "", {value}, {});
  }
  std::string words(const Evaluator&, const Value& value) const override {
    return text_of(imported("ingot._objects.foreign").attr("words")(value.as<Foreign>()->description));
  }
  nb::object type_of(Evaluator&, const Value& value, nb::handle) const override {
    return nb::object(value.as<Foreign>()->description.attr("type"));
  }
  nb::object stand_in(const Evaluator&, const Value& value) const override {
    return imported("ingot._objects.foreign").attr("stand_in")(value.as<Foreign>()->description);
  }
  bool is_foreign(const Evaluator&, const Value&) const override { return true; }
  Answer attribute(Evaluator& e, const Value& value, const std::string& name,
                   nb::handle node) const override {
    const Foreign& foreign = *value.as<Foreign>();
    const bool is_shape = name == "shape" || name == "ndim" || name == "size";
    if (foreign.shape && is_shape) return e.array_attribute(*foreign.shape->as<Array>(), name, node);
    if (Answer part = e.pointer_attribute(foreign, name)) return *part;
    e.use_foreign("attribute", name, {value}, node);
  }
  Answer item(Evaluator& e, const Value& value, const Value& index, nb::handle node) const override {
    if (Answer part = e.foreign_part(*value.as<Foreign>(), index, node)) return part;
    e.use_foreign("subscript", "", {value, index}, node);
  }
  bool set_item(Evaluator& e, const Value& value, const Value& index, const Value& item,
                nb::handle node) const override {
    e.use_foreign("store", "", {value, index, item}, node);
  }
  bool delete_item(Evaluator& e, const Value& value, const Value& index, nb::handle node) const override {
    e.use_foreign("", "", {value, index}, node);
  }
  bool set_attribute(Evaluator& e, const Value& value, const std::string&, const Value&,
                     nb::handle node) const override {
    e.use_foreign("", "", {value}, node);
  }
  Answer call(Evaluator& e, const Value& value, Call& call) const override {
    e.use_foreign("apply", "", {value}, call.node);
  }
  Answer method(Evaluator& e, const Value& value, const std::string&, Call& call) const override {
    const Foreign& pointer = *value.as<Foreign>();
    return pointer.points_to ? Answer(e.pointer_as(pointer, call)) : std::nullopt;
  }
  Answer unary(Evaluator& e, Operator op, const Value& value, nb::handle node) const override {
    e.use_foreign("unary", info(op).symbol, {value}, node);
  }
  std::optional<Trips> trips(Evaluator& e, const Value& value, nb::handle node) const override {
    const Foreign array = *value.as<Foreign>();
    if (!array.shape) e.use_foreign("iterate", "", {value}, node);
    return Trips{e.builder_->length(array.shape->as<Array>()->node, 0), [&e, array, node](NodeId k) {
                   const Scalar index{Kind::py_int(), k};
                   const Answer part = e.foreign_part(array, index, node);
                   if (!part) e.use_foreign("", "", {array}, node);
                   return *part;
                 }};
  }
  std::optional<NodeId> truth(Evaluator& e, const Value& value, nb::handle node) const override {
    e.use_foreign("", "", {value}, node);
  }
  Precedence precedence() const override { return Precedence::Foreign; }
  Answer compare(Evaluator& e, Operator op, const Value& a, const Value& b, nb::handle node) const override {
    e.use_foreign("compare", info(op).symbol, {a, b}, node);
  }
  Answer contains(Evaluator& e, const Value& value, const Value& wanted, nb::handle node) const override {
    e.use_foreign("", "", {wanted, value}, node);
  }
  Answer contained(Evaluator& e, const Value& value, const Value& container, nb::handle node) const override {
    e.use_foreign("", "", {value, container}, node);
  }
  Answer binary(Evaluator& e, Operator op, const Value& a, const Value& b, nb::handle node) const override {
    e.use_foreign("binary", info(op).symbol, {a, b}, node);
  }
};

}  // namespace

INGOT_VALUE_KIND(Foreign, ForeignKind)

}  // namespace ingot::frontend
