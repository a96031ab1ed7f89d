#include "frontend/kinds/value_kind.h"

#include "frontend/arrays/operators.h"
#include "frontend/arrays/scalars.h"
#include "frontend/joins/joins.h"
#include "frontend/kinds/list_buffers.h"
#include "frontend/kinds/sequences.h"
#include "frontend/loops/loops.h"
#include "frontend/tracer/evaluate.h"
#include "frontend/tracer/python_objects.h"
#include "frontend/tracer/scopes.h"

namespace ingot::frontend {

Value ValueKind::shape(const Value& value, const Stays& stays) const {
  return with_each_part(value, [&](const Value& part) { return shape_of(part, stays); });
}
bool ValueKind::is_same(const Value& a, const Value& b) const {
  return same_form(a, b) && std::ranges::equal(parts(a), parts(b), [](const Value& x, const Value& y) {
           return frontend::same(x, y);
         });
}
std::optional<Value> ValueKind::join(Tracer& t, const Value& a, const Value& b,
                                     const std::string& what) const {
  return joined_parts(t, a, b, what, false);
}
void ValueKind::slot_types(ir::TypeTable& types, const Value& shape, std::vector<ir::Type>& out) const {
  for (const Value& part : parts(shape)) frontend::slot_types(types, part, out);
}
void ValueKind::carry(Tracer& t, const Value& shape, const Value& actual, std::vector<NodeId>& out) const {
  const std::vector<Value> parts = this->parts(shape);
  const std::vector<Value> given = parts_of(actual);
  for (size_t i = 0; i < parts.size(); ++i) frontend::carry(t, parts[i], given[i], out);
}
Value ValueKind::fill(Tracer& t, const Value& shape, const NextNode& next) const {
  return with_each_part(shape, [&](const Value& part) { return kind_of_value(part).fill(t, part, next); });
}
Value ValueKind::key(const Tracer& t, const Value& value) const {
  return with_each_part(value, [&](const Value& part) { return kind_of_value(part).key(t, part); });
}
bool ValueKind::has_same_key(const Value& a, const Value& b) const {
  const std::vector<Value> own = parts(a);
  if (own.empty()) return frontend::same(a, b);
  return frontend::same_form(a, b) &&
         std::ranges::equal(own, parts_of(b), [](const Value& one, const Value& other) {
           return kind_of_value(one).has_same_key(one, other);
         });
}

void ValueKind::column_kinds(const Value& form, std::vector<Kind>& kinds) const {
  for (const Value& part : parts(form)) kind_of_value(part).column_kinds(part, kinds);
}
void ValueKind::numbers(Tracer& t, const Value& form, const Value& element, Nodes& out) const {
  const std::vector<Value> forms = parts(form);
  const std::vector<Value> given = parts_of(element);
  for (size_t i = 0; i < forms.size(); ++i) kind_of_value(forms[i]).numbers(t, forms[i], given[i], out);
}
Value ValueKind::element(Tracer& t, const Value& form, const NextNode& next) const {
  return with_each_part(form, [&](const Value& part) { return kind_of_value(part).element(t, part, next); });
}
void ValueKind::convert(Tracer& t, const Value& from, const Value& to, Conversion& columns) const {
  const std::vector<Value> given = parts_of(from);
  const std::vector<Value> wanted = parts(to);
  for (size_t i = 0; i < wanted.size(); ++i)
    kind_of_value(wanted[i]).convert(t, given[i], wanted[i], columns);
}

nb::object BuiltinKind::type_of(Tracer& t, const Value& value, nb::handle) const {
  return frontend::attribute(imported("builtins"), type_name(t, value).c_str());
}
std::string ValueKind::words(const Tracer& t, const Value& value) const {
  return with_article(type_name(t, value));
}

Indexed ValueKind::indexed(Tracer& t, const Value& value, nb::handle node) const {
  refuse_iterate(t, value, node);
  if (const std::optional<Trips> fixed = trips(t, value, node)) {
    return {[&t, trips = *fixed](const Value& index) {
              return as_bool(t, t.builder->make(ir::Op::less, {stage_index(t, index), trips.count}));
            },
            [&t, trips = *fixed](const Value& index) {
              return known_number(t, trips.element(stage_index(t, index)));
            }};
  }
  const auto elements = [&t, value, node] { return still_known(t, value, node); };
  return {[&t, elements, node](const Value& index) {
            return frontend::compare(t, Operator::Lt, index, Static{nb::int_(elements().size())}, node);
          },
          [&t, elements, node](const Value& index) -> Value {
            if (const std::optional<int64_t> known = static_int(index))
              return elements()[static_cast<size_t>(*known)];
            return pick_staged(t, elements(), stage_index(t, index), node);
          }};
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

Pins::Pins(Tracer& t, const std::vector<Value>& values) : pinned_(t.pinned), before_(t.pinned.size()) {
  for (const Value& value : values) each_object(value, [&](uint32_t object) { pinned_.push_back(object); });
}

Value renumbered(const Value& value, const ValueKind::Renumber& object, const ValueKind::Renumber& array) {
  Value copy = with_each_part(value, [&](const Value& part) { return renumbered(part, object, array); });
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
  return with_each_part(value, [&](const Value& part) { return with_nodes(part, other); });
}

std::vector<Description> descriptions_of(Tracer& t, const std::vector<Value>& values, Outward& outward) {
  std::vector<Description> all;
  all.reserve(values.size());
  for (const Value& value : values) all.push_back(describe_result(t, value, outward));
  return all;
}

std::optional<Value> joined_parts(Tracer& t, const Value& a, const Value& b, const std::string& what,
                                  bool takes_optionals) {
  std::vector<Value> parts = parts_of(a);
  if (parts.empty() || !same_form(a, b)) return std::nullopt;
  const std::vector<Value> others = parts_of(b);
  bool is_whole = true;
  for (size_t i = 0; i < parts.size(); ++i) {
    parts[i] = join(t, parts[i], others[i], "a member of " + what);
    is_whole = is_whole && !parts[i].is<Maybe>() && !parts[i].is<Conflict>();
  }
  return is_whole || takes_optionals ? std::optional(with_parts(a, std::move(parts))) : std::nullopt;
}

std::optional<Value> form_of_parts(Tracer& t, const Value& value) {
  std::vector<Value> parts = parts_of(value);
  for (Value& part : parts) {
    std::optional<Value> form = form_of(t, part);
    if (!form) return std::nullopt;
    part = *std::move(form);
  }
  return with_parts(value, std::move(parts));
}

std::string with_article(const std::string& name) {
  return (std::string_view("aeioAEIO").find(name.front()) != std::string_view::npos ? "an " : "a ") + name;
}

std::string words_of_object(const Tracer& t, const Value& value, const ValueKind& kind) {
  const auto held = t.state.heap.find(object_of(value));
  if (held == t.state.heap.end()) return {};
  return with_article(kind.type_name(t, value)) + (held->second.argument >= 0 ? " of the caller" : "");
}

bool is_distinct(const Value& a, const Value& b) {
  if ((a.is<Array>() && b.is<Static>()) || (a.is<Static>() && b.is<Array>())) return true;
  const auto is_own = [](const Value& v) {
    return v.is<Object>() || v.is<Array>() || (v.is<Static>() && is_member_of_enum(v.as<Static>()->object));
  };
  const auto is_known = [](const Value& v) {
    return !v.is<Maybe>() && !v.is<Conflict>() && !v.is<Foreign>();
  };
  const auto is_no_number = [](const Value& v) { return v.is<Static>() && !number_kind(v); };
  const auto is_new = [](const Value& v) { return v.is<Scalar>() || container_of(v) != 0; };
  if ((is_no_number(a) && is_new(b)) || (is_new(a) && is_no_number(b))) return true;
  const auto is_no_tuple = [](const Value& v) {
    return v.is<Static>() && !PyTuple_Check(v.as<Static>()->object.ptr());
  };
  if ((is_no_tuple(a) && b.is<Tuple>()) || (a.is<Tuple>() && is_no_tuple(b))) return true;
  return (is_own(a) || is_own(b)) && is_known(a) && is_known(b) && a.v.index() != b.v.index();
}

uint32_t container_of(const Value& value) {
  if (const List* list = value.as<List>()) return list->object;
  const Dict* dict = value.as<Dict>();
  return dict != nullptr ? dict->object : 0;
}

uint32_t object_of(const Value& value) {
  const Object* o = value.as<Object>();
  return o != nullptr ? o->object : container_of(value);
}

}  // namespace ingot::frontend
