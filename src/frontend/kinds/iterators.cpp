#include "frontend/kinds/functions.h"

namespace ingot::frontend {

namespace {

/// What `enumerate` and `zip` result in.
class ZipKind final : public ValueKind {
 public:
  std::vector<Value> parts(const Value& value) const override { return *value.as<Zip>()->members; }
  Value with_parts(const Value&, std::vector<Value> parts) const override {
    return Zip{share(std::move(parts))};
  }
};

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
  std::optional<bool> known_truth(Evaluator&, const Value&) const override { return true; }
  std::optional<bool> identical(Evaluator&, const Value& a, const Value& b, nb::handle) const override {
    return a.as<Iterator>()->cell == b.as<Iterator>()->cell;
  }
  std::optional<Value> contains(Evaluator& e, const Value& value, const Value& wanted,
                                nb::handle node) const override {
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
};

}  // namespace

INGOT_VALUE_KIND(Zip, ZipKind)
INGOT_VALUE_KIND(Iterator, IteratorKind)
INGOT_VALUE_KIND(Generator, GeneratorKind)

}  // namespace ingot::frontend
