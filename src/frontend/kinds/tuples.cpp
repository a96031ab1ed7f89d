#include "frontend/kinds/sequences.h"

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

  Answer join(Evaluator& e, const Value& a, const Value& b, const std::string& what) const override {
    return joined_parts(e, a, b, what, true);
  }
  Answer form(Evaluator& e, const Value& value) const override { return form_of_parts(e, value); }
  std::optional<Description> describe(Evaluator& e, const Value& value, Outward& outward) const override {
    const Tuple& tuple = *value.as<Tuple>();
    described::Tuple of;
    if (tuple.type.is_valid()) of.type = tuple.type;
    return Description{of, descriptions_of(e, tuple.members, outward)};
  }

  std::string type_name(const Evaluator&, const Value& value) const override {
    const nb::object& type = value.as<Tuple>()->type;
    return type.is_valid() ? text_of(type.attr("__name__")) : "tuple";
  }
  nb::object class_of(const Evaluator&, const Value& value) const override { return value.as<Tuple>()->type; }
  nb::object stand_in(const Evaluator& e, const Value& value) const override {
    const Tuple& tuple = *value.as<Tuple>();
    const nb::object parts = stand_ins(e, tuple.members);
    if (!parts.is_valid()) return parts;
    const nb::tuple members{parts};
    if (!tuple.type.is_valid()) return members;
    return imported("builtins").attr("tuple").attr("__new__")(tuple.type, members);
  }
  bool has_methods(const Evaluator&, const Value&) const override { return true; }
  bool is_foreign(const Evaluator& e, const Value& value) const override {
    return std::ranges::any_of(value.as<Tuple>()->members, [&](const Value& v) { return e.is_foreign(v); });
  }

  Answer item(Evaluator& e, const Value& value, const Value& index, nb::handle node) const override {
    const std::vector<Value>& members = value.as<Tuple>()->members;
    if (const Slice* slice = index.as<Slice>()) return Tuple{part_of(e, members, *slice, node)};
    return e.open(member_of(e, members, index, "tuple", node), "the element", node);
  }
  std::optional<bool> known_truth(Evaluator&, const Value& value) const override {
    return !value.as<Tuple>()->members.empty();
  }
  std::optional<Elements> elements(Evaluator&, const Value& value, nb::handle) const override {
    return value.as<Tuple>()->members;
  }
  Answer rest(Evaluator&, const Value& value, const Value&, Known known, nb::handle) const override {
    if (!known) return std::nullopt;
    const std::vector<Value>& members = value.as<Tuple>()->members;
    return Tuple{std::vector<Value>(members.begin() + static_cast<ptrdiff_t>(*known), members.end())};
  }
  Precedence precedence() const override { return Precedence::Tuples; }
  Answer compare(Evaluator& e, Operator op, const Value& a, const Value& b, nb::handle node) const override {
    if (!a.is<Tuple>() || !b.is<Tuple>()) return std::nullopt;
    return e.compare_sequences(op, a.as<Tuple>()->members, b.as<Tuple>()->members, node);
  }
  Answer contains(Evaluator& e, const Value& value, const Value& wanted, nb::handle node) const override {
    if (wanted.is<Array>()) return std::nullopt;
    return e.is_among(value.as<Tuple>()->members, wanted, node);
  }
  Answer binary(Evaluator& e, Operator op, const Value& a, const Value& b, nb::handle node) const override {
    return e.binary_of_sequences(op, a, b, node);
  }
  Answer method(Evaluator& e, const Value& value, const std::string& name, Call& call) const override;
  /// A field of a namedtuple cannot be set.
  bool set_attribute(Evaluator& e, const Value& value, const std::string& name, const Value&,
                     nb::handle) const override {
    const nb::object& type = value.as<Tuple>()->type;
    const nb::object raw = type.is_valid() ? e.class_attribute(type, name) : nb::object();
    if (raw.is_valid() && text_of(raw.type().attr("__name__")) == "_tuplegetter")
      e.raise(base::ExceptionKind::AttributeError, "can't set attribute");
    return false;
  }
};

std::optional<Value> TupleKind::method(Evaluator& e, const Value& value, const std::string& name,
                                       Call& call) const {
  raise_as_method(e, value, name, call);
  const std::vector<Value>& members = value.as<Tuple>()->members;
  if (name == "count") return e.count_of_equal(members, call.positional[0], call.node);
  if (name != "index" || call.positional.size() != 1) {
    e.unsupported(call.node, "the method `" + name + "` of a tuple with these arguments",
                  "use indexing and loops");
  }
  const NodeId index = e.index_of_equal(members, call.positional[0], call.node);
  e.check(e.builder_->make(ir::Op::greater_equal, {index, e.builder_->index(0)}),
          base::ExceptionKind::ValueError, "tuple.index(x): x not in tuple");
  return e.known_number(Scalar{Kind::py_int(), index});
}

}  // namespace

std::vector<Value> part_of(Evaluator& e, const std::vector<Value>& members, const Slice& slice,
                           nb::handle node) {
  std::vector<Value> parts;
  for (const size_t position : e.indices_of(slice, members.size(), node)) parts.push_back(members[position]);
  return parts;
}

Value member_of(Evaluator& e, const std::vector<Value>& members, const Value& index, const std::string& what,
                nb::handle node) {
  if (e.is_staged_index(index, node)) {
    const NodeId size = e.builder_->index(static_cast<int64_t>(members.size()));
    return e.pick_staged(members, e.staged_index_of(index, size, what + " index out of range"), node);
  }
  const Value at = Static{e.require_static(index, "an index into a container", node)};
  e.need_index_sized(at);
  const std::optional<int64_t> i = e.static_int(at);
  if (!i) {
    e.raise(base::ExceptionKind::TypeError,
            what + " indices must be integers or slices, not " + e.type_name(at));
  }
  const int64_t size = static_cast<int64_t>(members.size());
  if (*i < -size || *i >= size) e.raise(base::ExceptionKind::IndexError, what + " index out of range");
  return members[static_cast<size_t>(*i < 0 ? *i + size : *i)];
}

Slice slice_from(const Value& start) {
  return Slice{share(std::array<Value, 3>{start, Static{nb::none()}, Static{nb::none()}})};
}

std::optional<Value> reversed_slice(Evaluator& e, const Value& value, nb::handle node) {
  if (rank_of(value) == 0) return std::nullopt;
  const Slice backwards{
      share(std::array<Value, 3>{Static{nb::none()}, Static{nb::none()}, Static{nb::int_(-1)}})};
  return e.iterator("reversed", e.eval_item(value, backwards, node));
}

void raise_as_method(Evaluator& e, const Value& self, const std::string& name, const Evaluator::Call& call) {
  const nb::object model = e.stand_in(self);
  if (!model.is_valid()) return;
  e.raise_by_type("call", name, call.positional, attribute(model, name.c_str()), call.keywords);
}

std::optional<Value> repeat_in_place(Evaluator& e, const Value& list, const Value& count, nb::handle node) {
  const std::optional<Kind> times = e.repeats(count);
  if (!times || !times->is_python()) return std::nullopt;
  e.by_library("repeat", {list, count}, node);
  return Unbound{};
}

nb::object stand_ins(const Evaluator& e, std::span<const Value> values) {
  nb::list all;
  for (const Value& value : values) {
    const nb::object one = e.stand_in(value);
    if (!one.is_valid()) return {};
    all.append(one);
  }
  return nb::object(all);
}

INGOT_VALUE_KIND(Tuple, TupleKind)

}  // namespace ingot::frontend
