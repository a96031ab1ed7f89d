#include "frontend/kinds/members.h"

#include "frontend/arrays/arrays.h"
#include "frontend/arrays/operators.h"
#include "frontend/arrays/scalars.h"
#include "frontend/kinds/mappings.h"
#include "frontend/kinds/objects.h"
#include "frontend/kinds/special_methods.h"
#include "frontend/kinds/strings.h"
#include "frontend/kinds/structure.h"
#include "frontend/tracer/evaluate.h"
#include "frontend/tracer/python_objects.h"

namespace ingot::frontend {

using base::ExceptionKind;
using ir::Op;

namespace {

/// The Enum whose member a value is, if that cannot create further members; invalid: none.
nb::object enum_of(const Value& value) {
  if (const Member* m = value.as<Member>()) return m->type;
  const Static* s = value.as<Static>();
  if (s == nullptr || !is_member_of_enum(s->object)) return {};
  nb::object type = nb::borrow(s->object.type());
  const nb::object flag = imported("enum").attr("Flag");
  if (PyType_IsSubtype(Py_TYPE(s->object.ptr()), reinterpret_cast<PyTypeObject*>(flag.ptr())) != 0) return {};
  return type;
}

Value open_member(const nb::object& type, NodeId place) {
  return Member{type, share(Value(Scalar{Kind::py_int(), place}))};
}

NodeId node_of(const Member& member) { return member.index->as<Scalar>()->node; }

}  // namespace

bool Members::holds_members(const Value& value) {
  const Static* s = value.as<Static>();
  return s != nullptr && nb::borrow(s->object.type()).is(imported("enum").attr("EnumType"));
}

std::vector<nb::object> Members::members_of(const nb::object& type) {
  std::vector<nb::object> members;
  for (const nb::handle member : nb::object(type.attr("_member_map_").attr("values")())) {
    const bool is_new = std::ranges::none_of(members, [&](const nb::object& m) { return m.is(member); });
    if (is_new) members.push_back(nb::borrow(member));
  }
  return members;
}

nb::object Members::tuple_of(const nb::object& type) {
  nb::list members;
  for (const nb::object& member : members_of(type)) members.append(member);
  return nb::tuple(members);
}

std::optional<Value> Members::join(const Value& a, const Value& b) {
  const nb::object type = enum_of(a);
  if (!type.is_valid() || !enum_of(b).is(type)) return std::nullopt;
  return open_member(type, {});
}

NodeId Members::place(const Value& member) {
  if (const Member* m = member.as<Member>()) return node_of(*m);
  const nb::object& known = member.as<Static>()->object;
  const std::vector<nb::object> members = members_of(nb::borrow(known.type()));
  const auto at = std::ranges::find_if(members, [&](const nb::object& m) { return m.is(known); });
  if (at == members.end()) throw base::InternalError("a member of an Enum that it does not have");
  return t_.builder->index(at - members.begin());
}

Value Members::opened(const Value& member) { return open_member(enum_of(member), place(member)); }

Value Members::by_value(const nb::object& type, const Scalar& number, nb::handle node) {
  NodeId at = t_.builder->index(-1);
  const std::vector<nb::object> members = members_of(type);
  for (size_t i = members.size(); i-- > 0;) {
    const Value own = attribute_of(t_, Static{members[i]}, "_value_", node);
    if (!kind_of(own)) continue;
    const NodeId is = truth(t_, frontend::compare(t_, Operator::Eq, number, own, node), node);
    at = t_.builder->make(Op::select, {is, t_.builder->index(static_cast<int64_t>(i)), at});
  }
  check_showing(t_, t_.builder->make(Op::greater_equal, {at, t_.builder->index(0)}),
                ExceptionKind::ValueError, number, " is not a valid " + text_of(type.attr("__qualname__")));
  return open_member(type, at);
}

Value Members::on_each(const Member& member, const Use& use) {
  const std::vector<nb::object> members = members_of(member.type);
  const NodeId at = node_of(member);
  const std::function<Value(size_t)> from = [&](size_t i) -> Value {
    if (i + 1 == members.size()) return use(Static{members[i]});
    const NodeId is = t_.builder->make(Op::equal, {at, t_.builder->index(static_cast<int64_t>(i))});
    return fork(t_, is, [&] { return use(Static{members[i]}); }, [&] { return from(i + 1); });
  };
  return from(0);
}

std::optional<Value> Members::on_each(const Value& a, const Value& b, const UseBoth& use) {
  if (const Member* m = a.as<Member>()) return on_each(*m, [&](const Value& known) { return use(known, b); });
  if (const Member* m = b.as<Member>()) return on_each(*m, [&](const Value& known) { return use(a, known); });
  return std::nullopt;
}

std::optional<Value> Members::call(const Value& callee, Call& call) {
  for (size_t i = 0; i < call.positional.size(); ++i) {
    const Member* m = call.positional[i].as<Member>();
    if (m == nullptr) continue;
    return on_each(Member(*m), [&](const Value& known) {
      Call again = call;
      again.positional[i] = known;
      return call_value(t_, callee, again);
    });
  }
  return std::nullopt;
}

std::optional<Value> Members::by_index(const Value& container, const Value& index, const Use& use) {
  const Member* m = index.as<Member>();
  if (m == nullptr || is_instance(container) || mapping(t_, container) != nullptr) return std::nullopt;
  const bool is_dict = container.is<Dict>();
  if (!is_dict)
    if (const std::optional<Value> own = number(*m)) return use(*own);
  return on_each(*m, use);
}

std::optional<Value> Members::by_new_index(const Value& container, const Value& index, const Use& use,
                                           nb::handle node) {
  const Dict* dict = container.as<Dict>();
  if (index.is<Member>() && dict != nullptr && mapping(t_, container) == nullptr) {
    const std::vector<nb::object> keys = contents(t_, dict->object, node).keys;
    const bool has_all =
        std::ranges::all_of(members_of(index.as<Member>()->type), [&](const nb::object& member) {
          return std::ranges::any_of(keys, [&](const nb::object& key) { return key.is(member); });
        });
    if (!has_all) ask_for_mapping(t_, *dict, index, node);
  }
  return by_index(container, index, use);
}

bool Members::is_own_method(const nb::object& type, const char* name) {
  const nb::object raw = class_attribute(t_, type, name);
  return raw.is_valid() && PyFunction_Check(raw.ptr());
}

std::optional<Value> Members::is_in(Operator op, const Value& member, const Value& container) {
  const bool is_dict = container.is<Dict>() && mapping(t_, container) == nullptr;
  const bool asks_it = is_dict || container.is<Set>() || container.is<Static>() || container.is<Member>();
  if (!asks_it) return std::nullopt;
  return on_each(member, container, [&](const Value& known, const Value& inside) {
    return frontend::compare(t_, op, known, inside, t_.here);
  });
}

std::optional<Value> Members::compare(Operator op, const Value& a, const Value& b) {
  if (!a.is<Member>() && !b.is<Member>()) return std::nullopt;
  if (is_membership(op)) return is_in(op, a, b);
  if (!is_identity(op)) {
    for (const Value* each : {&a, &b})
      if (const nb::object type = enum_of(*each); type.is_valid() && is_own_method(type, info(op).method))
        return std::nullopt;
    if (op == Operator::NotEq && is_own_method(enum_of(a.is<Member>() ? a : b), "__eq__"))
      return std::nullopt;
  }
  const nb::object type = enum_of(a);
  const bool are_alike = type.is_valid() && enum_of(b).is(type);
  const std::optional<Kind> left = kind_of(plain_number(t_, a));
  const std::optional<Kind> right = kind_of(plain_number(t_, b));
  const bool are_places = !left || base::is_int(left->dtype());  // a NaN is not equal to itself
  if (are_alike && (is_identity(op) || (is_equality(op) && are_places))) {
    const NodeId same = t_.builder->make(Op::equal, {place(a), place(b)});
    return as_bool(t_, op == Operator::Is || op == Operator::Eq ? same : negate(t_, same));
  }
  if (!is_identity(op) && (a.is<Member>() ? left : right)) return std::nullopt;
  return on_each(a, b,
                 [&](const Value& x, const Value& y) { return frontend::compare(t_, op, x, y, t_.here); });
}

std::optional<Value> Members::number(const Member& member) {
  std::optional<Value> number;
  const std::vector<nb::object> members = members_of(member.type);
  const NodeId at = node_of(member);
  for (size_t i = members.size(); i-- > 0;) {
    const Value known = plain_number(t_, Static{members[i]});
    const std::optional<Kind> kind = kind_of(known);
    if (!kind || (*kind == Kind::py_int() && !static_int(known))) return std::nullopt;
    const NodeId own = stage(t_, known, *kind);
    if (!number) {
      number = Scalar{*kind, own};
      continue;
    }
    const Scalar& rest = *number->as<Scalar>();
    if (rest.kind != *kind) return std::nullopt;
    const NodeId is = t_.builder->make(Op::equal, {at, t_.builder->index(static_cast<int64_t>(i))});
    number = Scalar{*kind, t_.builder->make(Op::select, {is, own, rest.node})};
  }
  return number;
}

std::optional<Value> Members::attribute(const Member& member, const std::string& name, nb::handle node) {
  if (is_own_method(member.type, name.c_str()) && name != "__class__") return std::nullopt;
  return on_each(member, [&](const Value& known) { return attribute_of(t_, known, name, node); });
}

namespace {

class MemberKind final : public KindOfParts<Member, &Member::index> {
 public:
  bool same_form(const Value& a, const Value& b) const override {
    return a.as<Member>()->type.is(b.as<Member>()->type);
  }
  Answer join(Tracer& t, const Value& a, const Value& b, const std::string& what) const override {
    if (Answer member = Members::join(a, b)) return member;
    return ValueKind::join(t, a, b, what);
  }
  void carry(Tracer& t, const Value& shape, const Value& actual, Nodes& out) const override {
    const bool is_known = actual.is<Static>();
    ValueKind::carry(t, shape, is_known ? Members(t).opened(actual) : actual, out);
  }
  Answer form(Tracer& t, const Value& value) const override { return form_of_parts(t, value); }
  void numbers(Tracer& t, const Value& form, const Value& element, Nodes& out) const override {
    const bool is_known = element.is<Static>();
    ValueKind::numbers(t, form, is_known ? Members(t).opened(element) : element, out);
  }
  void convert(Tracer& t, const Value& from, const Value& to, Conversion& columns) const override {
    if (!from.is<Static>()) return ValueKind::convert(t, from, to, columns);
    columns.fill(node_of(*Members(t).opened(from).as<Member>()));
  }
  std::optional<Description> describe(Tracer&, const Value& value, Outward& outward) const override {
    const Member& member = *value.as<Member>();
    outward.leaves.push_back(node_of(member));
    return Description{described::Member{nb::cast<nb::tuple>(Members::tuple_of(member.type))}};
  }
  std::string type_name(const Tracer&, const Value& value) const override {
    return text_of(value.as<Member>()->type.attr("__name__"));
  }
  nb::object class_of(const Tracer&, const Value& value) const override { return value.as<Member>()->type; }
  nb::object stand_in(const Tracer&, const Value& value) const override {
    return Members::members_of(value.as<Member>()->type)[0];
  }
  Answer text(Tracer& t, const Value& value, const std::string& form, nb::handle node) const override {
    if (!has_text(t, value.as<Member>()->type)) return filled_by(value, form);
    unsupported(t, node, "the text of a member of an Enum that is not known, by a method of its class,",
                "show its name");
  }
  Answer unary(Tracer& t, Operator op, const Value& value, nb::handle node) const override {
    const auto of_one = [&](const Value& known) { return frontend::unary(t, op, known, node); };
    return Members(t).on_each(*value.as<Member>(), of_one);
  }
  std::optional<NodeId> truth(Tracer& t, const Value& value, nb::handle node) const override {
    const auto of_one = [&](const Value& known) {
      return Value(Scalar{Kind::py_bool(), frontend::truth(t, known, node)});
    };
    return frontend::truth(t, Members(t).on_each(*value.as<Member>(), of_one), node);
  }
};

}  // namespace

INGOT_VALUE_KIND(Member, MemberKind)

}  // namespace ingot::frontend
