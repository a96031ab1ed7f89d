#include <bit>

#include "frontend/kinds/value_kind.h"
#include "frontend/rows.h"

namespace ingot::frontend {

using ir::Op;

namespace {

/// Stands for an instance of a class, without running code of the class.
nb::object stand_in_of(const nb::object& type) {
  return imported("ingot._objects.foreign").attr("Kind")(type);
}

class InstanceKind final : public ValueKind {
 public:
  void each_object(const Value& value, const Visit& visit) const override {
    visit(value.as<Object>()->object);
  }
  void renumber(Value& value, const Renumber& object, const Renumber&) const override {
    Object& own = *value.as<Object>();
    own.object = object(own.object);
  }
  std::string type_name(const Evaluator& e, const Value& value) const override {
    return text_of(class_of(e, value).attr("__name__"));
  }
  nb::object class_of(const Evaluator& e, const Value& value) const override {
    return e.state_.heap.at(value.as<Object>()->object).type_of;
  }
  nb::object stand_in(const Evaluator& e, const Value& value) const override {
    return stand_in_of(class_of(e, value));
  }
  std::optional<bool> known_truth(Evaluator&, const Value&) const override { return true; }
  std::optional<bool> identical(Evaluator&, const Value& a, const Value& b, nb::handle) const override {
    return a.as<Object>()->object == b.as<Object>()->object;
  }
};

/// An instance in a pool, or a list in one.
class PooledKind final : public BuiltinKind {
 public:
  bool is_leaf() const override { return true; }
  void change_nodes(Value& value, const OtherNode& other) const override {
    Pooled& own = *value.as<Pooled>();
    own.index = other(own.index);
  }
  bool same_form(const Value& a, const Value& b) const override {
    return a.as<Pooled>()->pool == b.as<Pooled>()->pool;
  }
  std::string type_name(const Evaluator& e, const Value& value) const override {
    if (value.as<Pooled>()->is_list) return "list";
    if (const Pooled* r = Evaluator::PooledValues::open(value)) {
      std::string names;
      for (const nb::object& type : classes_of(e, *r))
        names += (names.empty() ? "" : " or ") + text_of(type.attr("__name__"));
      return names;
    }
    const nb::object type = class_of(e, value);
    return type.is_valid() ? text_of(type.attr("__name__")) : "object";
  }
  nb::object class_of(const Evaluator& e, const Value& value) const override {
    if (Evaluator::PooledValues::open(value) != nullptr) {
      throw base::Unsupported(e.location_of(e.here_),
                              "this use of what may be an instance of several classes",
                              "call a method of it");
    }
    const Pooled& record = *value.as<Pooled>();
    if (record.classes == 0) return {};
    return e.pools_.kin.at(record.pool)[static_cast<size_t>(std::countr_zero(record.classes))];
  }
  nb::object stand_in(const Evaluator& e, const Value& value) const override {
    if (value.as<Pooled>()->is_list) return nb::list();
    if (const Pooled* r = Evaluator::PooledValues::open(value)) return stand_in_of(classes_of(e, *r)[0]);
    return stand_in_of(class_of(e, value));
  }
  bool has_methods(const Evaluator&, const Value& value) const override {
    return value.as<Pooled>()->is_list;
  }
  std::optional<Value> item(Evaluator& e, const Value& value, const Value& index,
                            nb::handle node) const override {
    const Pooled& row = *value.as<Pooled>();
    if (!row.is_list) return std::nullopt;
    return Evaluator::Rows(e).item(row, index, node);
  }
  std::optional<Value> length(Evaluator& e, const Value& value, nb::handle) const override {
    const Pooled& row = *value.as<Pooled>();
    if (!row.is_list) return std::nullopt;
    return Scalar{Kind::py_int(), Evaluator::Rows(e).length(row)};
  }
  std::optional<bool> known_truth(Evaluator&, const Value& value) const override {
    const Pooled& record = *value.as<Pooled>();
    return record.is_list || record.may_be_none ? std::nullopt : std::optional(true);
  }
  std::optional<NodeId> truth(Evaluator& e, const Value& value, nb::handle node) const override {
    const Pooled& record = *value.as<Pooled>();
    if (record.may_be_none) return truth_of_optional(e, record, node);
    if (!record.is_list) return std::nullopt;
    return e.builder_->make(Op::not_equal, {Evaluator::Rows(e).length(record), e.builder_->index(0)});
  }
  Precedence precedence() const override { return Precedence::Rows; }
  std::optional<Value> binary(Evaluator& e, Operator op, const Value& a, const Value& b,
                              nb::handle node) const override {
    return Evaluator::Rows(e).binary(op, a, b, node);
  }

 private:
  static NodeId truth_of_optional(Evaluator& e, const Pooled& record, nb::handle node) {
    const Pooled there = Evaluator::PooledValues::certain(record);
    const NodeId is_there = Evaluator::PooledValues(e).is_there(record);
    if (e.static_truth(there)) return is_there;
    const auto own = [&] { return Value(Scalar{Kind::py_bool(), e.truth(there, node)}); };
    return e.truth(e.fork(is_there, own, [] { return Value(Static{nb::bool_(false)}); }), node);
  }
  static std::vector<nb::object> classes_of(const Evaluator& e, const Pooled& record) {
    return Evaluator::PooledValues(const_cast<Evaluator&>(e)).classes_of(record);
  }
};

}  // namespace

INGOT_VALUE_KIND(Object, InstanceKind)
INGOT_VALUE_KIND(Pooled, PooledKind)

}  // namespace ingot::frontend
