// Dicts whose keys are known only at run time. That a dict is one is a fact of the location where it is made:
// an unknown key that a list buffer can hold demands it. The values of the shadow heap's object are then a
// list of keys, a list of values and a hash table of indices; the rest is Python, in `ingot.library.dicts`.

#include "frontend/kinds/mappings.h"

#include "frontend/arrays/arrays.h"
#include "frontend/arrays/numpy.h"
#include "frontend/arrays/operators.h"
#include "frontend/arrays/scalars.h"
#include "frontend/kinds/callers_lists.h"
#include "frontend/kinds/containers.h"
#include "frontend/kinds/dicts.h"
#include "frontend/kinds/list_buffers.h"
#include "frontend/kinds/lists.h"
#include "frontend/kinds/objects.h"
#include "frontend/kinds/pooled_values.h"
#include "frontend/kinds/special_methods.h"
#include "frontend/kinds/strings.h"
#include "frontend/tracer/checkpoint.h"
#include "frontend/tracer/evaluate.h"

namespace ingot::frontend {

using base::ExceptionKind;
using ir::Op;

namespace {

constexpr int64_t kFewestSlots = 8;

void become_mapping(Tracer& t, Dict dict);
void clear_mapping(Tracer& t, Dict dict);

}  // namespace

const HeapObject* mapping(const Tracer& t, const Value& value) {
  const Dict* dict = value.as<Dict>();
  if (dict == nullptr) return nullptr;
  const HeapObject& object = t.state.heap.at(dict->object);
  return object.is_mapping && object.conflict.empty() ? &object : nullptr;
}

bool is_of_mapping(const Tracer& t, const Value& list) {
  const uint32_t number = object_of(list);
  return std::ranges::any_of(t.state.heap, [&](const auto& entry) {
    const HeapObject& object = entry.second;
    const auto is_part = [&](size_t i) { return object.values[i].template as<List>()->object == number; };
    return object.is_mapping && object.conflict.empty() && (is_part(0) || is_part(1));
  });
}

Dict make_dict(Tracer& t, nb::handle node) {
  const std::string key = key_of(t, node) + "#mapping";
  const Dict dict = new_dict(t, {}, {});
  if (t.facts.unrolled.contains(key)) become_mapping(t, dict);
  else t.state.heap.at(dict.object).made_at = key;
  return dict;
}

namespace {

void become_mapping(Tracer& t, Dict dict) {
  const Value keys = new_list(t, {});
  const Value values = new_list(t, {});
  HeapObject& object = t.state.heap.at(dict.object);
  object.is_mapping = true;
  object.values = {keys, values, Value()};
  clear_mapping(t, dict);
}

void clear_mapping(Tracer& t, Dict dict) {
  const NodeId size = t.builder->index(kFewestSlots);
  const Array table = filled(t, {&size, 1}, t.builder->index(-1));
  t.state.heap.at(dict.object).values[2] = table;
}

}  // namespace

void ask_for_mapping(Tracer& t, Dict dict, const Value& key, nb::handle node) {
  const HeapObject& object = t.state.heap.at(dict.object);
  if (key.is<Static>()) return;
  if (object.argument >= 0) CallersLists(t).ask_for(object);
  if (object.made_at.empty() || object.argument >= 0) return;
  const std::optional<Value> form = form_of(t, key);
  if (!form || form->is<Static>()) return;
  if (const Member* m = form->as<Member>(); m != nullptr && has_own_equality(t, m->type)) return;
  const bool may_be =
      std::ranges::all_of(object.values, [&](const Value& v) { return form_of(t, v).has_value(); }) &&
      std::ranges::all_of(object.keys, [&](const nb::object& k) {
        if (form->is<Characters>()) return Strings::may_be_character(Static{k});
        if (const Member* m = form->as<Member>()) return nb::borrow(k.type()).is(m->type);
        return !PyUnicode_Check(k.ptr()) && !k.is_none();
      });
  if (may_be) throw NeedsFact::at(object.made_at, location_of(t, node));
}

Value by_dicts(Tracer& t, const char* name, const HeapObject& dict, std::vector<Value> more, nb::handle node,
               bool with_values) {
  std::vector<Value> arguments{dict.values[0]};
  if (with_values) arguments.push_back(dict.values[1]);
  arguments.push_back(dict.values[2]);
  arguments.insert(arguments.end(), more.begin(), more.end());
  Call call{.positional = std::move(arguments), .keywords = {}, .name = name, .node = node};
  return inline_function(t, imported("ingot.library.dicts").attr(name), call);
}

void put_in_mapping(Tracer& t, Dict dict, const Value& given_key, const Value& given, nb::handle node) {
  need_own(t, t.state.heap.at(dict.object), node);
  const Value value = PooledValues(t).held(given, node);
  const Value key = Strings::may_be_character(given_key) ? Strings(t).characters_of(given_key) : given_key;
  if (!form_of(t, key) || !form_of(t, value)) {
    unsupported(t, node,
                "a " + type_name(t, form_of(t, key) ? value : key) +
                    " in a dict whose keys are not known when compiling",
                "put numbers there, or tuples of them");
  }
  const HeapObject before = t.state.heap.at(dict.object);
  const Value table = by_dicts(t, "put", before, {key, value}, node);
  t.state.heap.at(dict.object).values[2] = named(t, table);
}

void refuse_while_iterated(Tracer& t, const HeapObject& dict, nb::handle node) {
  for (size_t i = 0; i < 2; ++i) {
    if (std::ranges::count(t.pinned, dict.values[i].as<List>()->object) > 0) {
      unsupported(t, node, "taking a key out of a dict while it is iterated over",
                  "iterate over a list of its keys");
    }
  }
}

Value mapping_method(Tracer& t, Dict dict, const std::string& name, Call& call) {
  const nb::handle node = call.node;
  const std::vector<Value> given = call.positional;
  const HeapObject object = t.state.heap.at(dict.object);
  if (name == "pop" || name == "popitem" || name == "clear") refuse_while_iterated(t, object, node);
  if (name == "keys" || name == "values" || name == "items") return View{dict.object, "dict_" + name};
  if (name == "get") return by_dicts(t, "get", object, given, node);
  if (name == "pop") return by_dicts(t, given.size() > 1 ? "pop_or" : "pop", object, given, node);
  if (name == "popitem") return by_dicts(t, "popitem", object, {}, node);
  if (name == "setdefault") {
    const Value otherwise = given.size() > 1 ? given[1] : Value(Static{nb::none()});
    const Value is_in = by_dicts(t, "contains", object, {given[0]}, node, false);
    return fork(
        t, truth(t, is_in, node),
        [&] { return by_dicts(t, "item", t.state.heap.at(dict.object), {given[0]}, node); },
        [&] {
          put_in_mapping(t, dict, given[0], otherwise, node);
          return by_dicts(t, "newest", t.state.heap.at(dict.object), {}, node);
        });
  }
  if (name == "clear") {
    for (const Value& list : {object.values[0], object.values[1]}) {
      Call clear{.positional = {}, .keywords = {}, .name = "clear", .node = node};
      list_method(t, *list.as<List>(), "clear", clear);
    }
    clear_mapping(t, dict);
    return Static{nb::none()};
  }
  if (name == "copy") {
    const Dict copy = new_dict(t, {}, {});
    become_mapping(t, copy);
    HeapObject& made = t.state.heap.at(copy.object);
    made.made_at = object.made_at;
    for (size_t i = 0; i < 2; ++i) {
      const Value list = by_library(t, "copy", {object.values[i]}, node);
      t.state.heap.at(copy.object).values[i] = list;
    }
    const Value table = owner(t, t.builder->make(Op::materialize, {whole(t, object.values[2])}));
    t.state.heap.at(copy.object).values[2] = table;
    return copy;
  }
  unsupported(t, node, "the method `" + name + "` of a dict whose keys are not known when compiling",
              "use indexing and loops");
}

void by_update(Tracer& t, Dict dict, const Value& other, nb::handle node) {
  const bool is_mapping = is_instance(other) && !PooledValues::decides(other) &&
                          class_attribute(t, class_of_value(t, other), "keys").is_valid();
  const bool has_keys = other.is<Dict>();
  Call call{.positional = {dict, other}, .keywords = {}, .name = "update", .node = node};
  inline_function(t,
                  imported("ingot.library.dicts")
                      .attr(is_mapping ? "update_of_keys"
                            : has_keys ? "update"
                                       : "update_of_pairs"),
                  call);
}

std::optional<Value> iterated_of(const Tracer& t, const Value& iterable) {
  const View* v = iterable.as<View>();
  const HeapObject* dict = v != nullptr ? mapping(t, Dict{v->object}) : mapping(t, iterable);
  if (dict == nullptr) return std::nullopt;
  if (v == nullptr || v->name == "dict_keys") return dict->values[0];
  if (v->name == "dict_values") return dict->values[1];
  return Value(Zip{share(std::vector<Value>{dict->values[0], dict->values[1]})});
}

}  // namespace ingot::frontend
