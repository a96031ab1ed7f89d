#include "frontend/kinds/optionals.h"

#include "frontend/rows.h"

namespace ingot::frontend {

using base::ExceptionKind;
using ir::Op;

namespace {

/// The value of an optional, without a node: no node may be built between a construct and its results.
Value slot_of(const Evaluator& e, const Value& present) {
  if (const std::optional<Kind> kind = number_kind(present)) return Scalar{*kind, {}, is_mixed(present)};
  return shape_of(present, seen_from(*e.builder_, ir::RegionId(0)));
}

// Tags of optionals.
constexpr int8_t kThere = 0;
constexpr int8_t kNone = 1;
constexpr int8_t kMissing = 2;

/// `then` if a tag is `wanted`, else `other`, on a path for each; `type`: of both.
NodeId chosen(ir::Builder& builder, NodeId tag, int8_t wanted, ir::Type type,
              const std::function<NodeId()>& then, const std::function<NodeId()>& other) {
  const NodeId condition[] = {builder.make(Op::equal, {tag, builder.constant(wanted)})};
  const NodeId node = builder.begin(Op::if_, condition);
  for (size_t arm = 0; arm < 2; ++arm) {
    builder.enter(node, arm, {});
    const NodeId given[] = {arm == 0 ? then() : other()};
    builder.terminate(Op::yield, given);
  }
  const ir::Type types[] = {type};
  builder.set_results(node, types);
  return builder.end(node)[0];
}

/// An optional number made of its tag and, where it is there, of what `there` makes.
NodeId optional_of(ir::Builder& builder, NodeId tag, ir::Type type, bool may_be_none, bool may_be_unbound,
                   const std::function<NodeId()>& there) {
  const auto missing = [&](int64_t why) { return builder.make(Op::none, {}, {why}, type); };
  const auto absent = [&] {
    if (!may_be_unbound) return missing(kNone);
    if (!may_be_none) return missing(kMissing);
    return chosen(
        builder, tag, kNone, type, [&] { return missing(kNone); }, [&] { return missing(kMissing); });
  };
  return chosen(builder, tag, kThere, type, [&] { return builder.make(Op::some, {there()}); }, absent);
}

Kind kind_of_present(const Maybe& maybe) { return maybe.present->as<Scalar>()->kind; }

class UnboundKind final : public ValueKind {
 public:
  Value present(Evaluator& e, const Value&, const std::string& name, nb::handle) const override {
    const auto [kind, message] = e.absence_of(name);
    e.raise(kind, message);
  }
  Answer form(Evaluator&, const Value& value) const override { return value; }
  std::string words(const Evaluator&, const Value&) const override { return {}; }
};

class ConflictKind final : public ValueKind {
 public:
  Value present(Evaluator& e, const Value& value, const std::string&, nb::handle node) const override {
    const Conflict& conflict = *value.as<Conflict>();
    if (!conflict.loop.empty()) throw NeedsFact::at(conflict.loop, e.location_of(node));
    if (conflict.has_source()) throw NeedsFact::of(conflict.argument, e.location_of(node));
    ask_for_pools(e, conflict, node);
    e.unsupported(node, conflict.reason, "use two names, or make both of one type");
  }
  Answer form(Evaluator& e, const Value& value) const override {
    ask_for_pools(e, *value.as<Conflict>(), {});
    return std::nullopt;
  }
  std::string words(const Evaluator&, const Value&) const override { return {}; }
  Answer call(Evaluator& e, const Value& value, Call& call) const override {
    return e.call(present(e, value, "the function", call.node), call);
  }

 private:
  static void ask_for_pools(Evaluator& e, const Conflict& conflict, nb::handle node) {
    if (!conflict.pools.empty()) PooledValues(e).ask_for(conflict.pools, node);
    if (!conflict.rows.empty()) Evaluator::Rows(e).ask_for(conflict.rows, node);
  }
};

class MaybeKind final : public ValueKind {
 public:
  bool is_leaf() const override { return true; }
  void change_nodes(Value& value, const OtherNode& other) const override {
    Maybe& own = *value.as<Maybe>();
    own.node = other(own.node);
  }

  Value shape(const Value& value, const Stays& stays) const override {
    Maybe shape = *value.as<Maybe>();
    if (!shape.node || !stays(shape.node)) shape.node = {};
    return shape;
  }
  bool is_same(const Value& a, const Value& b) const override {
    const Maybe& m = *a.as<Maybe>();
    const Maybe& n = *b.as<Maybe>();
    return m.node == n.node && m.may_be_unbound == n.may_be_unbound && m.may_be_none == n.may_be_none &&
           same(*m.present, *n.present);
  }
  void slot_types(ir::TypeTable& types, const Value& shape, Types& out) const override {
    const Maybe& m = *shape.as<Maybe>();
    if (!m.node) out.push_back(type_of_slot(types, m));
  }
  void carry(Evaluator& e, const Value& shape, const Value& actual, Nodes& out) const override {
    if (!shape.as<Maybe>()->node) out.push_back(carried(e, *shape.as<Maybe>(), actual));
  }
  Value fill(Evaluator& e, const Value& shape, const NextNode& next) const override {
    Maybe filled = *shape.as<Maybe>();
    if (!filled.node) filled.node = next();
    if (is_mixed(*filled.present)) e.mixed_.insert(filled.node.index);
    return filled;
  }
  Value blank(Evaluator&, const Value& shape) const override {
    const Maybe& m = *shape.as<Maybe>();
    if (m.node) return shape;
    return m.may_be_none ? Value(Static{nb::none()}) : Value(Unbound{});
  }
  Value key(const Evaluator& e, const Value& value) const override {
    Maybe key = *value.as<Maybe>();
    key.node = {};
    key.present = share(kind_of_value(*key.present).key(e, *key.present));
    return key;
  }
  Value present(Evaluator& e, const Value& value, const std::string& name, nb::handle) const override {
    const Maybe m = *value.as<Maybe>();  // a copy: `value` may be part of the state that a check replaces
    const NodeId tag = e.builder_->make(Op::tag, {m.node});
    if (m.may_be_unbound) {
      const auto [kind, message] = e.absence_of(name);
      e.check(e.builder_->make(Op::not_equal, {tag, e.builder_->constant(kMissing)}), kind, message);
    }
    if (m.may_be_none) {
      e.check(e.builder_->make(Op::equal, {tag, e.builder_->constant(kThere)}), ExceptionKind::TypeError,
              "'" + name + "' is None here");
    }
    Value inside = *m.present;
    const NodeId node = e.builder_->make(Op::value, {m.node});
    if (Array* array = inside.as<Array>()) array->node = node;
    else inside = Scalar{kind_of_present(m), node};
    return inside;
  }
  Answer form(Evaluator&, const Value& value) const override {
    Maybe form = *value.as<Maybe>();
    const Scalar* number = form.present->as<Scalar>();
    if (number == nullptr) return std::nullopt;
    form.node = {};
    form.present = share(Value(Scalar{number->kind, {}}));
    return form;
  }
  void column_kinds(const Value& form, std::vector<Kind>& kinds) const override {
    kinds.emplace_back(DType::Int8);
    kinds.push_back(kind_of_present(*form.as<Maybe>()));
  }
  void numbers(Evaluator& e, const Value& form, const Value& element, Nodes& out) const override {
    ir::Builder& builder = *e.builder_;
    const Kind kind = kind_of_present(*form.as<Maybe>());
    if (element.is<Unbound>() || is_none(element)) {
      out.push_back(builder.constant(element.is<Unbound>() ? kMissing : kNone));
      out.push_back(zero(builder, kind));
    } else if (const Maybe* given = element.as<Maybe>()) {
      const Scalar inside{kind_of_present(*given), builder.make(Op::value, {given->node})};
      out.push_back(builder.make(Op::tag, {given->node}));
      out.push_back(e.convert(inside, kind));
    } else {
      out.push_back(builder.constant(kThere));
      out.push_back(e.convert(element, kind));
    }
  }
  Value element(Evaluator& e, const Value& form, const NextNode& next) const override {
    Maybe m = *form.as<Maybe>();
    const NodeId tag = next();
    const NodeId value = next();
    m.node = optional_of(*e.builder_, tag, type_of_slot(e.module_.types, m), m.may_be_none, m.may_be_unbound,
                         [&] { return value; });
    return m;
  }
  void convert(Evaluator& e, const Value& from, const Value& to, Conversion& columns) const override {
    const Kind kind = kind_of_present(*to.as<Maybe>());
    if (const Maybe* m = from.as<Maybe>()) {
      columns.add(columns.next());
      columns.add_next_as(kind_of_present(*m), kind);
    } else if (const Scalar* number = from.as<Scalar>()) {
      columns.fill(e.builder_->constant(kThere));
      columns.add_next_as(number->kind, kind);
    } else {
      columns.fill(e.builder_->constant(from.is<Unbound>() ? kMissing : kNone));
      columns.fill(zero(*e.builder_, kind));
    }
  }
  std::optional<Description> describe(Evaluator& e, const Value& value, Outward& outward) const override {
    const Maybe& m = *value.as<Maybe>();
    const Scalar* number = m.present->as<Scalar>();
    if (number == nullptr || m.may_be_unbound) {
      e.unsupported({}, "a result that is an array on one path and None on another",
                    "return an array on every path, an empty one if need be");
    }
    outward.leaves.push_back(e.builder_->make(Op::tag, {m.node}));
    outward.leaves.push_back(e.builder_->make(Op::value, {m.node}));
    return Description{described::Maybe{}, {{described::Scalar{number->kind}}}};
  }

  std::string words(const Evaluator& e, const Value& value) const override {
    const Maybe& m = *value.as<Maybe>();
    return kind_of_value(*m.present).words(e, *m.present) + (m.may_be_none ? " or None" : " or not bound");
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

 private:
  static NodeId zero(ir::Builder& builder, Kind kind) {
    return builder.constant(ir::Type::scalar(kind.dtype()), {});
  }
  static ir::Type type_of_slot(ir::TypeTable& types, const Maybe& shape) {
    const Scalar* number = shape.present->as<Scalar>();
    return types.optional(number != nullptr ? ir::Type::scalar(number->kind.dtype())
                                            : shape.present->as<Array>()->type);
  }
  static NodeId carried(Evaluator& e, const Maybe& shape, const Value& actual) {
    const ir::Type type = type_of_slot(e.module_.types, shape);
    if (actual.is<Unbound>() || is_none(actual))
      return e.builder_->make(Op::none, {}, {actual.is<Unbound>() ? 2 : 1}, type);
    const Maybe* other = actual.as<Maybe>();
    if (other == nullptr) {
      std::vector<NodeId> value;
      e.carry(*shape.present, actual, value);
      return e.builder_->make(Op::some, {value[0]});
    }
    Value inside = *other->present;
    if (Array* array = inside.as<Array>()) array->owns = shape.present->as<Array>()->owns;
    if (same(inside, *shape.present)) return other->node;
    const Scalar* number = shape.present->as<Scalar>();
    if (number != nullptr && inside.is<Scalar>()) {
      const NodeId tag = e.builder_->make(Op::tag, {other->node});
      return optional_of(*e.builder_, tag, type, true, true, [&] {
        const Scalar there{kind_of_present(*other), e.builder_->make(Op::value, {other->node})};
        return e.convert(there, number->kind);
      });
    }
    e.unsupported({}, "a variable that may be unbound or None changes its type", "bind it before the branch");
  }
};

}  // namespace

std::optional<Value> joined_optional(Evaluator& e, const Value& a, const Value& b, const std::string& what) {
  if (const std::optional<Pooled> record = PooledValues::join(a, b)) return *record;
  const auto is_open = [](const Value& v) { return v.is<Unbound>() || is_none(v) || v.is<Maybe>(); };
  if (!is_open(a) && !is_open(b)) return std::nullopt;
  const auto present = [&](const Value& v) -> const Value* {
    if (!is_open(v)) return &v;
    return v.is<Maybe>() ? v.as<Maybe>()->present.get() : nullptr;
  };
  const Value* x = present(a);
  const Value* y = present(b);
  if (x == nullptr && y == nullptr)
    return Conflict{what + ", which is not bound on one path and None on another,"};
  const Value first = slot_of(e, x != nullptr ? *x : *y);
  Value joined = y != nullptr ? e.join(first, slot_of(e, *y), what) : first;
  const auto may = [&](bool Maybe::* flag, bool empty_a, bool empty_b) {
    return empty_a || empty_b || (a.is<Maybe>() && a.as<Maybe>()->*flag) ||
           (b.is<Maybe>() && b.as<Maybe>()->*flag);
  };
  const bool is_unbound = may(&Maybe::may_be_unbound, a.is<Unbound>(), b.is<Unbound>());
  const bool is_none = may(&Maybe::may_be_none, frontend::is_none(a), frontend::is_none(b));
  if (Scalar* number = joined.as<Scalar>()) {
    number->node = {};
    return Maybe{{}, share(joined), is_unbound, is_none};
  }
  if (Array* array = joined.as<Array>()) {
    array->node = {};
    array->object = 0;  // another object than that of the same number in an earlier iteration
    return Maybe{{}, share(joined), is_unbound, is_none};
  }
  return PooledValues(e).conflict(a, b, what + ", which is bound on some paths only,");
}

std::optional<Value> compared_optional(Evaluator& e, Operator op, const Value& a, const Value& b,
                                       nb::handle node) {
  if (!a.is<Maybe>() && !b.is<Maybe>()) return std::nullopt;
  const Maybe* m = a.is<Maybe>() ? a.as<Maybe>() : b.as<Maybe>();
  const auto with = [&](const Value& value) {
    return a.is<Maybe>() ? e.compare(op, value, b, node) : e.compare(op, a, value, node);
  };
  if (!is_equality(op)) return with(e.present(*m, "the value", node));
  return e.fork(
      e.is_there(*m), [&] { return with(e.present(*m, "the value", node)); },
      [&] { return with(Static{nb::none()}); });
}

INGOT_VALUE_KIND(Unbound, UnboundKind)
INGOT_VALUE_KIND(Conflict, ConflictKind)
INGOT_VALUE_KIND(Maybe, MaybeKind)

}  // namespace ingot::frontend
