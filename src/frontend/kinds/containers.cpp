#include "frontend/containers/containers.h"

#include "frontend/arrays/arrays.h"
#include "frontend/arrays/operators.h"
#include "frontend/arrays/scalars.h"
#include "frontend/calls/python_builtins.h"
#include "frontend/containers/list_buffers.h"
#include "frontend/containers/mappings.h"
#include "frontend/containers/methods.h"
#include "frontend/kinds/callers_lists.h"
#include "frontend/kinds/rows.h"
#include "frontend/kinds/sequences.h"
#include "frontend/kinds/strings.h"
#include "frontend/kinds/structure.h"
#include "frontend/tracer/evaluate.h"

namespace ingot::frontend {

using ir::Op;

namespace {

/// A list or dict of the shadow heap.
class ContainerKind final : public KindOfObjects<Reference, &Reference::object, BuiltinKind> {
 public:
  Answer form(Tracer& t, const Value& value) const override {
    const std::vector<std::string> sites = Rows(t).sites_of(value);
    if (!sites.empty()) Rows(t).ask_for(sites, {});
    return std::nullopt;
  }
  std::optional<Description> describe(Tracer& t, const Value& value, Outward& outward) const override;

  std::string words(const Tracer& t, const Value& value) const override {
    return words_of_object(t, value, *this);
  }
  std::string type_name(const Tracer& t, const Value& value) const override {
    return held(t, value).type == HeapObject::Type::List ? "list" : "dict";
  }
  nb::object stand_in(const Tracer& t, const Value& value) const override {
    const HeapObject& object = held(t, value);
    if (object.element != nullptr) return stand_ins(t, {object.element.get(), 1});
    const nb::object parts = stand_ins(t, object.values);
    if (!parts.is_valid() || object.type == HeapObject::Type::List) return parts;
    const nb::dict dict;
    for (size_t i = 0; i < object.keys.size(); ++i) dict[object.keys[i]] = parts[i];
    return nb::object(dict);
  }
  bool has_methods(const Tracer&, const Value&) const override { return true; }
  bool is_foreign(const Tracer& t, const Value& value) const override {
    return std::ranges::any_of(held(t, value).values,
                               [&](const Value& v) { return frontend::is_foreign(t, v); });
  }

  Answer item(Tracer& t, const Value& value, const Value& index, nb::handle node) const override;
  bool set_item(Tracer& t, const Value& value, const Value& index, const Value& item,
                nb::handle node) const override {
    put(t, *value.as<Reference>(), index, item, node);
    return true;
  }
  bool delete_item(Tracer& t, const Value& value, const Value& index, nb::handle node) const override;
  Answer method(Tracer& t, const Value& value, const std::string& name, Call& call) const override {
    raise_as_method(t, value, name, call);
    const Reference& container = *value.as<Reference>();
    return is_list(t, value) ? list_method(t, container, name, call) : dict_method(t, container, name, call);
  }
  Answer in_place(Tracer& t, Operator op, const Value& value, const Value& right,
                  nb::handle node) const override;
  Answer array(Tracer& t, const Value& value, std::optional<DType> wanted, nb::handle node) const override {
    if (Answer array = Rows(t).array_of(value, wanted, node)) return array;
    const HeapObject* list = growing(t, value);
    if (list == nullptr) return std::nullopt;
    return owner(t, array_of_list_buffer(t, HeapObject(*list), node, wanted));
  }
  Answer length(Tracer& t, const Value& value, nb::handle) const override {
    const HeapObject* list = growing(t, value);
    return list != nullptr ? std::optional(list->values[0]) : std::nullopt;
  }
  std::optional<bool> known_truth(Tracer& t, const Value& value) const override {
    if (growing(t, value) != nullptr) return std::nullopt;
    return !contents(t, *value.as<Reference>(), t.here).values.empty();
  }
  std::optional<NodeId> truth(Tracer& t, const Value& value, nb::handle) const override {
    const HeapObject* list = growing(t, value);
    if (list == nullptr) return std::nullopt;
    return t.builder->make(Op::not_equal, {length_of(*list), t.builder->index(0)});
  }
  std::optional<Elements> elements(Tracer& t, const Value& value, nb::handle node) const override {
    if (growing(t, value) != nullptr) return std::nullopt;
    const HeapObject& object = contents(t, *value.as<Reference>(), node);
    if (object.type == HeapObject::Type::List) return object.values;
    std::vector<Value> keys;
    keys.reserve(object.keys.size());
    for (const nb::object& key : object.keys) keys.push_back(Static{key});
    return keys;
  }

  std::optional<Trips> trips(Tracer& t, const Value& value, nb::handle) const override {
    const HeapObject* list = growing(t, value);
    if (list == nullptr) return std::nullopt;
    return Trips{length_of(*list), [&t, object = value.as<Reference>()->object](NodeId k) {
                   return load_element(t, t.state.heap.at(object), k);
                 }};
  }
  Indexed indexed(Tracer& t, const Value& value, nb::handle node) const override;
  Answer rest(Tracer& t, const Value& value, const Value&, Known known, nb::handle node) const override {
    if (!known) return std::nullopt;
    const Reference& container = *value.as<Reference>();
    const bool is_list = contents(t, container, node).type == HeapObject::Type::List;
    return View{.object = container.object,
                .name = is_list ? "list" : "dict_keys",
                .skip = static_cast<size_t>(*known)};
  }
  Answer reversed(Tracer& t, const Value& value, nb::handle node) const override {
    if (growing(t, value) != nullptr)
      return iterator(t, "list_reverseiterator", by_library(t, "turned", {value}, node));
    const Reference& container = *value.as<Reference>();
    const HeapObject& object = contents(t, container, node);
    const bool is_list = object.type == HeapObject::Type::List;
    return iterator(t, is_list ? "list_reverseiterator" : "dict_reversekeyiterator",
                    View{container.object, is_list ? "list" : "dict_keys", object.values.size()});
  }
  bool has_open_length(const Tracer& t, const Value& value) const override {
    return growing(t, value) != nullptr;
  }
  bool may_change_length(const Value&) const override { return true; }

  Precedence precedence() const override { return Precedence::Containers; }
  Answer compare(Tracer& t, Operator op, const Value& a, const Value& b, nb::handle node) const override;
  Answer contains(Tracer& t, const Value& value, const Value& wanted, nb::handle node) const override;
  Answer binary(Tracer& t, Operator op, const Value& a, const Value& b, nb::handle node) const override {
    return binary_of_sequences(t, op, a, b, node);
  }

 private:
  static const HeapObject& held(const Tracer& t, const Value& value) {
    return t.state.heap.at(value.as<Reference>()->object);
  }
};

std::optional<Description> ContainerKind::describe(Tracer& t, const Value& value, Outward& outward) const {
  const Reference& container = *value.as<Reference>();
  const HeapObject object = held(t, value);
  if (object.argument >= 0) return Description{described::Argument{object.argument}};
  if (growing(t, value) == nullptr && mapping(t, value) == nullptr) contents(t, container, {});
  need_own(t, object, {});
  if (std::optional<Description> again = outward.again(container.object)) return *again;
  if (object.element != nullptr) return describe_list_buffer(t, object, outward);
  if (object.is_mapping)
    return Description{described::Mapping{},
                       descriptions_of(t, {object.values[0], object.values[1]}, outward)};
  std::vector<Description> parts = descriptions_of(t, object.values, outward);
  if (object.type == HeapObject::Type::List) return Description{described::List{}, std::move(parts)};
  nb::list keys;
  for (const nb::object& key : object.keys) keys.append(key);
  return Description{described::Dict{nb::tuple(keys)}, std::move(parts)};
}

Indexed ContainerKind::indexed(Tracer& t, const Value& value, nb::handle node) const {
  if (growing(t, value) == nullptr) return ValueKind::indexed(t, value, node);
  const uint32_t list = value.as<Reference>()->object;
  return {[&t, list](const Value& index) {
            const NodeId length = length_of(t.state.heap.at(list));
            return as_bool(t, t.builder->make(Op::less, {stage_index(t, index), length}));
          },
          [&t, list](const Value& index) {
            const NodeId at = stage_index(t, index);
            return load_element(t, t.state.heap.at(list), at);
          }};
}

std::optional<Value> ContainerKind::item(Tracer& t, const Value& value, const Value& index,
                                         nb::handle node) const {
  const Reference& container = *value.as<Reference>();
  if (growing(t, value) != nullptr) return list_buffer_item(t, container, index, node);
  if (const HeapObject* dict = mapping(t, value))
    return by_dicts(t, "item", HeapObject(*dict), {index}, node);
  const HeapObject object = contents(t, container, node);  // a copy: checks replace the state
  if (object.type != HeapObject::Type::List && CallersLists(t).is_waiting(object)) raise_key_error(t, index);
  if (object.type == HeapObject::Type::List) {
    if (const Slice* slice = index.as<Slice>()) return new_list(t, part_of(t, object.values, *slice, node));
    return open(t, member_of(t, object.values, index, "list", node), "the element", node);
  }
  if (index.is<Characters>()) return Strings(t).item_of(object, index, node);
  if (const std::optional<Value> item = item_by_staged_key(t, object, index, node)) return *item;
  nb::object key;
  if (const auto at = index_in(t, container, index, key, "", node))
    return open(t, object.values[*at], "the item", node);
  raise_key_error(t, index);
}

bool ContainerKind::delete_item(Tracer& t, const Value& value, const Value& index, nb::handle node) const {
  const Reference& container = *value.as<Reference>();
  nb::object key;
  if (const HeapObject* dict = mapping(t, value)) {
    refuse_while_iterated(t, *dict, node);
    by_dicts(t, "pop", HeapObject(*dict), {index}, node);
  } else if (growing(t, value) != nullptr) {
    if (index.is<Slice>()) set_list_buffer_item(t, container, index, Tuple{}, node);
    else by_library(t, "drop", {value, checked_index(t, index)}, node);
  } else if (contents(t, container, node).type == HeapObject::Type::List) {
    change_list(t, container, "__delitem__", {index}, {}, node);
  } else {
    if (!index_in(t, container, index, key, "", node)) raise_key_error(t, index);
    remove_from_dict(t, container, "__delitem__", {Static{key}}, node);
  }
  return true;
}

std::optional<Value> ContainerKind::in_place(Tracer& t, Operator op, const Value& value, const Value& right,
                                             nb::handle node) const {
  const bool is_list = frontend::is_list(t, value);
  if (is_list && op != Operator::Mult && is_numpys(right))
    return frontend::binary(t, op, value, right, node);  // an array
  if (op == Operator::Add || op == Operator::BitOr) {
    if (is_list != (op == Operator::Add)) raise_by_type(t, "in place", is_list ? "|=" : "+=", {value, right});
    Call call{.positional = {right}, .keywords = {}, .name = is_list ? "extend" : "update", .node = node};
    if (is_list) list_method(t, *value.as<Reference>(), "extend", call);
    else dict_method(t, *value.as<Reference>(), "update", call);
    return Unbound{};
  }
  if (is_list && op == Operator::Mult)
    if (std::optional<Value> repeated = repeat_in_place(t, value, right, node)) return repeated;
  raise_by_type(t, "in place", symbol_of(op) + "=", {value, right});
  if (op == Operator::Mult || right.is<Array>() || is_instance(right) || frontend::is_foreign(t, right)) {
    unsupported(t, node, "'" + symbol_of(op) + "=' of a " + frontend::type_name(t, value),
                "assign the result of the operator");
  }
  raise(t, base::ExceptionKind::TypeError,
        "unsupported operand type(s) for " + symbol_of(op) + "=: '" + frontend::type_name(t, value) +
            "' and '" + frontend::type_name(t, right) + "'");
}

std::optional<Value> ContainerKind::compare(Tracer& t, Operator op, const Value& a, const Value& b,
                                            nb::handle node) const {
  if (!a.is<Reference>() || !b.is<Reference>() || is_list(t, a) != is_list(t, b)) return std::nullopt;
  const bool are_mappings = mapping(t, a) != nullptr || mapping(t, b) != nullptr;
  const bool are_open = are_mappings || growing(t, a) != nullptr || growing(t, b) != nullptr;
  if (are_open && is_equality(op) && same(a, b)) return Static{nb::bool_(!is_negated(op))};
  if (is_list(t, a) && !are_open) {
    const std::vector<Value> left = contents(t, *a.as<Reference>(), node).values;
    return compare_sequences(t, op, left, contents(t, *b.as<Reference>(), node).values, node);
  }
  if (is_list(t, a)) {
    if (!is_equality(op)) {
      unsupported(t, node, "the order of lists whose lengths are not known when compiling",
                  "compare in a loop");
    }
    return answer(t, op, by_library(t, "equal", {a, b}, node), node);
  }
  if (!are_mappings || !is_equality(op)) return std::nullopt;
  const bool is_left = mapping(t, a) != nullptr;
  const HeapObject dict = *mapping(t, is_left ? a : b);
  const std::vector<Value> both{dict.values[0], dict.values[1], is_left ? b : a};
  const Value equal = call_library(t, "dicts", "equal", both, node);
  return answer(t, op, equal, node);
}

std::optional<Value> ContainerKind::contains(Tracer& t, const Value& value, const Value& wanted,
                                             nb::handle node) const {
  const Reference& container = *value.as<Reference>();
  if (const HeapObject* dict = mapping(t, value))
    return by_dicts(t, "contains", HeapObject(*dict), {wanted}, node, false);
  if (is_list(t, value)) {
    if (growing(t, value) != nullptr) return by_library(t, "contains", {value, wanted}, node);
    if (wanted.is<Array>()) return std::nullopt;
    return is_among(t, contents(t, container, node).values, wanted, node);
  }
  ask_for_mapping(t, container, wanted, node);
  if (CallersLists(t).is_waiting(contents(t, container, node))) return Static{nb::bool_(false)};
  const Static* known = wanted.as<Static>();
  if (known == nullptr) return std::nullopt;
  const std::vector<nb::object>& keys = contents(t, container, node).keys;
  return Static{
      nb::bool_(std::ranges::any_of(keys, [&](const nb::object& key) { return key.equal(known->object); }))};
}

/// The keys, values or items of a dict, or a list from its back.
class ViewKind final : public ValueKind {
 public:
  bool same_form(const Value& a, const Value& b) const override {
    const View& v = *a.as<View>();
    const View& w = *b.as<View>();
    return v.object == w.object && v.name == w.name && v.from_back == w.from_back && v.skip == w.skip;
  }
  void each_object(const Value& value, const Visit& visit) const override { visit(value.as<View>()->object); }
  void renumber(Value& value, const Renumber& object, const Renumber&) const override {
    View& own = *value.as<View>();
    own.object = object(own.object);
  }
  std::string words(const Tracer&, const Value&) const override { return {}; }
  std::string type_name(const Tracer&, const Value& value) const override { return value.as<View>()->name; }
  Answer rest(Tracer&, const Value& value, const Value&, Known known, nb::handle) const override {
    if (!known) return std::nullopt;
    View rest = *value.as<View>();
    rest.skip += static_cast<size_t>(*known);
    return rest;
  }
  bool may_change_length(const Value&) const override { return true; }
  Answer reversed(Tracer& t, const Value& value, nb::handle node) const override {
    const View& view = *value.as<View>();
    const HeapObject& object = contents(t, Reference{view.object}, node);
    const bool is_list = object.type == HeapObject::Type::List;
    const std::string part = is_list ? "" : view.name.substr(5, view.name.size() - 6);  // key, value, item
    return iterator(t, (is_list ? "list_" : "dict_") + ("reverse" + part) + "iterator",
                    View{view.object, view.name, object.values.size()});
  }
  std::optional<bool> known_truth(Tracer& t, const Value& value) const override {
    return !contents(t, Reference{value.as<View>()->object}, t.here).values.empty();
  }
  std::optional<Elements> elements(Tracer& t, const Value& value, nb::handle node) const override {
    const View& view = *value.as<View>();
    const HeapObject& object = contents(t, Reference{view.object}, node);
    std::vector<Value> all;
    for (size_t i = 0; i < object.values.size(); ++i) {
      if (view.name == "dict_keys") all.emplace_back(Static{object.keys[i]});
      else if (view.name == "dict_items") all.emplace_back(Tuple{{Static{object.keys[i]}, object.values[i]}});
      else all.push_back(object.values[i]);
    }
    if (view.from_back) {
      all.resize(*view.from_back, Unbound{});
      std::ranges::reverse(all);
    }
    all.erase(all.begin(), all.begin() + static_cast<ptrdiff_t>(std::min(view.skip, all.size())));
    return all;
  }
};

}  // namespace

INGOT_VALUE_KIND(Reference, ContainerKind)
INGOT_VALUE_KIND(View, ViewKind)

}  // namespace ingot::frontend
