#include "frontend/kinds/optionals.h"

#include "frontend/arrays/operators.h"
#include "frontend/arrays/scalars.h"
#include "frontend/expressions/expressions.h"
#include "frontend/joins/joins.h"
#include "frontend/kinds/rows.h"
#include "frontend/tracer/evaluate.h"
#include "frontend/tracer/python_objects.h"

namespace ingot::frontend {

using base::ExceptionKind;
using ir::Op;

namespace {

/// The value of an optional, without a node: no node may be built between a construct and its results.
Value slot_of(const Tracer& t, const Value& present) {
  if (const std::optional<Kind> kind = number_kind(present)) return Scalar{*kind, {}, is_mixed(present)};
  return shape_of(present, seen_from(*t.builder, ir::RegionId(0)));
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
  Value present(Tracer& t, const Value&, const std::string& name, nb::handle) const override {
    const auto [kind, message] = absence_of(t, name);
    raise(t, kind, message);
  }
  Value bound(Tracer& t, const Value& value, const std::string& name) const override {
    return present(t, value, name, {});
  }
  Answer form(Tracer&, const Value& value) const override { return value; }
  std::string words(const Tracer&, const Value&) const override { return {}; }
};

class ConflictKind final : public ValueKind {
 public:
  Value present(Tracer& t, const Value& value, const std::string&, nb::handle node) const override {
    const Conflict& conflict = *value.as<Conflict>();
    if (!conflict.loop.empty()) throw NeedsFact::at(conflict.loop, location_of(t, node));
    if (conflict.has_source()) throw NeedsFact::of(conflict.argument, location_of(t, node));
    ask_for_pools(t, conflict, node);
    unsupported(t, node, conflict.reason, conflict.advice);
  }
  Answer form(Tracer& t, const Value& value) const override {
    ask_for_pools(t, *value.as<Conflict>(), {});
    return std::nullopt;
  }
  std::string words(const Tracer&, const Value&) const override { return {}; }
  Answer call(Tracer& t, const Value& value, Call& call) const override {
    return call_value(t, present(t, value, "the function", call.node), call);
  }

 private:
  static void ask_for_pools(Tracer& t, const Conflict& conflict, nb::handle node) {
    if (!conflict.pools.empty()) PooledValues(t).ask_for(conflict.pools, node);
    if (!conflict.rows.empty()) Rows(t).ask_for(conflict.rows, node);
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
  void carry(Tracer& t, const Value& shape, const Value& actual, Nodes& out) const override {
    if (!shape.as<Maybe>()->node) out.push_back(carried(t, *shape.as<Maybe>(), actual));
  }
  Value fill(Tracer& t, const Value& shape, const NextNode& next) const override {
    Maybe filled = *shape.as<Maybe>();
    if (!filled.node) filled.node = next();
    if (is_mixed(*filled.present)) t.mixed.insert(filled.node.index);
    return filled;
  }
  Value blank(Tracer&, const Value& shape) const override {
    const Maybe& m = *shape.as<Maybe>();
    if (m.node) return shape;
    return m.may_be_none ? Value(Static{nb::none()}) : Value(Unbound{});
  }
  Value key(const Tracer& t, const Value& value) const override {
    Maybe key = *value.as<Maybe>();
    key.node = {};
    key.present = share(kind_of_value(*key.present).key(t, *key.present));
    return key;
  }
  Value present(Tracer& t, const Value& value, const std::string& name, nb::handle) const override {
    const Value checked = bound(t, value, name);
    const Maybe& m = *checked.as<Maybe>();
    const NodeId tag = t.builder->make(Op::tag, {m.node});
    if (m.may_be_none) {
      check(t, t.builder->make(Op::equal, {tag, t.builder->constant(kThere)}), ExceptionKind::TypeError,
            "'" + name + "' is None here");
    }
    Value inside = *m.present;
    const NodeId node = t.builder->make(Op::value, {m.node});
    if (Array* array = inside.as<Array>()) array->node = node;
    else inside = Scalar{kind_of_present(m), node};
    return inside;
  }
  Value bound(Tracer& t, const Value& value, const std::string& name) const override {
    Maybe m = *value.as<Maybe>();
    if (!m.may_be_unbound) return m;
    const auto [kind, message] = absence_of(t, name);
    const NodeId tag = t.builder->make(Op::tag, {m.node});
    check(t, t.builder->make(Op::not_equal, {tag, t.builder->constant(kMissing)}), kind, message);
    m.may_be_unbound = false;
    return m;
  }
  std::optional<NodeId> is_missing(Tracer& t, const Value& value) const override {
    const NodeId tag = t.builder->make(Op::tag, {value.as<Maybe>()->node});
    return t.builder->make(Op::equal, {tag, t.builder->constant(kNone)});
  }
  Answer by_presence(Tracer& t, const Value& value, const Use& use, nb::handle node) const override {
    const Maybe m = *value.as<Maybe>();
    if (!m.may_be_none) return std::nullopt;
    return fork(
        t, is_there(t, m), [&] { return use(frontend::present(t, m, "the value", node)); },
        [&] { return use(Static{nb::none()}); });
  }
  Answer form(Tracer&, const Value& value) const override {
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
  void numbers(Tracer& t, const Value& form, const Value& element, Nodes& out) const override {
    ir::Builder& builder = *t.builder;
    const Kind kind = kind_of_present(*form.as<Maybe>());
    if (element.is<Unbound>() || is_none(element)) {
      out.push_back(builder.constant(element.is<Unbound>() ? kMissing : kNone));
      out.push_back(zero(builder, kind));
    } else if (const Maybe* given = element.as<Maybe>()) {
      const Scalar inside{kind_of_present(*given), builder.make(Op::value, {given->node})};
      out.push_back(builder.make(Op::tag, {given->node}));
      out.push_back(frontend::convert(t, inside, kind));
    } else {
      out.push_back(builder.constant(kThere));
      out.push_back(frontend::convert(t, element, kind));
    }
  }
  Value element(Tracer& t, const Value& form, const NextNode& next) const override {
    Maybe m = *form.as<Maybe>();
    const NodeId tag = next();
    const NodeId value = next();
    m.node = optional_of(*t.builder, tag, type_of_slot(t.module.types, m), m.may_be_none, m.may_be_unbound,
                         [&] { return value; });
    return m;
  }
  void convert(Tracer& t, const Value& from, const Value& to, Conversion& columns) const override {
    const Kind kind = kind_of_present(*to.as<Maybe>());
    if (const Maybe* m = from.as<Maybe>()) {
      columns.add(columns.next());
      columns.add_next_as(kind_of_present(*m), kind);
    } else if (const Scalar* number = from.as<Scalar>()) {
      columns.fill(t.builder->constant(kThere));
      columns.add_next_as(number->kind, kind);
    } else {
      columns.fill(t.builder->constant(from.is<Unbound>() ? kMissing : kNone));
      columns.fill(zero(*t.builder, kind));
    }
  }
  std::optional<Description> describe(Tracer& t, const Value& value, Outward& outward) const override {
    const Maybe& m = *value.as<Maybe>();
    const Scalar* number = m.present->as<Scalar>();
    if (number == nullptr || m.may_be_unbound) {
      unsupported(t, {}, "a result that is an array on one path and None on another",
                  "return an array on every path, an empty one if need be");
    }
    outward.leaves.push_back(t.builder->make(Op::tag, {m.node}));
    outward.leaves.push_back(t.builder->make(Op::value, {m.node}));
    return Description{described::Maybe{}, {{described::Scalar{number->kind}}}};
  }

  std::string words(const Tracer& t, const Value& value) const override {
    const Maybe& m = *value.as<Maybe>();
    return kind_of_value(*m.present).words(t, *m.present) + (m.may_be_none ? " or None" : " or not bound");
  }
  nb::object stand_in(const Tracer& t, const Value& value) const override {
    return frontend::stand_in(t, *value.as<Maybe>()->present);
  }
  std::optional<NodeId> truth(Tracer& t, const Value& value, nb::handle node) const override {
    const auto there = [&] {
      return Value(
          Scalar{Kind::py_bool(), frontend::truth(t, frontend::present(t, value, "value", node), node)});
    };
    const auto missing = [] { return Value(Static{nb::bool_(false)}); };
    return frontend::truth(t, fork(t, is_there(t, *value.as<Maybe>()), there, missing), node);
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
  static NodeId carried(Tracer& t, const Maybe& shape, const Value& actual) {
    const ir::Type type = type_of_slot(t.module.types, shape);
    if (actual.is<Unbound>() || is_none(actual))
      return t.builder->make(Op::none, {}, {actual.is<Unbound>() ? 2 : 1}, type);
    const Maybe* other = actual.as<Maybe>();
    if (other == nullptr) {
      std::vector<NodeId> value;
      frontend::carry(t, *shape.present, actual, value);
      return t.builder->make(Op::some, {value[0]});
    }
    Value inside = *other->present;
    if (Array* array = inside.as<Array>()) array->owns = shape.present->as<Array>()->owns;
    if (same(inside, *shape.present)) return other->node;
    const Scalar* number = shape.present->as<Scalar>();
    if (number != nullptr && inside.is<Scalar>()) {
      const NodeId tag = t.builder->make(Op::tag, {other->node});
      return optional_of(*t.builder, tag, type, true, true, [&] {
        const Scalar there{kind_of_present(*other), t.builder->make(Op::value, {other->node})};
        return frontend::convert(t, there, number->kind);
      });
    }
    unsupported(t, {}, "a variable that may be unbound or None changes its type",
                "bind it before the branch");
  }
};

}  // namespace

std::optional<Value> joined_optional(Tracer& t, const Value& a, const Value& b, const std::string& what) {
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
  const Value first = slot_of(t, x != nullptr ? *x : *y);
  Value joined = y != nullptr ? join(t, first, slot_of(t, *y), what) : first;
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
  return PooledValues(t).conflict(a, b, what + ", which is bound on some paths only,");
}

std::optional<Value> compared_optional(Tracer& t, Operator op, const Value& a, const Value& b,
                                       nb::handle node) {
  if (!a.is<Maybe>() && !b.is<Maybe>()) return std::nullopt;
  const Value m = a.is<Maybe>() ? a : b;
  const auto with = [&](const Value& value) {
    return a.is<Maybe>() ? compare(t, op, value, b, node) : compare(t, op, a, value, node);
  };
  if (is_equality(op))
    if (std::optional<Value> result = kind_of_value(m).by_presence(t, m, with, node)) return result;
  return with(present(t, m, "the value", node));
}

INGOT_VALUE_KIND(Unbound, UnboundKind)
INGOT_VALUE_KIND(Conflict, ConflictKind)
INGOT_VALUE_KIND(Maybe, MaybeKind)

}  // namespace ingot::frontend
