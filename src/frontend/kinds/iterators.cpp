#include "frontend/kinds/functions.h"

namespace ingot::frontend {

using ir::Op;

namespace {

/// What `enumerate` and `zip` result in.
class ZipKind final : public ValueKind {
 public:
  std::vector<Value> parts(const Value& value) const override { return *value.as<Zip>()->members; }
  Value with_parts(const Value&, std::vector<Value> parts) const override {
    return Zip{share(std::move(parts))};
  }

  std::optional<Elements> elements(Evaluator& e, const Value& value, nb::handle node) const override;
  std::optional<Trips> trips(Evaluator& e, const Value& value, nb::handle node) const override {
    std::vector<Trips> each;
    for (const Value& member : *value.as<Zip>()->members) each.push_back(e.trips_of(member, node));
    NodeId count = each[0].count;
    for (size_t i = 1; i < each.size(); ++i) count = e.builder_->make(Op::minimum, {count, each[i].count});
    return Trips{count, [each](NodeId k) {
                   Tuple tuple;
                   for (const Trips& one : each) tuple.members.push_back(one.element(k));
                   return Value(tuple);
                 }};
  }
  Answer iterated(Evaluator& e, const Value& value, nb::handle node) const override {
    return with_each_part(value, [&](const Value& member) { return e.begin_iterate(member, node); });
  }
  Indexed indexed(Evaluator& e, const Value& value, nb::handle node) const override;
  Answer rest(Evaluator& e, const Value& value, const Value& taken, Known known,
              nb::handle node) const override {
    std::vector<Value> members = parts(value);
    for (Value& member : members) {
      const Answer rest = kind_of_value(member).rest(e, member, taken, known, node);
      if (!rest) return std::nullopt;
      member = *rest;
    }
    return with_parts(value, std::move(members));
  }
  bool has_open_length(const Evaluator& e, const Value& value) const override {
    return std::ranges::all_of(*value.as<Zip>()->members, [&](const Value& member) {
      return counts_on(member) || e.has_open_length(member);
    });
  }
  bool generates(const Value& value) const override {
    return std::ranges::any_of(*value.as<Zip>()->members, iterates_generator);
  }
  bool may_change_length(const Value& value) const override {
    return std::ranges::any_of(*value.as<Zip>()->members, [](const Value& member) {
      return kind_of_value(member).may_change_length(member);
    });
  }
};

std::optional<std::vector<Value>> ZipKind::elements(Evaluator& e, const Value& value, nb::handle node) const {
  const std::vector<Value>& members = *value.as<Zip>()->members;
  const bool is_known = std::ranges::any_of(members, [&](const Value& member) {
    if (member.is<Zip>()) return elements(e, member, node).has_value();
    return !member.is<Range>() && !rank_of(member) && !kind_of_value(member).has_open_length(e, member);
  });
  if (!is_known) return std::nullopt;
  std::optional<size_t> count;
  std::vector<std::vector<Value>> parts(members.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    if (counts_on(members[i])) continue;
    auto elements = e.static_elements(members[i], node, true);
    if (!elements) return std::nullopt;
    if (std::ranges::any_of(*elements, [](const Value& v) { return v.is<Unbound>(); })) {
      e.unsupported(
          node,
          "a list that gets shorter while it is iterated over from the back together with something else",
          "iterate over its indices");
    }
    count = std::min(count.value_or(elements->size()), elements->size());
    parts[i] = std::move(*elements);
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    if (!counts_on(members[i])) continue;
    const Evaluator::IndexedIterable counted = kind_of_value(members[i]).indexed(e, members[i], node);
    for (size_t k = 0; k < count.value_or(0); ++k) parts[i].push_back(counted.element(Static{nb::int_(k)}));
  }
  std::vector<Value> tuples(count.value_or(0));
  for (size_t i = 0; i < tuples.size(); ++i) {
    Tuple tuple;
    for (const auto& part : parts) tuple.members.push_back(part[i]);
    tuples[i] = std::move(tuple);
  }
  return tuples;
}

Evaluator::IndexedIterable ZipKind::indexed(Evaluator& e, const Value& value, nb::handle node) const {
  std::vector<Evaluator::IndexedIterable> each;
  for (const Value& member : *value.as<Zip>()->members)
    each.push_back(kind_of_value(member).indexed(e, member, node));
  const auto has = [&e, each, node](const Value& index) -> Value {
    NodeId all = e.builder_->constant(true);
    for (const Evaluator::IndexedIterable& part : each) {
      const Value one = part.has(index);
      const std::optional<bool> known = e.static_truth(one);
      if (known == false) return one;
      if (!known) all = e.both(all, e.truth(one, node));
    }
    return e.as_bool(all);
  };
  const auto element = [each](const Value& index) {
    Tuple tuple;
    for (const Evaluator::IndexedIterable& part : each) tuple.members.push_back(part.element(index));
    return Value(tuple);
  };
  return {has, element};
}

class IteratorKind final : public ValueKind {
 public:
  std::vector<Value> parts(const Value& value) const override { return {*value.as<Iterator>()->iterates}; }
  Value with_parts(const Value& value, std::vector<Value> parts) const override {
    const Iterator& iterator = *value.as<Iterator>();
    return Iterator{iterator.cell, iterator.name, share(std::move(parts[0]))};
  }
  bool same_form(const Value& a, const Value& b) const override {
    return a.as<Iterator>()->cell == b.as<Iterator>()->cell;
  }
  void each_object(const Value& value, const Visit& visit) const override {
    visit(value.as<Iterator>()->cell);
  }
  void renumber(Value& value, const Renumber& object, const Renumber&) const override {
    Iterator& own = *value.as<Iterator>();
    own.cell = object(own.cell);
  }

  std::string type_name(const Evaluator&, const Value& value) const override {
    return value.as<Iterator>()->name;
  }
  nb::object type_of(Evaluator& e, const Value& value, nb::handle) const override {
    const nb::object model = stand_in(e, value);
    return model.is_valid() ? nb::borrow<nb::object>(model.type()) : nb::object();
  }
  nb::object stand_in(const Evaluator&, const Value& value) const override {
    const nb::object made = imported("ingot._objects.foreign").attr("iterator")(value.as<Iterator>()->name);
    return made.is_none() ? nb::object() : made;
  }
  /// The iterable, or what is left of it; the iterator is exhausted then.
  Answer iterated(Evaluator& e, const Value& value, nb::handle node) const override {
    const Iterator& iterator = *value.as<Iterator>();
    const Value taken = std::exchange(e.state_.heap.at(iterator.cell).values[0], Static{nb::none()});
    const Known known = e.static_int(taken);
    if (known == 0) return e.begin_iterate(Value(*iterator.iterates), node);
    const ValueKind& kind = kind_of_value(*iterator.iterates);
    if (number_kind(taken))
      if (Answer rest = kind.rest(e, *iterator.iterates, taken, known, node))
        return e.begin_iterate(*rest, node);
    e.unsupported(node, "iterating over a " + iterator.name + " that has been iterated over already",
                  "make it anew, or a list of it");
  }
  bool has_open_length(const Evaluator& e, const Value& value) const override {
    return e.has_open_length(*value.as<Iterator>()->iterates);
  }
  bool generates(const Value& value) const override {
    return iterates_generator(*value.as<Iterator>()->iterates);
  }
  std::optional<bool> known_truth(Evaluator&, const Value&) const override { return true; }
  std::optional<bool> identical(Evaluator&, const Value& a, const Value& b, nb::handle) const override {
    return a.as<Iterator>()->cell == b.as<Iterator>()->cell;
  }
  Answer contains(Evaluator& e, const Value& value, const Value& wanted, nb::handle node) const override {
    return e.compare(Operator::In, wanted, Tuple{e.elements_of(value, node)}, node);
  }
};

class GeneratorKind final : public ValueKind {
 public:
  std::vector<Value> parts(const Value& value) const override { return *value.as<Generator>()->values; }
  Value with_parts(const Value& value, std::vector<Value> parts) const override {
    const Generator& generator = *value.as<Generator>();
    return Generator{generator.definition, generator.names, share(std::move(parts))};
  }
  bool same_form(const Value& a, const Value& b) const override {
    return same_definition(*a.as<Generator>()->definition, *b.as<Generator>()->definition) &&
           *a.as<Generator>()->names == *b.as<Generator>()->names;
  }
  void each_object(const Value& value, const Visit& visit) const override {
    for (const auto& [name, cell] : value.as<Generator>()->definition->shared) visit(cell);
  }
  void renumber(Value& value, const Renumber& object, const Renumber&) const override {
    Generator& own = *value.as<Generator>();
    own.definition = renumbered(*own.definition, object);
  }
  const char* passed_instead(const Value&) const override { return "pass a list of its elements"; }
  bool generates(const Value&) const override { return true; }
};

}  // namespace

INGOT_VALUE_KIND(Zip, ZipKind)
INGOT_VALUE_KIND(Iterator, IteratorKind)
INGOT_VALUE_KIND(Generator, GeneratorKind)

}  // namespace ingot::frontend
