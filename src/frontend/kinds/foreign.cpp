#include "frontend/kinds/value_kind.h"

namespace ingot::frontend {

namespace {

/// An argument of an unsupported type.
class ForeignKind final : public ValueKind {
 public:
  nb::object type_of(Evaluator&, const Value& value, nb::handle) const override {
    return nb::object(value.as<Foreign>()->description.attr("type"));
  }
  nb::object stand_in(const Evaluator&, const Value& value) const override {
    return imported("ingot._objects.foreign").attr("stand_in")(value.as<Foreign>()->description);
  }
  bool is_foreign(const Evaluator&, const Value&) const override { return true; }
  std::optional<Value> attribute(Evaluator& e, const Value& value, const std::string& name,
                                 nb::handle node) const override {
    const Foreign& foreign = *value.as<Foreign>();
    const bool is_shape = name == "shape" || name == "ndim" || name == "size";
    if (foreign.shape && is_shape) return e.array_attribute(*foreign.shape->as<Array>(), name, node);
    if (std::optional<Value> part = e.pointer_attribute(foreign, name)) return *part;
    e.use_foreign("attribute", name, {value}, node);
  }
  std::optional<Value> item(Evaluator& e, const Value& value, const Value& index,
                            nb::handle node) const override {
    if (std::optional<Value> part = e.foreign_part(*value.as<Foreign>(), index, node)) return part;
    e.use_foreign("subscript", "", {value, index}, node);
  }
  std::optional<NodeId> truth(Evaluator& e, const Value& value, nb::handle node) const override {
    e.use_foreign("", "", {value}, node);
  }
  Precedence precedence() const override { return Precedence::Foreign; }
  std::optional<Value> compare(Evaluator& e, Operator op, const Value& a, const Value& b,
                               nb::handle node) const override {
    e.use_foreign("compare", info(op).symbol, {a, b}, node);
  }
  std::optional<Value> contains(Evaluator& e, const Value& value, const Value& wanted,
                                nb::handle node) const override {
    e.use_foreign("", "", {wanted, value}, node);
  }
  std::optional<Value> contained(Evaluator& e, const Value& value, const Value& container,
                                 nb::handle node) const override {
    e.use_foreign("", "", {value, container}, node);
  }
  std::optional<Value> binary(Evaluator& e, Operator op, const Value& a, const Value& b,
                              nb::handle node) const override {
    e.use_foreign("binary", info(op).symbol, {a, b}, node);
  }
};

}  // namespace

INGOT_VALUE_KIND(Foreign, ForeignKind)

}  // namespace ingot::frontend
