#include "frontend/kinds/value_kind.h"

namespace ingot::frontend {

using ir::Op;

namespace {

class ArrayKind final : public ValueKind {
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

  std::string type_name(const Evaluator&, const Value&) const override { return "numpy.ndarray"; }
  nb::object type_of(Evaluator& e, const Value&, nb::handle node) const override {
    e.need_no_memory_maps("the class of an array", node);
    return frontend::attribute(imported("numpy"), "ndarray");
  }
  nb::object stand_in(const Evaluator&, const Value& value) const override {
    const ir::Type type = value.as<Array>()->type;
    nb::list shape;
    for (int i = 0; i < type.rank(); ++i) shape.append(1);
    return imported("numpy").attr("ones")(nb::tuple(shape), std::string(base::info(type.dtype()).numpy));
  }

  std::optional<Value> attribute(Evaluator& e, const Value& value, const std::string& name,
                                 nb::handle node) const override {
    return e.array_attribute(*value.as<Array>(), name, node);
  }
  bool takes_open_bounds() const override { return true; }
  std::optional<Value> item(Evaluator& e, const Value& value, const Value& index,
                            nb::handle node) const override {
    return e.index_array(*value.as<Array>(), index, node);
  }
  std::optional<Value> length(Evaluator& e, const Value& value, nb::handle) const override {
    const Array& array = *value.as<Array>();
    if (array.type.rank() == 0) e.raise(base::ExceptionKind::TypeError, "len() of unsized object");
    return Scalar{Kind::py_int(), e.builder_->length(array.node, 0)};
  }
  std::optional<NodeId> truth(Evaluator& e, const Value& value, nb::handle node) const override;
  std::optional<bool> identical(Evaluator&, const Value& a, const Value& b, nb::handle) const override {
    const uint32_t object = a.as<Array>()->object;
    return object != 0 && object == b.as<Array>()->object ? std::optional(true) : std::nullopt;
  }
};

std::optional<NodeId> ArrayKind::truth(Evaluator& e, const Value& value, nb::handle) const {
  const Array& array = *value.as<Array>();
  NodeId size = array.node;
  for (int axis = 0; axis < array.type.rank(); ++axis) {
    const NodeId length = e.builder_->length(array.node, axis);
    size = axis == 0 ? length : e.builder_->make(Op::multiply, {size, length});
  }
  if (array.type.rank() > 0) {
    e.check(e.builder_->make(Op::equal, {size, e.builder_->index(1)}), base::ExceptionKind::ValueError,
            "The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()");
  }
  const NodeId flags = e.builder_->cast(e.whole(value), DType::Bool);
  return e.builder_->function().type(flags).is_scalar() ? flags : e.reduce_all({flags}, Op::bitwise_or);
}

}  // namespace

INGOT_VALUE_KIND(Array, ArrayKind)

}  // namespace ingot::frontend
