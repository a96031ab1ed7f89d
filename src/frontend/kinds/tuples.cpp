#include "frontend/arrays/operators.h"
#include "frontend/arrays/scalars.h"
#include "frontend/calls/python_builtins.h"
#include "frontend/expressions/expressions.h"
#include "frontend/kinds/objects.h"
#include "frontend/kinds/sequences.h"
#include "frontend/kinds/special_methods.h"
#include "frontend/kinds/strings.h"
#include "frontend/tracer/evaluate.h"
#include "frontend/tracer/python_objects.h"

namespace ingot::frontend {

namespace {

class TupleKind final : public BuiltinKind {
 public:
  std::vector<Value> parts(const Value& value) const override { return value.as<Tuple>()->members; }
  Value with_parts(const Value& value, std::vector<Value> parts) const override {
    return Tuple{std::move(parts), value.as<Tuple>()->type};
  }
  bool same_form(const Value& a, const Value& b) const override {
    return a.as<Tuple>()->type.is(b.as<Tuple>()->type);
  }

  Answer join(Tracer& t, const Value& a, const Value& b, const std::string& what) const override {
    return joined_parts(t, a, b, what, true);
  }
  nb::object demanded(Tracer& t, const Value& value, const char* what, nb::handle node) const override {
    nb::list members;
    for (const Value& member : value.as<Tuple>()->members)
      members.append(require_static(t, member, what, node));
    return nb::tuple(members);
  }
  Answer text(Tracer& t, const Value& value, const std::string& form, nb::handle) const override {
    const nb::object& type = value.as<Tuple>()->type;
    return type.is_valid() && has_text(t, type) ? std::nullopt : Answer(filled_by(value, form));
  }
  Answer form(Tracer& t, const Value& value) const override { return form_of_parts(t, value); }
  std::optional<Description> describe(Tracer& t, const Value& value, Outward& outward) const override {
    const Tuple& tuple = *value.as<Tuple>();
    described::Tuple of;
    if (tuple.type.is_valid()) of.type = tuple.type;
    return Description{of, descriptions_of(t, tuple.members, outward)};
  }

  std::string type_name(const Tracer&, const Value& value) const override {
    const nb::object& type = value.as<Tuple>()->type;
    return type.is_valid() ? text_of(type.attr("__name__")) : "tuple";
  }
  nb::object class_of(const Tracer&, const Value& value) const override { return value.as<Tuple>()->type; }
  nb::object stand_in(const Tracer& t, const Value& value) const override {
    const Tuple& tuple = *value.as<Tuple>();
    const nb::object parts = stand_ins(t, tuple.members);
    if (!parts.is_valid()) return parts;
    const nb::tuple members{parts};
    if (!tuple.type.is_valid()) return members;
    return imported("builtins").attr("tuple").attr("__new__")(tuple.type, members);
  }
  bool has_methods(const Tracer&, const Value&) const override { return true; }
  bool is_foreign(const Tracer& t, const Value& value) const override {
    return std::ranges::any_of(value.as<Tuple>()->members,
                               [&](const Value& v) { return frontend::is_foreign(t, v); });
  }

  Answer item(Tracer& t, const Value& value, const Value& index, nb::handle node) const override {
    const std::vector<Value>& members = value.as<Tuple>()->members;
    if (const Slice* slice = index.as<Slice>()) return Tuple{part_of(t, members, *slice, node)};
    return open(t, member_of(t, members, plain_number(t, index), "tuple", node), "the element", node);
  }
  std::optional<bool> known_truth(Tracer&, const Value& value) const override {
    return !value.as<Tuple>()->members.empty();
  }
  std::optional<Elements> elements(Tracer&, const Value& value, nb::handle) const override {
    return value.as<Tuple>()->members;
  }
  Answer rest(Tracer&, const Value& value, const Value&, Known known, nb::handle) const override {
    if (!known) return std::nullopt;
    const std::vector<Value>& members = value.as<Tuple>()->members;
    return Tuple{std::vector<Value>(members.begin() + static_cast<ptrdiff_t>(*known), members.end())};
  }
  Precedence precedence() const override { return Precedence::Tuples; }
  Answer compare(Tracer& t, Operator op, const Value& a, const Value& b, nb::handle node) const override {
    if (!a.is<Tuple>() || !b.is<Tuple>()) return std::nullopt;
    return compare_sequences(t, op, a.as<Tuple>()->members, b.as<Tuple>()->members, node);
  }
  Answer contains(Tracer& t, const Value& value, const Value& wanted, nb::handle node) const override {
    if (wanted.is<Array>()) return std::nullopt;
    return is_among(t, value.as<Tuple>()->members, wanted, node);
  }
  Answer binary(Tracer& t, Operator op, const Value& a, const Value& b, nb::handle node) const override {
    return binary_of_sequences(t, op, a, b, node);
  }
  Answer method(Tracer& t, const Value& value, const std::string& name, Call& call) const override;
  /// A field of a namedtuple cannot be set.
  bool set_attribute(Tracer& t, const Value& value, const std::string& name, const Value&,
                     nb::handle) const override {
    const nb::object& type = value.as<Tuple>()->type;
    const nb::object raw = type.is_valid() ? class_attribute(t, type, name) : nb::object();
    if (raw.is_valid() && text_of(raw.type().attr("__name__")) == "_tuplegetter")
      raise(t, base::ExceptionKind::AttributeError, "can't set attribute");
    return false;
  }
};

std::optional<Value> TupleKind::method(Tracer& t, const Value& value, const std::string& name,
                                       Call& call) const {
  raise_as_method(t, value, name, call);
  const std::vector<Value>& members = value.as<Tuple>()->members;
  if (name == "count") return count_of_equal(t, members, call.positional[0], call.node);
  if (name != "index" || call.positional.size() != 1) {
    unsupported(t, call.node, "the method `" + name + "` of a tuple with these arguments",
                "use indexing and loops");
  }
  const NodeId index = index_of_equal(t, members, call.positional[0], call.node);
  check(t, t.builder->make(ir::Op::greater_equal, {index, t.builder->index(0)}),
        base::ExceptionKind::ValueError, "tuple.index(x): x not in tuple");
  return known_number(t, Scalar{Kind::py_int(), index});
}

}  // namespace

INGOT_VALUE_KIND(Tuple, TupleKind)

}  // namespace ingot::frontend
