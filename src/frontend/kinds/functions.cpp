#include "frontend/kinds/functions.h"

#include "frontend/arrays/scalars.h"
#include "frontend/expressions/closures.h"
#include "frontend/expressions/expressions.h"
#include "frontend/kinds/objects.h"
#include "frontend/kinds/pooled_values.h"
#include "frontend/kinds/structure.h"
#include "frontend/tracer/evaluate.h"
#include "frontend/tracer/python_objects.h"

namespace ingot::frontend {

bool same_definition(const Definition& x, const Definition& y) {
  return x.node.is(y.node) && x.shared == y.shared && x.creator == y.creator &&
         std::ranges::equal(x.outside, y.outside, [](const auto& a, const auto& b) {
           return a.first == b.first && a.second.is(b.second);
         });
}

std::shared_ptr<const Definition> renumbered(const Definition& definition,
                                             const ValueKind::Renumber& object) {
  Definition copy = definition;
  for (auto& [name, cell] : copy.shared) cell = object(cell);
  return share(std::move(copy));
}

namespace {

class MethodKind final : public KindOfParts<Method, &Method::self> {
 public:
  bool same_form(const Value& a, const Value& b) const override {
    return a.as<Method>()->name == b.as<Method>()->name &&
           a.as<Method>()->function.is(b.as<Method>()->function);
  }
  Answer join(Tracer& t, const Value& a, const Value& b, const std::string& what) const override {
    if (Answer method = PooledValues(t).joined_method(a, b)) return method;
    return ValueKind::join(t, a, b, what);
  }
  std::string words(const Tracer&, const Value&) const override { return {}; }
  nb::object type_of(Tracer& t, const Value& value, nb::handle node) const override {
    if (PooledValues::decides(value) == nullptr) {
      const bool is_own = value.as<Method>()->function.is_valid();
      return frontend::attribute(imported("types"), is_own ? "MethodType" : "BuiltinMethodType");
    }
    unsupported(t, node, "the type of a class that is not known when compiling", "use the class itself");
  }
  Answer attribute(Tracer& t, const Value& value, const std::string& name, nb::handle node) const override {
    if (!PooledValues::is_open_class(value)) return std::nullopt;
    return PooledValues(t).on_each(*PooledValues::decides(value), [&](const Value& known) {
      return attribute_of(t, Static{class_of_value(t, known)}, name, node);
    });
  }
  Answer call(Tracer& t, const Value& value, Call& call) const override;
  std::optional<bool> known_truth(Tracer&, const Value&) const override { return true; }
};

std::optional<Value> MethodKind::call(Tracer& t, const Value& value, Call& call) const {
  const Method method = *value.as<Method>();
  if (PooledValues::decides(value) != nullptr) return PooledValues(t).call_by_class(method, call);
  if (method.function.is_valid()) {
    call.positional.insert(call.positional.begin(), *method.self);
    return call_value(t, Static{method.function}, call);
  }
  // Methods that store their last argument in a container, or search it there.
  static const std::map<std::string, size_t> kOfContainers = {
      {"append", 1}, {"insert", 2}, {"count", 1}, {"setdefault", 2}};
  const auto known = kOfContainers.find(method.name);
  const bool keeps = (container_of(*method.self) != 0 || row_of(*method.self) != nullptr) &&
                     known != kOfContainers.end() && call.positional.size() == known->second &&
                     call.keywords.empty();
  const Value last = keeps ? call.positional.back() : Value(Unbound{});
  if (keeps) call.positional.pop_back();
  need_present(t, call);
  if (keeps) call.positional.push_back(last);
  call.name = method.name;
  if (Answer result = kind_of_value(*method.self).method(t, *method.self, method.name, call)) return result;
  unsupported(t, call.node, "the method `" + method.name + "` of a " + frontend::type_name(t, *method.self),
              "use operators");
}

class ClosureKind final : public KindOfParts<Closure, &Closure::defaults> {
 public:
  bool same_form(const Value& a, const Value& b) const override {
    return same_definition(*a.as<Closure>()->definition, *b.as<Closure>()->definition);
  }
  void each_object(const Value& value, const Visit& visit) const override {
    for (const auto& [name, cell] : value.as<Closure>()->definition->shared) visit(cell);
  }
  void renumber(Value& value, const Renumber& object, const Renumber&) const override {
    Closure& own = *value.as<Closure>();
    own.definition = renumbered(*own.definition, object);
  }

  std::string words(const Tracer&, const Value&) const override { return {}; }
  bool is_function(const Value&) const override { return true; }
  Answer call(Tracer& t, const Value& value, Call& call) const override {
    return call_closure(t, *value.as<Closure>(), call);
  }
  std::string type_name(const Tracer&, const Value&) const override { return "function"; }
  nb::object type_of(Tracer&, const Value&, nb::handle) const override {
    return frontend::attribute(imported("types"), "FunctionType");
  }
  nb::object stand_in(const Tracer&, const Value& value) const override {
    return value.as<Closure>()->definition->hollow;
  }
  nb::object definition(const Value& value) const override { return value.as<Closure>()->definition->node; }
  std::optional<bool> known_truth(Tracer&, const Value&) const override { return true; }
};

class CellKind final : public KindOfObjects<Cell, &Cell::object> {
 public:
  std::string words(const Tracer&, const Value&) const override { return {}; }
};

}  // namespace

INGOT_VALUE_KIND(Method, MethodKind)
INGOT_VALUE_KIND(Cell, CellKind)
INGOT_VALUE_KIND(Closure, ClosureKind)

}  // namespace ingot::frontend
