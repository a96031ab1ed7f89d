#include "frontend/kinds/dicts.h"

#include "frontend/arrays/operators.h"
#include "frontend/arrays/scalars.h"
#include "frontend/calls/python_builtins.h"
#include "frontend/joins/objects.h"
#include "frontend/kinds/callers_lists.h"
#include "frontend/kinds/containers.h"
#include "frontend/kinds/list_buffers.h"
#include "frontend/kinds/mappings.h"
#include "frontend/kinds/members.h"
#include "frontend/kinds/sequences.h"
#include "frontend/kinds/special_methods.h"
#include "frontend/kinds/strings.h"
#include "frontend/kinds/structure.h"
#include "frontend/tracer/evaluate.h"
#include "frontend/tracer/python_objects.h"

namespace ingot::frontend {

using base::ExceptionKind;
using ir::Op;

Dict new_dict(Tracer& t, std::vector<nb::object> keys, std::vector<Value> values) {
  return {new_container(
      t, {.type = HeapObject::Type::Dict, .values = std::move(values), .keys = std::move(keys)})};
}

namespace {

/// The index of a key; none: the dict lacks it, and it is put into `key`.
std::optional<size_t> index_of_key(Tracer& t, Dict dict, const Value& given, nb::object& key,
                                   nb::handle node) {
  HeapObject& object = contents(t, dict.object, node);
  if (container_of(given) != 0 || given.is<Array>() || given.is<Slice>())
    raise(t, ExceptionKind::TypeError, "unhashable type: '" + type_name(t, given) + "'");
  ask_for_mapping(t, dict, given, node);
  key = require_static(t, given, "a key of a dict", node);
  if (is_member_of_enum(key) && has_own_equality(t, nb::borrow<nb::object>(key.type())))
    unsupported(t, node, "a key whose class has an `__eq__` or `__hash__` of its own", "use its value");
  if (PyObject_Hash(key.ptr()) == -1) {
    nb::python_error error;
    raise_host_error(t, error);
  }
  const auto at = std::ranges::find_if(object.keys, [&](const nb::object& k) { return k.equal(key); });
  if (at == object.keys.end()) return std::nullopt;
  return static_cast<size_t>(at - object.keys.begin());
}

/// The value under a staged number; none: the keys do not allow that.
std::optional<Value> item_by_staged_key(Tracer& t, const HeapObject& dict, const Value& key,
                                        nb::handle node) {
  const Scalar* s = key.as<Scalar>();
  if (s == nullptr) return std::nullopt;
  std::vector<Value> numbers;
  std::vector<Value> values;
  for (size_t i = 0; i < dict.keys.size(); ++i) {
    const Value one = Static{dict.keys[i]};
    if (!kind_of(one)) continue;
    numbers.push_back(one);
    values.push_back(dict.values[i]);
  }
  if (!numbers.empty()) demand(t, s->node, node);
  NodeId position = t.builder->index(-1);
  for (size_t i = 0; i < numbers.size(); ++i) {
    position = t.builder->make(Op::select, {truth(t, compare(t, Operator::Eq, key, numbers[i], node), node),
                                            t.builder->index(static_cast<int64_t>(i)), position});
  }
  if (numbers.empty()) raise_showing(t, ExceptionKind::KeyError, *s, "");
  check_showing(t, t.builder->make(Op::greater_equal, {position, t.builder->index(0)}),
                ExceptionKind::KeyError, *s, "");
  return open(t, pick_staged(t, values, position, node), "the item", node);
}

/// Applies a method that removes items to a dict, and to the caller's own.
Value remove_from_dict(Tracer& t, Dict dict, const char* method, const std::vector<Value>& arguments,
                       nb::handle node) {
  const HeapObject before = contents(t, dict.object, node);
  need_own(t, before, node);
  will_change(t, dict.object, node);
  nb::dict order;
  for (size_t i = 0; i < before.keys.size(); ++i) order[before.keys[i]] = i;
  nb::list given;
  for (const Value& argument : arguments) given.append(require_static(t, argument, "a key of a dict", node));
  const nb::object removed = host_change(t, order, method, nb::tuple(given));
  replay(t, dict.object, method, arguments, node);
  HeapObject& object = t.state.heap.at(dict.object);
  object.keys.clear();
  object.values.clear();
  object.leaves = 0;  // its cells no longer represent the items of the same numbers
  for (auto [key, number] : order) {
    object.keys.push_back(nb::borrow<nb::object>(key));
    object.values.push_back(before.values[nb::cast<size_t>(number)]);
  }
  if (removed.is_none()) return Static{nb::none()};
  if (PyTuple_Check(removed.ptr()))
    return Tuple{{Static{nb::borrow<nb::object>(removed[0])}, before.values[nb::cast<size_t>(removed[1])]}};
  return open(t, before.values[nb::cast<size_t>(removed)], "the item", node);
}

}  // namespace

void put(Tracer& t, Dict dict, const Value& given, Value value, nb::handle node) {
  if (mapping(t, dict) != nullptr) return put_in_mapping(t, dict, given, value, node);
  CallersLists(t).add_first(contents(t, dict.object, node), given, value, node);
  nb::object key;
  const std::optional<size_t> index = index_of_key(t, dict, given, key, node);
  value = stored_in(t, dict.object, std::move(value), node);
  if (index && is_held(t, dict.object, *index, value)) return;
  will_change(t, dict.object, node);
  write_back(t, dict.object, index, key, value, node);
  HeapObject& object = t.state.heap.at(dict.object);
  need_own(t, object, node);
  if (index) {
    object.values[*index] = std::move(value);
  } else {
    object.keys.push_back(key);
    object.values.push_back(std::move(value));
  }
}

Value dict_method(Tracer& t, Dict dict, const std::string& name, Call& call) {
  const std::vector<Value>& given = call.positional;
  const nb::handle node = call.node;
  if (name == "update") {
    for (const Value& other : given) {
      if (mapping(t, dict) != nullptr || has_open_length(t, other) || is_instance(other)) {
        by_update(t, dict, other, node);
        continue;
      }
      for (const auto& [key, value] : items_of(t, other, node)) put(t, dict, key, value, node);
    }
    for (const auto& [key, value] : call.keywords) put(t, dict, Static{nb::str(key.c_str())}, value, node);
    return Static{nb::none()};
  }
  if (mapping(t, dict) != nullptr) return mapping_method(t, dict, name, call);
  if (name != "copy" && !given.empty() && given[0].is<Member>()) {
    return Members(t).on_each(Member(*given[0].as<Member>()), [&](const Value& key) {
      Call again = call;
      again.positional[0] = key;
      return dict_method(t, dict, name, again);
    });
  }
  const HeapObject before = contents(t, dict.object, node);
  if (!given.empty() && CallersLists(t).is_waiting(before)) {
    const Value otherwise = given.size() > 1 ? given[1] : Value(Static{nb::none()});
    if (name == "setdefault") CallersLists(t).add_first(before, given[0], otherwise, node);
    if (name == "pop" && given.size() == 1) raise_key_error(t, given[0]);
    if (name == "get" || name == "pop") return otherwise;
  }
  if (name == "values" || name == "keys" || name == "items") {
    return View{dict.object, "dict_" + name};
  }
  if (name == "copy") return new_dict(t, before.keys, before.values);
  if (name == "clear" || name == "popitem") return remove_from_dict(t, dict, name.c_str(), given, node);
  nb::object key;
  const std::optional<size_t> index = index_of_key(t, dict, given[0], key, node);
  const Value otherwise = given.size() > 1 ? given[1] : Value(Static{nb::none()});
  if (name == "get") return index ? before.values[*index] : otherwise;
  if (name == "setdefault") {
    if (index) return open(t, before.values[*index], "the item", node);
    put(t, dict, Static{key}, otherwise, node);
    return t.state.heap.at(dict.object).values.back();
  }
  if (name == "pop") {
    if (!index && given.size() > 1) return given[1];
    return remove_from_dict(t, dict, "pop", {Static{key}}, node);
  }
  unsupported(t, node, "the method `" + name + "` of a dict", "use indexing and loops");
}

std::vector<std::pair<Value, Value>> items_of(Tracer& t, const Value& mapping, nb::handle node) {
  std::vector<std::pair<Value, Value>> items;
  if (const Dict* dict = mapping.as<Dict>()) {
    const HeapObject& object = contents(t, dict->object, node);
    for (size_t i = 0; i < object.keys.size(); ++i)
      items.emplace_back(Static{object.keys[i]}, object.values[i]);
    return items;
  }
  for (const Value& pair : elements_of(t, mapping, node)) {
    const std::vector<Value> parts = elements_of(t, pair, node);
    if (parts.size() != 2) {
      raise(t, ExceptionKind::ValueError,
            "dictionary update sequence element #" + std::to_string(items.size()) + " has length " +
                std::to_string(parts.size()) + "; 2 is required");
    }
    items.emplace_back(parts[0], parts[1]);
  }
  return items;
}

namespace {

class DictKind final : public KindOfContainers<Dict> {
 public:
  std::optional<Description> describe(Tracer& t, const Value& value, Outward& outward) const override;

  std::string type_name(const Tracer&, const Value&) const override { return "dict"; }
  nb::object stand_in(const Tracer& t, const Value& value) const override {
    const HeapObject& object = held(t, value);
    const nb::object parts = stand_ins(t, object.values);
    if (!parts.is_valid()) return parts;
    const nb::dict dict;
    for (size_t i = 0; i < object.keys.size(); ++i) dict[object.keys[i]] = parts[i];
    return nb::object(dict);
  }

  Answer item(Tracer& t, const Value& value, const Value& index, nb::handle node) const override;
  bool set_item(Tracer& t, const Value& value, const Value& index, const Value& item,
                nb::handle node) const override {
    put(t, dict_of(value), index, item, node);
    return true;
  }
  bool delete_item(Tracer& t, const Value& value, const Value& index, nb::handle node) const override;
  Answer method(Tracer& t, const Value& value, const std::string& name, Call& call) const override {
    raise_as_method(t, value, name, call);
    return dict_method(t, dict_of(value), name, call);
  }
  Answer in_place(Tracer& t, Operator op, const Value& value, const Value& right,
                  nb::handle node) const override {
    if (op != Operator::BitOr) return by_other_in_place(t, op, value, right, node);
    Call call{.positional = {right}, .keywords = {}, .name = "update", .node = node};
    dict_method(t, dict_of(value), "update", call);
    return Unbound{};
  }
  std::optional<bool> known_truth(Tracer& t, const Value& value) const override {
    return !contents(t, dict_of(value).object, t.here).values.empty();
  }
  std::optional<Elements> elements(Tracer& t, const Value& value, nb::handle node) const override {
    const HeapObject& object = contents(t, dict_of(value).object, node);
    std::vector<Value> keys;
    keys.reserve(object.keys.size());
    for (const nb::object& key : object.keys) keys.push_back(Static{key});
    return keys;
  }
  Answer rest(Tracer& t, const Value& value, const Value&, Known known, nb::handle node) const override {
    if (!known) return std::nullopt;
    contents(t, dict_of(value).object, node);
    return View{.object = dict_of(value).object, .name = "dict_keys", .skip = static_cast<size_t>(*known)};
  }
  Answer reversed(Tracer& t, const Value& value, nb::handle node) const override {
    const uint32_t dict = dict_of(value).object;
    return iterator(t, "dict_reversekeyiterator",
                    View{dict, "dict_keys", contents(t, dict, node).values.size()});
  }

  Answer compare(Tracer& t, Operator op, const Value& a, const Value& b, nb::handle node) const override;
  Answer contains(Tracer& t, const Value& value, const Value& wanted, nb::handle node) const override;

 private:
  static Dict dict_of(const Value& value) { return *value.as<Dict>(); }
};

std::optional<Description> DictKind::describe(Tracer& t, const Value& value, Outward& outward) const {
  const uint32_t number = dict_of(value).object;
  const HeapObject dict = held(t, value);
  if (dict.argument >= 0) return Description{described::Argument{dict.argument}};
  if (mapping(t, value) == nullptr) contents(t, number, {});
  need_own(t, dict, {});
  if (std::optional<Description> again = outward.again(number)) return again;
  if (dict.is_mapping)
    return Description{described::Mapping{}, descriptions_of(t, {dict.values[0], dict.values[1]}, outward)};
  return described_joined(t, number, outward, [&] {
    std::vector<Description> parts = descriptions_of(t, dict.values, outward);
    nb::list keys;
    for (const nb::object& key : dict.keys) keys.append(key);
    return Description{described::Dict{nb::tuple(keys)}, std::move(parts)};
  });
}

std::optional<Value> DictKind::item(Tracer& t, const Value& value, const Value& index,
                                    nb::handle node) const {
  if (const HeapObject* dict = mapping(t, value))
    return by_dicts(t, "item", HeapObject(*dict), {index}, node);
  const HeapObject dict = contents(t, dict_of(value).object, node);  // a copy: checks replace the state
  if (CallersLists(t).is_waiting(dict)) raise_key_error(t, index);
  if (index.is<Characters>()) return Strings(t).item_of(dict, index, node);
  if (std::optional<Value> item = item_by_staged_key(t, dict, index, node)) return item;
  nb::object key;
  if (const auto at = index_of_key(t, dict_of(value), index, key, node))
    return open(t, dict.values[*at], "the item", node);
  raise_key_error(t, index);
}

bool DictKind::delete_item(Tracer& t, const Value& value, const Value& index, nb::handle node) const {
  if (const HeapObject* dict = mapping(t, value)) {
    refuse_while_iterated(t, *dict, node);
    by_dicts(t, "pop", HeapObject(*dict), {index}, node);
    return true;
  }
  nb::object key;
  if (!index_of_key(t, dict_of(value), index, key, node)) raise_key_error(t, index);
  remove_from_dict(t, dict_of(value), "__delitem__", {Static{key}}, node);
  return true;
}

std::optional<Value> DictKind::compare(Tracer& t, Operator op, const Value& a, const Value& b,
                                       nb::handle node) const {
  if (!a.is<Dict>() || !b.is<Dict>() || !is_equality(op)) return std::nullopt;
  const bool is_left = mapping(t, a) != nullptr;
  const HeapObject* open = mapping(t, is_left ? a : b);
  if (open == nullptr) return std::nullopt;
  if (same(a, b)) return Static{nb::bool_(!is_negated(op))};
  const HeapObject dict = *open;
  const std::vector<Value> both{dict.values[0], dict.values[1], is_left ? b : a};
  return answer(t, op, call_library(t, "dicts", "equal", both, node), node);
}

std::optional<Value> DictKind::contains(Tracer& t, const Value& value, const Value& wanted,
                                        nb::handle node) const {
  if (const HeapObject* dict = mapping(t, value))
    return by_dicts(t, "contains", HeapObject(*dict), {wanted}, node, false);
  ask_for_mapping(t, dict_of(value), wanted, node);
  const HeapObject& dict = contents(t, dict_of(value).object, node);
  if (CallersLists(t).is_waiting(dict)) return Static{nb::bool_(false)};
  const Static* known = wanted.as<Static>();
  if (known == nullptr) return std::nullopt;
  return Static{nb::bool_(
      std::ranges::any_of(dict.keys, [&](const nb::object& key) { return key.equal(known->object); }))};
}

}  // namespace

INGOT_VALUE_KIND(Dict, DictKind)

}  // namespace ingot::frontend
