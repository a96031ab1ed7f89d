// The methods of lists, dicts and strings. A change of structure is applied to a host container of the same
// structure that holds the numbers of the elements, which shows its effect and what it raises.

#include "frontend/containers/methods.h"

#include "base/message.h"
#include "frontend/arrays/known_sizes.h"
#include "frontend/arrays/operators.h"
#include "frontend/arrays/scalars.h"
#include "frontend/containers/containers.h"
#include "frontend/containers/list_buffers.h"
#include "frontend/containers/mappings.h"
#include "frontend/kinds/callers_lists.h"
#include "frontend/kinds/generators.h"
#include "frontend/kinds/members.h"
#include "frontend/kinds/rows.h"
#include "frontend/tracer/checkpoint.h"
#include "frontend/tracer/evaluate.h"
#include "frontend/tracer/python_objects.h"
#include "frontend/tracer/scopes.h"

namespace ingot::frontend {

using base::ExceptionKind;
using ir::Op;

namespace {

nb::list numbers(size_t first, size_t count) {
  nb::list result;
  for (size_t i = 0; i < count; ++i) result.append(first + i);
  return result;
}

}  // namespace

Value new_list(Tracer& t, std::vector<Value> values) {
  for (Value& value : values) value = stored(t, std::move(value));
  const uint32_t id = t.facts.next_object++;
  t.state.heap.emplace(id,
                       HeapObject{.type = HeapObject::Type::List, .values = std::move(values), .keys = {}});
  Rows(t).made_at(id, t.here);
  return Reference{id};
}

Value new_dict(Tracer& t, std::vector<nb::object> keys, std::vector<Value> values) {
  for (Value& value : values) value = stored(t, std::move(value));
  const uint32_t id = t.facts.next_object++;
  t.state.heap.emplace(
      id, HeapObject{.type = HeapObject::Type::Dict, .values = std::move(values), .keys = std::move(keys)});
  return Reference{id};
}

Value static_value(Tracer& t, const nb::object& object) {
  if (!PyList_CheckExact(object.ptr()) && !PyTuple_CheckExact(object.ptr())) return Static{object};
  std::vector<Value> members;
  for (const nb::handle member : object) members.push_back(static_value(t, nb::borrow<nb::object>(member)));
  if (PyList_CheckExact(object.ptr())) return new_list(t, std::move(members));
  return Tuple{std::move(members)};
}

namespace {

nb::object host_change(Tracer& t, const nb::object& container, const char* method,
                       const nb::tuple& arguments) {
  return by_python(t, [&] { return attribute(container, method)(*arguments); });
}

}  // namespace

void replay(Tracer& t, const Reference& container, const char* method, const std::vector<Value>& arguments,
            nb::handle node) {
  const HeapObject& object = t.state.heap.at(container.object);
  if (object.argument < 0) return;
  if (!t.facts.writes.any) throw NeedsFact{.kind = NeedsFact::Kind::Cells};
  const Here here(t, node);
  Outward outward;
  nb::list given;
  given.append(Description{described::Argument{object.argument}});
  given.append(Description{described::Static{nb::str(method)}});
  for (const Value& argument : arguments) given.append(describe_result(t, argument, outward));
  t.hosts.push_back(
      {imported("ingot._host.callbacks").attr("change"), nb::make_tuple(nb::tuple(given), nb::dict())});
  const int64_t attributes[] = {static_cast<int64_t>(t.hosts.size() - 1), t.module.text("put").index};
  t.builder->make(Op::host, outward.leaves, attributes);
  for (const Value& argument : arguments) give_away(t, argument, node);
}

Value change_list(Tracer& t, const Reference& list, const char* method, std::vector<Value> arguments,
                  std::vector<Value> added, nb::handle node) {
  const std::vector<Value> before = contents(t, list, node).values;
  need_own(t, t.state.heap.at(list.object), node);
  CallersLists(t).add_first(t.state.heap.at(list.object), added, node);
  if (before.size() + added.size() > kMostElements)
    unsupported(t, node, "a list of more than 20 000 elements", "use an array");
  for (Value& value : added) {
    value = stored(t, std::move(value));
    if (holds(t, value, list.object))
      unsupported(t, node, "a container that holds itself", "use another one");
  }
  const nb::object order = numbers(0, before.size());
  const bool several = std::string_view(method) != "insert";
  nb::list given;
  for (Value& argument : arguments) {
    if (const Slice* slice = argument.as<Slice>()) {
      nb::list parts;
      for (const Value& part : *slice->parts)
        parts.append(require_static(t, part, "a slice of a container", node));
      argument = Static{imported("builtins").attr("slice")(parts[0], parts[1], parts[2])};
    }
    given.append(require_static(t, argument, "an index into a container", node));
  }
  if (!added.empty() || std::string_view(method) == "extend" || std::string_view(method) == "__setitem__") {
    if (several) given.append(numbers(before.size(), added.size()));
    else given.append(before.size());
  }
  const nb::object popped = host_change(t, order, method, nb::tuple(given));
  if (!added.empty() && !several) arguments.push_back(added[0]);
  else if (several && nb::len(given) > arguments.size()) arguments.emplace_back(Tuple{added});
  replay(t, list, method, arguments, node);
  const auto element = [&](nb::handle number) {
    const auto i = nb::cast<size_t>(number);
    return i < before.size() ? before[i] : added[i - before.size()];
  };
  std::vector<Value> after;
  for (const nb::handle number : order) after.push_back(element(number));
  t.state.heap.at(list.object).values = std::move(after);
  return popped.is_none() ? Value(Static{nb::none()}) : open(t, element(popped), "the element", node);
}

Value remove_from_dict(Tracer& t, const Reference& dict, const char* method,
                       const std::vector<Value>& arguments, nb::handle node) {
  const HeapObject before = contents(t, dict, node);
  need_own(t, before, node);
  nb::dict order;
  for (size_t i = 0; i < before.keys.size(); ++i) order[before.keys[i]] = i;
  nb::list given;
  for (const Value& argument : arguments) given.append(require_static(t, argument, "a key of a dict", node));
  const nb::object removed = host_change(t, order, method, nb::tuple(given));
  replay(t, dict, method, arguments, node);
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

std::vector<Value> elements_of(Tracer& t, const Value& iterated, nb::handle node) {
  Value iterable = begin_iterate(t, iterated, node);
  if (const Range* r = iterable.as<Range>()) {
    std::array<Value, 3> bounds = *r->bounds;
    for (Value& bound : bounds) bound = known_number(t, bound);
    iterable = Range{share(std::move(bounds)), r->parallel};
  }
  if (is_foreign(t, iterable) && iterable.is<Foreign>()) use_foreign(t, "iterate", "", {iterable}, node);
  if (iterates_generator(iterable)) return contents(t, list_of(t, iterable, node), node).values;
  kind_of_value(iterable).refuse_iterate(t, iterable, node);
  if (const Range* r = iterable.as<Range>()) {
    for (const Value& bound : *r->bounds)
      if (const auto* s = bound.as<Scalar>()) demand(t, s->node, node);
  }
  if (auto elements = static_elements(t, iterable, node, true)) return *elements;
  if (has_open_length(t, iterable) || iterable.is<Range>() || iterable.is<Zip>()) {
    unsupported(t, node, "making a container of what has a length that is not known when compiling",
                "use an array");
  }
  raise(t, ExceptionKind::TypeError, "'" + type_name(t, iterable) + "' object is not iterable");
}

std::vector<size_t> indices_of(Tracer& t, const Slice& slice, size_t size, nb::handle node) {
  nb::list parts;
  for (const Value& part : *slice.parts)
    parts.append(require_static(t, part, "a slice of a container", node));
  const nb::object slice_type = imported("builtins").attr("slice");
  const nb::object chosen = host_change(t, numbers(0, size), "__getitem__",
                                        nb::make_tuple(slice_type(parts[0], parts[1], parts[2])));
  std::vector<size_t> indices;
  for (const nb::handle index : chosen) indices.push_back(nb::cast<size_t>(index));
  return indices;
}

NodeId index_of_equal(Tracer& t, const std::vector<Value>& values, const Value& wanted, nb::handle node) {
  NodeId index = t.builder->index(-1);
  for (size_t i = values.size(); i-- > 0;) {
    index = t.builder->make(Op::select, {truth(t, equal_members(t, wanted, values[i], node), node),
                                         t.builder->index(static_cast<int64_t>(i)), index});
  }
  return index;
}

Value count_of_equal(Tracer& t, const std::vector<Value>& values, const Value& wanted, nb::handle node) {
  Value count = Static{nb::int_(0)};
  for (const Value& value : values) {
    const Value equal = equal_members(t, wanted, value, node);
    const std::optional<bool> known = static_truth(t, equal);
    const Value one =
        known ? Value(Static{nb::int_(*known ? 1 : 0)})
              : Value(Scalar{Kind::py_int(), t.builder->cast(truth(t, equal, node), DType::Int64)});
    count = binary(t, Operator::Add, count, one, node);
  }
  return count;
}

Value list_method(Tracer& t, const Reference& list, const std::string& name, Call& call) {
  const std::vector<Value>& given = call.positional;
  const nb::handle node = call.node;
  if (name == "append") {
    append(t, list, given[0], node);
    return Static{nb::none()};
  }
  if (growing(t, list) != nullptr) return list_buffer_method(t, list, name, call);
  if (name == "pop" || name == "clear" || name == "reverse")
    return change_list(t, list, name.c_str(), given, {}, node);
  if (name == "insert") return change_list(t, list, "insert", {given[0]}, {given[1]}, node);
  if (name == "extend" && (has_open_length(t, given[0]) || iterates_generator(given[0]))) {
    const HeapObject object = t.state.heap.at(list.object);
    CallersLists(t).ask_for(object);
    if (object.argument < 0 || CallersLists(t).is_waiting(object))
      return by_library(t, "extend", {list, given[0]}, node);
  }
  if (name == "extend") return change_list(t, list, "extend", {}, elements_of(t, given[0], node), node);
  const std::vector<Value> values = contents(t, list, node).values;
  if (name == "copy") return new_list(t, values);
  if (name == "count") return count_of_equal(t, values, given[0], node);
  if ((name == "index" || name == "remove") && given.size() == 1) {
    const NodeId index = index_of_equal(t, values, given[0], node);
    const std::optional<Kind> kind = number_kind(given[0]);
    const bool is_index = name == "index";
    const NodeId found = t.builder->make(Op::greater_equal, {index, t.builder->index(0)});
    if (!is_index) check(t, found, ExceptionKind::ValueError, "list.remove(x): x not in list");
    else if (const Static* s = given[0].as<Static>()) {
      check(t, found, ExceptionKind::ValueError,
            base::escape_message(text_of(nb::repr(s->object)) + " is not in list"));
    } else if (kind) {
      check_showing(t, found, ExceptionKind::ValueError, Scalar{*kind, stage(t, given[0], *kind)},
                    " is not in list");
    } else {
      unsupported(t, node, "the index of a " + type_name(t, given[0]), "look for it in a loop");
    }
    if (is_index) return known_number(t, Scalar{Kind::py_int(), index});
    return change_list(t, list, "__delitem__", {known_number(t, Scalar{Kind::py_int(), index})}, {}, node);
  }
  if (name == "sort") {
    const std::vector<Value> sorted = sorted_values(t, values, call);
    return change_list(t, list, "__setitem__", {Static{imported("builtins").attr("slice")(nb::none())}},
                       sorted, node);
  }
  unsupported(t, node, "the method `" + name + "` of a list with these arguments", "use indexing and loops");
}

std::vector<Value> sorted_values(Tracer& t, const std::vector<Value>& values, Call& call) {
  bool reverse = false;
  std::optional<Value> key;
  for (const auto& [name, value] : call.keywords) {
    if (name == "key" && !is_none(value)) key = value;
    if (name == "key") continue;
    if (name != "reverse")
      unsupported(t, call.node, "the keyword `" + name + "` when sorting", "sort an array");
    const std::optional<bool> known = static_truth(t, value);
    if (!known) unsupported(t, call.node, "`reverse` that is not known when compiling", "use a constant");
    reverse = *known;
  }
  if (values.size() < 2 && !key) return values;
  bool is_known = true;
  const std::function<nb::object(const Value&)> known = [&](const Value& value) -> nb::object {
    if (const Static* s = value.as<Static>()) return s->object;
    is_known = is_known && value.is<Tuple>();
    nb::list members;
    for (const Value& member : parts_of(value)) members.append(known(member));
    return nb::tuple(members);
  };
  const Checkpoint before = checkpoint(t);
  nb::list items;
  for (const Value& value : values) {
    if (key) {
      Call rank{.positional = {value}, .keywords = {}, .name = "key", .node = call.node};
      items.append(known(call_value(t, *key, rank)));
    } else {
      items.append(known(value));
    }
  }
  if (!is_known) {
    go_back(t, before);
    return sorted_by_library(t, values, call);
  }
  return by_python(t, [&] {
    const nb::object order = imported("ingot._host.callbacks").attr("sorting")(items, reverse);
    std::vector<Value> sorted;
    for (const nb::handle index : order) sorted.push_back(values[nb::cast<size_t>(index)]);
    return sorted;
  });
}

Value dict_method(Tracer& t, const Reference& dict, const std::string& name, Call& call) {
  const std::vector<Value>& given = call.positional;
  const nb::handle node = call.node;
  if (name == "update") {
    for (const Value& other : given) {
      if (mapping(t, dict) != nullptr || has_open_length(t, other) || is_instance(other))
        by_update(t, dict, other, node);
      else
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
  const HeapObject before = contents(t, dict, node);
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
  const std::optional<size_t> index = index_in(t, dict, given[0], key, "", node);
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
  if (const Reference* r = mapping.as<Reference>();
      r != nullptr && contents(t, *r, node).type == HeapObject::Type::Dict) {
    const HeapObject& object = contents(t, *r, node);
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

}  // namespace ingot::frontend
