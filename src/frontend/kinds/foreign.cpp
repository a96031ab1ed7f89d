#include "frontend/calls/foreign.h"

#include "frontend/arrays/arrays.h"
#include "frontend/calls/c_functions.h"
#include "frontend/tracer/evaluate.h"
#include "frontend/tracer/python_objects.h"

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
  std::optional<Description> describe(Tracer& t, const Value& value, Outward&) const override {
    use_foreign(t, "", "", {value}, {});
  }
  std::string words(const Tracer&, const Value& value) const override {
    return text_of(imported("ingot._objects.foreign").attr("words")(value.as<Foreign>()->description));
  }
  nb::object type_of(Tracer&, const Value& value, nb::handle) const override {
    return nb::object(value.as<Foreign>()->description.attr("type"));
  }
  nb::object stand_in(const Tracer&, const Value& value) const override {
    return imported("ingot._objects.foreign").attr("stand_in")(value.as<Foreign>()->description);
  }
  bool is_foreign(const Tracer&, const Value&) const override { return true; }
  Answer attribute(Tracer& t, const Value& value, const std::string& name, nb::handle node) const override {
    const Foreign& foreign = *value.as<Foreign>();
    const bool is_shape = name == "shape" || name == "ndim" || name == "size";
    if (foreign.shape && is_shape) return array_attribute(t, *foreign.shape->as<Array>(), name, node);
    if (Answer part = pointer_attribute(t, foreign, name)) return *part;
    use_foreign(t, "attribute", name, {value}, node);
  }
  Answer item(Tracer& t, const Value& value, const Value& index, nb::handle node) const override {
    if (Answer part = foreign_part(t, *value.as<Foreign>(), index, node)) return part;
    use_foreign(t, "subscript", "", {value, index}, node);
  }
  bool set_item(Tracer& t, const Value& value, const Value& index, const Value& item,
                nb::handle node) const override {
    use_foreign(t, "store", "", {value, index, item}, node);
  }
  bool delete_item(Tracer& t, const Value& value, const Value& index, nb::handle node) const override {
    use_foreign(t, "", "", {value, index}, node);
  }
  bool set_attribute(Tracer& t, const Value& value, const std::string&, const Value&,
                     nb::handle node) const override {
    use_foreign(t, "", "", {value}, node);
  }
  Answer call(Tracer& t, const Value& value, Call& call) const override {
    use_foreign(t, "apply", "", {value}, call.node);
  }
  Answer method(Tracer& t, const Value& value, const std::string&, Call& call) const override {
    const Foreign& pointer = *value.as<Foreign>();
    return pointer.points_to ? Answer(pointer_as(t, pointer, call)) : std::nullopt;
  }
  Answer unary(Tracer& t, Operator op, const Value& value, nb::handle node) const override {
    use_foreign(t, "unary", info(op).symbol, {value}, node);
  }
  std::optional<Trips> trips(Tracer& t, const Value& value, nb::handle node) const override {
    const Foreign array = *value.as<Foreign>();
    if (!array.shape) use_foreign(t, "iterate", "", {value}, node);
    return Trips{t.builder->length(array.shape->as<Array>()->node, 0), [&t, array, node](NodeId k) {
                   const Scalar index{Kind::py_int(), k};
                   const Answer part = foreign_part(t, array, index, node);
                   if (!part) use_foreign(t, "", "", {array}, node);
                   return *part;
                 }};
  }
  std::optional<NodeId> truth(Tracer& t, const Value& value, nb::handle node) const override {
    use_foreign(t, "", "", {value}, node);
  }
  Precedence precedence() const override { return Precedence::Foreign; }
  Answer compare(Tracer& t, Operator op, const Value& a, const Value& b, nb::handle node) const override {
    use_foreign(t, "compare", info(op).symbol, {a, b}, node);
  }
  Answer contains(Tracer& t, const Value& value, const Value& wanted, nb::handle node) const override {
    use_foreign(t, "", "", {wanted, value}, node);
  }
  Answer contained(Tracer& t, const Value& value, const Value& container, nb::handle node) const override {
    use_foreign(t, "", "", {value, container}, node);
  }
  Answer binary(Tracer& t, Operator op, const Value& a, const Value& b, nb::handle node) const override {
    use_foreign(t, "binary", info(op).symbol, {a, b}, node);
  }
};

}  // namespace

INGOT_VALUE_KIND(Foreign, ForeignKind)

}  // namespace ingot::frontend
