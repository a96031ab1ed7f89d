#include "frontend/kinds/callers_lists.h"
#include "frontend/kinds/members.h"
#include "frontend/kinds/pooled_values.h"
#include "frontend/kinds/strings.h"

// Dicts whose keys are known only at run time. That a dict is one is a fact of the location where it is made:
// an unknown key that a list buffer can hold demands it. The values of the shadow heap's object are then a
// list of keys, a list of values and a hash table of indices; the rest is Python, in `ingot.library.dicts`.

namespace ingot::frontend {

using base::ExceptionKind;
using ir::Op;

namespace {

constexpr int64_t kFewestSlots = 8;

}  // namespace

const HeapObject* Evaluator::mapping(const Value& value) const {
  const Reference* r = value.as<Reference>();
  if (r == nullptr) return nullptr;
  const HeapObject& object = state_.heap.at(r->object);
  return object.is_mapping && object.conflict.empty() ? &object : nullptr;
}

bool Evaluator::is_of_mapping(const Reference& list) const {
  return std::ranges::any_of(state_.heap, [&](const auto& entry) {
    const HeapObject& object = entry.second;
    const auto is_part = [&](size_t i) {
      return object.values[i].template as<Reference>()->object == list.object;
    };
    return object.is_mapping && object.conflict.empty() && (is_part(0) || is_part(1));
  });
}

Reference Evaluator::make_dict(nb::handle node) {
  const std::string key = key_of(node) + "#mapping";
  const Reference dict = *new_dict({}, {}).as<Reference>();
  if (unrolled_.contains(key)) become_mapping(dict);
  else state_.heap.at(dict.object).made_at = key;
  return dict;
}

void Evaluator::become_mapping(const Reference& dict) {
  const Value keys = new_list({});
  const Value values = new_list({});
  HeapObject& object = state_.heap.at(dict.object);
  object.is_mapping = true;
  object.values = {keys, values, Value()};
  clear_mapping(dict);
}

void Evaluator::clear_mapping(const Reference& dict) {
  const NodeId size = builder_->index(kFewestSlots);
  const Array table = filled({&size, 1}, builder_->index(-1));
  state_.heap.at(dict.object).values[2] = table;
}

void Evaluator::ask_for_mapping(const Reference& dict, const Value& key, nb::handle node) {
  const HeapObject& object = state_.heap.at(dict.object);
  if (key.is<Static>()) return;
  if (object.argument >= 0) CallersLists(*this).ask_for(object);
  if (object.made_at.empty() || object.argument >= 0) return;
  const std::optional<Value> form = form_of(key);
  if (!form || form->is<Static>()) return;
  if (const Member* m = form->as<Member>(); m != nullptr && has_own_equality(m->type)) return;
  const bool may_be =
      std::ranges::all_of(object.values, [&](const Value& v) { return form_of(v).has_value(); }) &&
      std::ranges::all_of(object.keys, [&](const nb::object& k) {
        if (form->is<Characters>()) return Strings::may_be_character(Static{k});
        if (const Member* m = form->as<Member>()) return nb::borrow(k.type()).is(m->type);
        return !PyUnicode_Check(k.ptr()) && !k.is_none();
      });
  if (may_be) throw NeedsFact::at(object.made_at, location_of(node));
}

Value Evaluator::by_dicts(const char* name, const HeapObject& dict, std::vector<Value> more, nb::handle node,
                          bool with_values) {
  std::vector<Value> arguments{dict.values[0]};
  if (with_values) arguments.push_back(dict.values[1]);
  arguments.push_back(dict.values[2]);
  arguments.insert(arguments.end(), more.begin(), more.end());
  Call call{.positional = std::move(arguments), .keywords = {}, .name = name, .node = node};
  return inline_function(imported("ingot.library.dicts").attr(name), call);
}

void Evaluator::put_in_mapping(const Reference& dict, const Value& given_key, const Value& given,
                               nb::handle node) {
  need_own(state_.heap.at(dict.object), node);
  const Value value = PooledValues(*this).held(given, node);
  const Value key =
      Strings::may_be_character(given_key) ? Strings(*this).characters_of(given_key) : given_key;
  if (!form_of(key) || !form_of(value)) {
    unsupported(
        node,
        "a " + type_name(form_of(key) ? value : key) + " in a dict whose keys are not known when compiling",
        "put numbers there, or tuples of them");
  }
  const HeapObject before = state_.heap.at(dict.object);
  const Value table = by_dicts("put", before, {key, value}, node);
  state_.heap.at(dict.object).values[2] = named(table);
}

void Evaluator::refuse_while_iterated(const HeapObject& dict, nb::handle node) {
  for (size_t i = 0; i < 2; ++i) {
    if (std::ranges::count(pinned_, dict.values[i].as<Reference>()->object) > 0) {
      unsupported(node, "taking a key out of a dict while it is iterated over",
                  "iterate over a list of its keys");
    }
  }
}

Value Evaluator::mapping_method(const Reference& dict, const std::string& name, Call& call) {
  const nb::handle node = call.node;
  const std::vector<Value> given = call.positional;
  const HeapObject object = state_.heap.at(dict.object);
  if (name == "pop" || name == "popitem" || name == "clear") refuse_while_iterated(object, node);
  if (name == "keys" || name == "values" || name == "items") return View{dict.object, "dict_" + name};
  if (name == "get") return by_dicts("get", object, given, node);
  if (name == "pop") return by_dicts(given.size() > 1 ? "pop_or" : "pop", object, given, node);
  if (name == "popitem") return by_dicts("popitem", object, {}, node);
  if (name == "setdefault") {
    const Value otherwise = given.size() > 1 ? given[1] : Value(Static{nb::none()});
    const Value is_in = by_dicts("contains", object, {given[0]}, node, false);
    return fork(
        truth(is_in, node), [&] { return by_dicts("item", state_.heap.at(dict.object), {given[0]}, node); },
        [&] {
          put_in_mapping(dict, given[0], otherwise, node);
          return by_dicts("newest", state_.heap.at(dict.object), {}, node);
        });
  }
  if (name == "clear") {
    for (const Value& list : {object.values[0], object.values[1]}) {
      Call clear{.positional = {}, .keywords = {}, .name = "clear", .node = node};
      list_method(*list.as<Reference>(), "clear", clear);
    }
    clear_mapping(dict);
    return Static{nb::none()};
  }
  if (name == "copy") {
    const Reference copy = *new_dict({}, {}).as<Reference>();
    become_mapping(copy);
    HeapObject& made = state_.heap.at(copy.object);
    made.made_at = object.made_at;
    for (size_t i = 0; i < 2; ++i) {
      const Value list = by_library("copy", {object.values[i]}, node);
      state_.heap.at(copy.object).values[i] = list;
    }
    const Value table = owner(builder_->make(Op::materialize, {whole(object.values[2])}));
    state_.heap.at(copy.object).values[2] = table;
    return copy;
  }
  unsupported(node, "the method `" + name + "` of a dict whose keys are not known when compiling",
              "use indexing and loops");
}

void Evaluator::by_update(const Reference& dict, const Value& other, nb::handle node) {
  const bool is_mapping = is_instance(other) && !PooledValues::decides(other) &&
                          class_attribute(class_of_value(other), "keys").is_valid();
  const bool has_keys = other.is<Reference>() && !is_list(other);
  Call call{.positional = {dict, other}, .keywords = {}, .name = "update", .node = node};
  inline_function(imported("ingot.library.dicts")
                      .attr(is_mapping ? "update_of_keys"
                            : has_keys ? "update"
                                       : "update_of_pairs"),
                  call);
}

std::optional<Value> Evaluator::iterated_of(const Value& iterable) const {
  const View* v = iterable.as<View>();
  const HeapObject* dict = v != nullptr ? mapping(Reference{v->object}) : mapping(iterable);
  if (dict == nullptr) return std::nullopt;
  if (v == nullptr || v->name == "dict_keys") return dict->values[0];
  if (v->name == "dict_values") return dict->values[1];
  return Value(Zip{share(std::vector<Value>{dict->values[0], dict->values[1]})});
}

}  // namespace ingot::frontend
