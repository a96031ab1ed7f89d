#include "frontend/kinds/callers_lists.h"
#include "frontend/kinds/sequences.h"
#include "frontend/kinds/strings.h"
#include "frontend/kinds/structure.h"
#include "frontend/rows.h"

namespace ingot::frontend {

using ir::Op;

namespace {

/// A list or dict of the shadow heap.
class ContainerKind final : public KindOfObjects<Reference, &Reference::object, BuiltinKind> {
 public:
  Answer form(Evaluator& e, const Value& value) const override {
    const std::vector<std::string> sites = Evaluator::Rows(e).sites_of(value);
    if (!sites.empty()) Evaluator::Rows(e).ask_for(sites, {});
    return std::nullopt;
  }
  std::optional<Description> describe(Evaluator& e, const Value& value, Outward& outward) const override;

  std::string words(const Evaluator& e, const Value& value) const override {
    return words_of_object(e, value, *this);
  }
  std::string type_name(const Evaluator& e, const Value& value) const override {
    return held(e, value).type == HeapObject::Type::List ? "list" : "dict";
  }
  nb::object stand_in(const Evaluator& e, const Value& value) const override {
    const HeapObject& object = held(e, value);
    if (object.element != nullptr) return stand_ins(e, {object.element.get(), 1});
    const nb::object parts = stand_ins(e, object.values);
    if (!parts.is_valid() || object.type == HeapObject::Type::List) return parts;
    const nb::dict dict;
    for (size_t i = 0; i < object.keys.size(); ++i) dict[object.keys[i]] = parts[i];
    return nb::object(dict);
  }
  bool has_methods(const Evaluator&, const Value&) const override { return true; }
  bool is_foreign(const Evaluator& e, const Value& value) const override {
    return std::ranges::any_of(held(e, value).values, [&](const Value& v) { return e.is_foreign(v); });
  }

  Answer item(Evaluator& e, const Value& value, const Value& index, nb::handle node) const override;
  bool set_item(Evaluator& e, const Value& value, const Value& index, const Value& item,
                nb::handle node) const override {
    e.put(*value.as<Reference>(), index, item, node);
    return true;
  }
  bool delete_item(Evaluator& e, const Value& value, const Value& index, nb::handle node) const override;
  Answer method(Evaluator& e, const Value& value, const std::string& name, Call& call) const override {
    raise_as_method(e, value, name, call);
    const Reference& container = *value.as<Reference>();
    return e.is_list(value) ? e.list_method(container, name, call) : e.dict_method(container, name, call);
  }
  Answer in_place(Evaluator& e, Operator op, const Value& value, const Value& right,
                  nb::handle node) const override;
  Answer array(Evaluator& e, const Value& value, std::optional<DType> wanted,
               nb::handle node) const override {
    if (Answer array = Evaluator::Rows(e).array_of(value, wanted, node)) return array;
    const HeapObject* list = e.growing(value);
    if (list == nullptr) return std::nullopt;
    return e.owner(e.array_of_list_buffer(HeapObject(*list), node, wanted));
  }
  Answer length(Evaluator& e, const Value& value, nb::handle) const override {
    const HeapObject* list = e.growing(value);
    return list != nullptr ? std::optional(list->values[0]) : std::nullopt;
  }
  std::optional<bool> known_truth(Evaluator& e, const Value& value) const override {
    if (e.growing(value) != nullptr) return std::nullopt;
    return !e.contents(*value.as<Reference>(), e.here_).values.empty();
  }
  std::optional<NodeId> truth(Evaluator& e, const Value& value, nb::handle) const override {
    const HeapObject* list = e.growing(value);
    if (list == nullptr) return std::nullopt;
    return e.builder_->make(Op::not_equal, {e.length_of(*list), e.builder_->index(0)});
  }
  std::optional<Elements> elements(Evaluator& e, const Value& value, nb::handle node) const override {
    if (e.growing(value) != nullptr) return std::nullopt;
    const HeapObject& object = e.contents(*value.as<Reference>(), node);
    if (object.type == HeapObject::Type::List) return object.values;
    std::vector<Value> keys;
    keys.reserve(object.keys.size());
    for (const nb::object& key : object.keys) keys.push_back(Static{key});
    return keys;
  }

  std::optional<Trips> trips(Evaluator& e, const Value& value, nb::handle) const override {
    const HeapObject* list = e.growing(value);
    if (list == nullptr) return std::nullopt;
    return Trips{e.length_of(*list), [&e, object = value.as<Reference>()->object](NodeId k) {
                   return e.load_element(e.state_.heap.at(object), k);
                 }};
  }
  Indexed indexed(Evaluator& e, const Value& value, nb::handle node) const override;
  Answer rest(Evaluator& e, const Value& value, const Value&, Known known, nb::handle node) const override {
    if (!known) return std::nullopt;
    const Reference& container = *value.as<Reference>();
    const bool is_list = e.contents(container, node).type == HeapObject::Type::List;
    return View{.object = container.object,
                .name = is_list ? "list" : "dict_keys",
                .skip = static_cast<size_t>(*known)};
  }
  Answer reversed(Evaluator& e, const Value& value, nb::handle node) const override {
    if (e.growing(value) != nullptr)
      return e.iterator("list_reverseiterator", e.by_library("turned", {value}, node));
    const Reference& container = *value.as<Reference>();
    const HeapObject& object = e.contents(container, node);
    const bool is_list = object.type == HeapObject::Type::List;
    return e.iterator(is_list ? "list_reverseiterator" : "dict_reversekeyiterator",
                      View{container.object, is_list ? "list" : "dict_keys", object.values.size()});
  }
  bool has_open_length(const Evaluator& e, const Value& value) const override {
    return e.growing(value) != nullptr;
  }
  bool may_change_length(const Value&) const override { return true; }

  Precedence precedence() const override { return Precedence::Containers; }
  Answer compare(Evaluator& e, Operator op, const Value& a, const Value& b, nb::handle node) const override;
  Answer contains(Evaluator& e, const Value& value, const Value& wanted, nb::handle node) const override;
  Answer binary(Evaluator& e, Operator op, const Value& a, const Value& b, nb::handle node) const override {
    return e.binary_of_sequences(op, a, b, node);
  }

 private:
  static const HeapObject& held(const Evaluator& e, const Value& value) {
    return e.state_.heap.at(value.as<Reference>()->object);
  }
};

std::optional<Description> ContainerKind::describe(Evaluator& e, const Value& value,
                                                   Evaluator::Outward& outward) const {
  const Reference& container = *value.as<Reference>();
  const HeapObject object = held(e, value);
  if (object.argument >= 0) return Description{described::Argument{object.argument}};
  if (e.growing(value) == nullptr && e.mapping(value) == nullptr) e.contents(container, {});
  e.need_own(object, {});
  if (std::optional<Description> again = outward.again(container.object)) return *again;
  if (object.element != nullptr) return e.describe_list_buffer(object, outward);
  if (object.is_mapping)
    return Description{described::Mapping{},
                       descriptions_of(e, {object.values[0], object.values[1]}, outward)};
  std::vector<Description> parts = descriptions_of(e, object.values, outward);
  if (object.type == HeapObject::Type::List) return Description{described::List{}, std::move(parts)};
  nb::list keys;
  for (const nb::object& key : object.keys) keys.append(key);
  return Description{described::Dict{nb::tuple(keys)}, std::move(parts)};
}

Evaluator::IndexedIterable ContainerKind::indexed(Evaluator& e, const Value& value, nb::handle node) const {
  if (e.growing(value) == nullptr) return ValueKind::indexed(e, value, node);
  const uint32_t list = value.as<Reference>()->object;
  return {[&e, list](const Value& index) {
            const NodeId length = e.length_of(e.state_.heap.at(list));
            return e.as_bool(e.builder_->make(Op::less, {e.stage_index(index), length}));
          },
          [&e, list](const Value& index) {
            const NodeId at = e.stage_index(index);
            return e.load_element(e.state_.heap.at(list), at);
          }};
}

std::optional<Value> ContainerKind::item(Evaluator& e, const Value& value, const Value& index,
                                         nb::handle node) const {
  const Reference& container = *value.as<Reference>();
  if (e.growing(value) != nullptr) return e.list_buffer_item(container, index, node);
  if (const HeapObject* dict = e.mapping(value)) return e.by_dicts("item", HeapObject(*dict), {index}, node);
  const HeapObject object = e.contents(container, node);  // a copy: checks replace the state
  if (object.type != HeapObject::Type::List && Evaluator::CallersLists(e).is_waiting(object))
    e.raise_key_error(index);
  if (object.type == HeapObject::Type::List) {
    if (const Slice* slice = index.as<Slice>()) return e.new_list(part_of(e, object.values, *slice, node));
    return e.open(member_of(e, object.values, index, "list", node), "the element", node);
  }
  if (index.is<Characters>()) return Strings(e).item_of(object, index, node);
  if (const std::optional<Value> item = e.item_by_staged_key(object, index, node)) return *item;
  nb::object key;
  if (const auto at = e.index_in(container, index, key, "", node))
    return e.open(object.values[*at], "the item", node);
  e.raise_key_error(index);
}

bool ContainerKind::delete_item(Evaluator& e, const Value& value, const Value& index, nb::handle node) const {
  const Reference& container = *value.as<Reference>();
  nb::object key;
  if (const HeapObject* dict = e.mapping(value)) {
    e.refuse_while_iterated(*dict, node);
    e.by_dicts("pop", HeapObject(*dict), {index}, node);
  } else if (e.growing(value) != nullptr) {
    if (index.is<Slice>()) e.set_list_buffer_item(container, index, Tuple{}, node);
    else e.by_library("drop", {value, e.checked_index(index)}, node);
  } else if (e.contents(container, node).type == HeapObject::Type::List) {
    e.change_list(container, "__delitem__", {index}, {}, node);
  } else {
    if (!e.index_in(container, index, key, "", node)) e.raise_key_error(index);
    e.remove_from_dict(container, "__delitem__", {Static{key}}, node);
  }
  return true;
}

std::optional<Value> ContainerKind::in_place(Evaluator& e, Operator op, const Value& value,
                                             const Value& right, nb::handle node) const {
  const bool is_list = e.is_list(value);
  if (is_list && op != Operator::Mult && e.is_numpys(right))
    return e.binary(op, value, right, node);  // an array
  if (op == Operator::Add || op == Operator::BitOr) {
    if (is_list != (op == Operator::Add)) e.raise_by_type("in place", is_list ? "|=" : "+=", {value, right});
    Call call{.positional = {right}, .keywords = {}, .name = is_list ? "extend" : "update", .node = node};
    if (is_list) e.list_method(*value.as<Reference>(), "extend", call);
    else e.dict_method(*value.as<Reference>(), "update", call);
    return Unbound{};
  }
  if (is_list && op == Operator::Mult)
    if (std::optional<Value> repeated = repeat_in_place(e, value, right, node)) return repeated;
  e.raise_by_type("in place", symbol_of(op) + "=", {value, right});
  if (op == Operator::Mult || right.is<Array>() || is_instance(right) || e.is_foreign(right)) {
    e.unsupported(node, "'" + symbol_of(op) + "=' of a " + e.type_name(value),
                  "assign the result of the operator");
  }
  e.raise(base::ExceptionKind::TypeError, "unsupported operand type(s) for " + symbol_of(op) + "=: '" +
                                              e.type_name(value) + "' and '" + e.type_name(right) + "'");
}

std::optional<Value> ContainerKind::compare(Evaluator& e, Operator op, const Value& a, const Value& b,
                                            nb::handle node) const {
  if (!a.is<Reference>() || !b.is<Reference>() || e.is_list(a) != e.is_list(b)) return std::nullopt;
  const bool are_mappings = e.mapping(a) != nullptr || e.mapping(b) != nullptr;
  const bool are_open = are_mappings || e.growing(a) != nullptr || e.growing(b) != nullptr;
  if (are_open && is_equality(op) && same(a, b)) return Static{nb::bool_(!is_negated(op))};
  if (e.is_list(a) && !are_open) {
    const std::vector<Value> left = e.contents(*a.as<Reference>(), node).values;
    return e.compare_sequences(op, left, e.contents(*b.as<Reference>(), node).values, node);
  }
  if (e.is_list(a)) {
    if (!is_equality(op)) {
      e.unsupported(node, "the order of lists whose lengths are not known when compiling",
                    "compare in a loop");
    }
    return e.answer(op, e.by_library("equal", {a, b}, node), node);
  }
  if (!are_mappings || !is_equality(op)) return std::nullopt;
  const bool is_left = e.mapping(a) != nullptr;
  const HeapObject dict = *e.mapping(is_left ? a : b);
  const std::vector<Value> both{dict.values[0], dict.values[1], is_left ? b : a};
  const Value equal = call_library(e, "dicts", "equal", both, node);
  return e.answer(op, equal, node);
}

std::optional<Value> ContainerKind::contains(Evaluator& e, const Value& value, const Value& wanted,
                                             nb::handle node) const {
  const Reference& container = *value.as<Reference>();
  if (const HeapObject* dict = e.mapping(value))
    return e.by_dicts("contains", HeapObject(*dict), {wanted}, node, false);
  if (e.is_list(value)) {
    if (e.growing(value) != nullptr) return e.by_library("contains", {value, wanted}, node);
    if (wanted.is<Array>()) return std::nullopt;
    return e.is_among(e.contents(container, node).values, wanted, node);
  }
  e.ask_for_mapping(container, wanted, node);
  if (Evaluator::CallersLists(e).is_waiting(e.contents(container, node))) return Static{nb::bool_(false)};
  const Static* known = wanted.as<Static>();
  if (known == nullptr) return std::nullopt;
  const std::vector<nb::object>& keys = e.contents(container, node).keys;
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
  std::string words(const Evaluator&, const Value&) const override { return {}; }
  std::string type_name(const Evaluator&, const Value& value) const override {
    return value.as<View>()->name;
  }
  Answer rest(Evaluator&, const Value& value, const Value&, Known known, nb::handle) const override {
    if (!known) return std::nullopt;
    View rest = *value.as<View>();
    rest.skip += static_cast<size_t>(*known);
    return rest;
  }
  bool may_change_length(const Value&) const override { return true; }
  Answer reversed(Evaluator& e, const Value& value, nb::handle node) const override {
    const View& view = *value.as<View>();
    const HeapObject& object = e.contents(Reference{view.object}, node);
    const bool is_list = object.type == HeapObject::Type::List;
    const std::string part = is_list ? "" : view.name.substr(5, view.name.size() - 6);  // key, value, item
    return e.iterator((is_list ? "list_" : "dict_") + ("reverse" + part) + "iterator",
                      View{view.object, view.name, object.values.size()});
  }
  std::optional<bool> known_truth(Evaluator& e, const Value& value) const override {
    return !e.contents(Reference{value.as<View>()->object}, e.here_).values.empty();
  }
  std::optional<Elements> elements(Evaluator& e, const Value& value, nb::handle node) const override {
    const View& view = *value.as<View>();
    const HeapObject& object = e.contents(Reference{view.object}, node);
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
