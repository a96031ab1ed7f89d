#include "frontend/kinds/value_kind.h"

namespace ingot::frontend {

std::vector<Value> ValueKind::parts(const Value&) const { return {}; }
Value ValueKind::with_parts(const Value& value, std::vector<Value>) const { return value; }
bool ValueKind::same_form(const Value&, const Value&) const { return true; }
void ValueKind::each_object(const Value&, const Visit&) const {}
void ValueKind::renumber(Value&, const Renumber&, const Renumber&) const {}
void ValueKind::change_nodes(Value&, const OtherNode&) const {}
bool ValueKind::is_leaf() const { return false; }

nb::object ValueKind::class_of(const Evaluator&, const Value&) const { return {}; }
std::string ValueKind::type_name(const Evaluator&, const Value&) const { return "object"; }
nb::object ValueKind::type_of(Evaluator&, const Value&, nb::handle) const { return {}; }
nb::object BuiltinKind::type_of(Evaluator& e, const Value& value, nb::handle) const {
  return frontend::attribute(imported("builtins"), type_name(e, value).c_str());
}
nb::object ValueKind::stand_in(const Evaluator&, const Value&) const { return {}; }

bool ValueKind::has_methods(const Evaluator&, const Value&) const { return false; }
bool ValueKind::takes_open_bounds() const { return false; }
bool ValueKind::is_foreign(const Evaluator&, const Value&) const { return false; }

std::optional<Value> ValueKind::attribute(Evaluator&, const Value&, const std::string&, nb::handle) const {
  return {};
}
std::optional<Value> ValueKind::item(Evaluator&, const Value&, const Value&, nb::handle) const { return {}; }
std::optional<std::vector<Value>> ValueKind::elements(Evaluator&, const Value&, nb::handle) const {
  return {};
}
std::optional<Value> ValueKind::length(Evaluator&, const Value&, nb::handle) const { return {}; }
std::optional<bool> ValueKind::known_truth(Evaluator&, const Value&) const { return {}; }
std::optional<NodeId> ValueKind::truth(Evaluator&, const Value&, nb::handle) const { return {}; }
Precedence ValueKind::precedence() const { return Precedence::Numbers; }
std::optional<Value> ValueKind::binary(Evaluator&, Operator, const Value&, const Value&, nb::handle) const {
  return {};
}
std::optional<Value> ValueKind::compare(Evaluator&, Operator, const Value&, const Value&, nb::handle) const {
  return {};
}
std::optional<bool> ValueKind::identical(Evaluator&, const Value&, const Value&, nb::handle) const {
  return {};
}
std::optional<Value> ValueKind::contains(Evaluator&, const Value&, const Value&, nb::handle) const {
  return {};
}
std::optional<Value> ValueKind::contained(Evaluator&, const Value&, const Value&, nb::handle) const {
  return {};
}

const ValueKind& kind_of_value(const Value& value) {
  return std::visit(
      [](const auto& part) -> const ValueKind& { return kind_for<std::remove_cvref_t<decltype(part)>>(); },
      value.v);
}

std::vector<Value> parts_of(const Value& value) { return kind_of_value(value).parts(value); }

Value with_parts(const Value& value, std::vector<Value> parts) {
  return kind_of_value(value).with_parts(value, std::move(parts));
}

bool same_form(const Value& a, const Value& b) {
  return a.v.index() == b.v.index() && kind_of_value(a).same_form(a, b) &&
         parts_of(a).size() == parts_of(b).size();
}

void each_object(const Value& value, const ValueKind::Visit& visit) {
  kind_of_value(value).each_object(value, visit);
  for (const Value& part : parts_of(value)) each_object(part, visit);
}

Evaluator::Pins::Pins(Evaluator& evaluator, const std::vector<Value>& values)
    : pinned_(evaluator.pinned_), before_(evaluator.pinned_.size()) {
  for (const Value& value : values) each_object(value, [&](uint32_t object) { pinned_.push_back(object); });
}

Value renumbered(const Value& value, const ValueKind::Renumber& object, const ValueKind::Renumber& array) {
  std::vector<Value> parts = parts_of(value);
  for (Value& part : parts) part = renumbered(part, object, array);
  Value copy = with_parts(value, std::move(parts));
  kind_of_value(copy).renumber(copy, object, array);
  return copy;
}

Value with_nodes(const Value& value, const ValueKind::OtherNode& other) {
  const ValueKind& kind = kind_of_value(value);
  Value copy = value;
  if (kind.is_leaf()) {
    kind.change_nodes(copy, [&](NodeId node) { return node ? other(node) : node; });
    return copy;
  }
  std::vector<Value> parts = kind.parts(value);
  for (Value& part : parts) part = with_nodes(part, other);
  return kind.with_parts(value, std::move(parts));
}

}  // namespace ingot::frontend
