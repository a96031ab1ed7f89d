#include "frontend/kinds/value_kind.h"

namespace ingot::frontend {

namespace {

class UnboundKind final : public ValueKind {};

class ConflictKind final : public ValueKind {};

class MaybeKind final : public ValueKind {
 public:
  bool is_leaf() const override { return true; }
  void change_nodes(Value& value, const OtherNode& other) const override {
    Maybe& own = *value.as<Maybe>();
    own.node = other(own.node);
  }
  nb::object stand_in(const Evaluator& e, const Value& value) const override {
    return e.stand_in(*value.as<Maybe>()->present);
  }
  std::optional<NodeId> truth(Evaluator& e, const Value& value, nb::handle node) const override {
    const auto there = [&] {
      return Value(Scalar{Kind::py_bool(), e.truth(e.present(value, "value", node), node)});
    };
    const auto missing = [] { return Value(Static{nb::bool_(false)}); };
    return e.truth(e.fork(e.is_there(*value.as<Maybe>()), there, missing), node);
  }
};

}  // namespace

INGOT_VALUE_KIND(Unbound, UnboundKind)
INGOT_VALUE_KIND(Conflict, ConflictKind)
INGOT_VALUE_KIND(Maybe, MaybeKind)

}  // namespace ingot::frontend
