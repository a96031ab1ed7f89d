// Lists and dicts. Their structure is known; their elements are staged. A container of the caller is also
// changed itself: numbers go through cells, which the caller reads when the call ends, even by an exception,
// and before host calls; everything else is stored at once, by a host call. From then on an array shares its
// memory with the function; a list or dict made in the function is stored again when the function ends.

#include "frontend/containers/containers.h"

#include "frontend/arrays/arrays.h"
#include "frontend/arrays/operators.h"
#include "frontend/arrays/scalars.h"
#include "frontend/containers/list_buffers.h"
#include "frontend/containers/mappings.h"
#include "frontend/containers/methods.h"
#include "frontend/kinds/callers_lists.h"
#include "frontend/kinds/parameters.h"
#include "frontend/kinds/special_methods.h"
#include "frontend/tracer/evaluate.h"
#include "frontend/tracer/python_objects.h"
#include "frontend/tracer/scopes.h"

namespace ingot::frontend {

using base::ExceptionKind;
using ir::Op;

namespace {

void put_staged(Tracer& t, const Reference& list, const Value& index, const Value& value, nb::handle node);

}  // namespace

HeapObject& contents(Tracer& t, const Reference& container, nb::handle node) {
  HeapObject& object = t.state.heap.at(container.object);
  if (!object.conflict.empty()) {
    const bool is_list = object.type == HeapObject::Type::List;
    unsupported(t, node, object.conflict,
                !is_list               ? "let all paths leave the same keys"
                : object.argument >= 0 ? "make a new list, and return it"
                                       : "put numbers of one kind there, tuples of them, or instances of one "
                                         "class; or let all paths leave as many elements");
  }
  if (object.is_mapping) {
    unsupported(t, node, "using all of a dict whose keys are not known when compiling",
                "take its items one by one");
  }
  if (object.element != nullptr) {
    unsupported(t, node, "using all of a list whose length is not known when compiling",
                "take its elements one by one, or make an array of it");
  }
  return object;
}

std::optional<size_t> index_in(Tracer& t, const Reference& container, const Value& index, nb::object& key,
                               const char* missing, nb::handle node) {
  HeapObject& object = contents(t, container, node);
  const bool is_list = object.type == HeapObject::Type::List;
  if (!is_list && (index.is<Reference>() || index.is<Array>() || index.is<Slice>()))
    raise(t, ExceptionKind::TypeError, "unhashable type: '" + type_name(t, index) + "'");
  if (!is_list) ask_for_mapping(t, container, index, node);
  key = require_static(t, index, is_list ? "an index into a container" : "a key of a dict", node);
  if (is_list) {
    need_index_sized(t, Static{key});
    const std::optional<int64_t> i = static_int(Static{key});
    const int64_t size = static_cast<int64_t>(object.values.size());
    if (!i) {
      raise(t, ExceptionKind::TypeError,
            "list indices must be integers or slices, not " + type_name(t, Static{key}));
    }
    if (*i < -size || *i >= size) raise(t, ExceptionKind::IndexError, missing);
    return static_cast<size_t>(*i < 0 ? *i + size : *i);
  }
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

bool is_staged_index(Tracer& t, const Value& index, nb::handle node) {
  const Scalar* s = index.as<Scalar>();
  if (s == nullptr || !(base::is_int(s->kind.dtype()) || s->kind == Kind::py_bool())) return false;
  demand(t, s->node, node);
  return true;
}

NodeId staged_index_of(Tracer& t, const Value& index, NodeId length, const std::string& missing) {
  const NodeId zero = t.builder->index(0);
  const NodeId given = stage_index(t, index);
  const NodeId wrapped = t.builder->make(Op::select, {t.builder->make(Op::less, {given, zero}),
                                                      t.builder->make(Op::add, {given, length}), given});
  check(t,
        both(t, t.builder->make(Op::greater_equal, {wrapped, zero}),
             t.builder->make(Op::less, {wrapped, length})),
        ExceptionKind::IndexError, missing);
  return wrapped;
}

Value pick_staged(Tracer& t, const std::vector<Value>& members, NodeId position, nb::handle node) {
  if (members.size() > 64) {
    unsupported(
        t, node,
        "an index that is not known when compiling, into " + std::to_string(members.size()) + " elements",
        "use an array");
  }
  if (members.empty()) {  // an earlier check has raised
    t.builder->terminate(Op::unreachable, {});
    throw Diverged{};
  }
  const std::optional<Kind> kind = kind_of(members[0]);
  const bool alike = kind && std::ranges::all_of(members, [&](const Value& v) {
                       return !v.is<Array>() && kind_of(v) == kind;
                     });
  if (alike) {
    NodeId chosen = stage(t, members.back(), *kind);
    for (size_t i = members.size() - 1; i-- > 0;) {
      const NodeId here = t.builder->make(Op::equal, {position, t.builder->index(static_cast<int64_t>(i))});
      chosen = t.builder->make(Op::select, {here, stage(t, members[i], *kind), chosen});
    }
    return Scalar{*kind, chosen};
  }
  const std::function<Value(size_t)> from = [&](size_t i) -> Value {
    if (i + 1 == members.size()) return members[i];
    const NodeId here = t.builder->make(Op::equal, {position, t.builder->index(static_cast<int64_t>(i))});
    return fork(t, here, [&] { return members[i]; }, [&] { return from(i + 1); });
  };
  return from(0);
}

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

bool holds(const Tracer& t, const Value& value, uint32_t object) {
  const auto any = [&](const std::vector<Value>& values) {
    return std::ranges::any_of(values, [&](const Value& v) { return holds(t, v, object); });
  };
  if (const Tuple* tuple = value.as<Tuple>()) return any(tuple->members);
  const Reference* r = value.as<Reference>();
  return r != nullptr && (r->object == object || any(t.state.heap.at(r->object).values));
}

void put(Tracer& t, const Reference& container, const Value& index, Value value, nb::handle node) {
  if (growing(t, container) != nullptr) return set_list_buffer_item(t, container, index, value, node);
  if (mapping(t, container) != nullptr) return put_in_mapping(t, container, index, value, node);
  if (contents(t, container, node).type == HeapObject::Type::List && index.is<Slice>()) {
    change_list(t, container, "__setitem__", {index}, elements_of(t, value, node), node);
    return;
  }
  if (contents(t, container, node).type == HeapObject::Type::List && is_staged_index(t, index, node))
    return put_staged(t, container, index, value, node);
  CallersLists(t).add_first(contents(t, container, node), index, value, node);
  nb::object key;
  const std::optional<size_t> position =
      index_in(t, container, index, key, "list assignment index out of range", node);
  value = stored(t, std::move(value));
  if (holds(t, value, container.object))
    unsupported(t, node, "a container that holds itself", "use another one");
  write_back(t, container, position, key, value, node);
  HeapObject& object = t.state.heap.at(container.object);
  need_own(t, object, node);
  if (position) {
    object.values[*position] = std::move(value);
  } else {
    object.keys.push_back(key);
    object.values.push_back(std::move(value));
  }
}

namespace {

void put_staged(Tracer& t, const Reference& list, const Value& index, const Value& value, nb::handle node) {
  const size_t size = contents(t, list, node).values.size();
  const NodeId position = staged_index_of(t, index, t.builder->index(static_cast<int64_t>(size)),
                                          "list assignment index out of range");
  if (size > 64) {
    unsupported(t, node,
                "an index that is not known when compiling, into " + std::to_string(size) + " elements",
                "use an array");
  }
  for (size_t i = 0; i < size; ++i) {
    const NodeId here = t.builder->make(Op::equal, {position, t.builder->index(static_cast<int64_t>(i))});
    const auto store = [&] {
      put(t, list, Static{nb::int_(i)}, value, node);
      return Value(Static{nb::none()});
    };
    fork(t, here, store, [] { return Value(Static{nb::none()}); });
  }
}

}  // namespace

void append(Tracer& t, const Reference& container, Value element, nb::handle node) {
  if (growing(t, container) != nullptr) {
    need_own(t, t.state.heap.at(container.object), node);
    return grow(t, container, element, node);
  }
  HeapObject& object = t.state.heap.at(container.object);
  if (object.argument < 0) contents(t, container, node);
  need_own(t, object, node);
  CallersLists(t).add_first(object, {&element, 1}, node);
  element = stored(t, std::move(element));
  if (holds(t, element, container.object))
    unsupported(t, node, "a container that holds itself", "use another one");
  write_back(t, container, std::nullopt, nb::none(), element, node);
  // If the structure is not known, only the caller's own list holds the element.
  if (object.conflict.empty()) object.values.push_back(std::move(element));
}

void need_own(Tracer& t, const HeapObject& object, nb::handle node) {
  if (object.given_away) {
    unsupported(t, node,
                "using a list, a dict or an instance after it was put into a container of the caller",
                "finish it before, and take it from there");
  }
}

void give_away(Tracer& t, const Value& value, nb::handle node) {
  if (const Tuple* tuple = value.as<Tuple>())
    for (const Value& member : tuple->members) give_away(t, member, node);
  const Reference* r = value.as<Reference>();
  const Object* o = value.as<Object>();
  if (r == nullptr && o == nullptr) return;
  const uint32_t number = r != nullptr ? r->object : o->object;
  HeapObject& object = t.state.heap.at(number);
  if (object.argument >= 0 || object.given_away || Parameters(t).number_of_copy(number)) return;
  object.given_away = true;
  const std::vector<Value> members = object.values;
  for (const Value& member : members) give_away(t, member, node);
}

namespace {

std::string cell_name(size_t container, const char* what) {
  return "cells." + std::to_string(container) + "." + what;
}

}  // namespace

NodeId cell_of(Tracer& t, int container, const char* what) {
  return captured(t, nullptr, cell_name(static_cast<size_t>(container), what))->as<Array>()->node;
}

void write_back(Tracer& t, const Reference& container, std::optional<size_t> position, const nb::object& key,
                const Value& value, nb::handle node) {
  HeapObject& object = t.state.heap.at(container.object);
  if (object.argument < 0) return;
  if (!t.facts.writes.any) throw NeedsFact{.kind = NeedsFact::Kind::Cells};
  const std::optional<Kind> kind = kind_of(value);
  const bool has_cell = position && *position < object.leaves &&
                        (*position >= object.absent.size() || !object.absent[*position]);
  if (kind && !value.is<Array>() && has_cell) {
    const DType dtype = kind->dtype();
    const auto cell = [&](const char* what) { return cell_of(t, object.argument, what); };
    const bool is_complex = base::is_complex(dtype);
    const bool is_float = base::is_float(dtype);
    const NodeId at = t.builder->index(static_cast<int64_t>(*position));
    const DType wide = is_complex ? DType::Complex128 : is_float ? DType::Float64 : DType::Int64;
    const NodeId number = t.builder->cast(stage(t, value, *kind), wide);
    t.builder->make(Op::store, {cell(is_complex ? "complexes" : is_float ? "floats" : "ints"), at, number});
    int64_t tag = static_cast<int64_t>(dtype) + 1;
    if (kind->is_python()) {
      const std::array python = {Kind::py_bool(), Kind::py_int(), Kind::py_float(), Kind::py_complex()};
      tag = base::kDTypeCount + 1 + (std::ranges::find(python, *kind) - python.begin());
    }
    t.builder->make(Op::store, {cell("tags"), at, t.builder->index(tag)});
    return;
  }
  const Here here(t, node);
  Outward outward;
  const Description described_value = describe_result(t, value, outward);
  const bool is_instance = object.type == HeapObject::Type::Object;
  const bool appends = object.type == HeapObject::Type::List && !position;
  const Description target{described::Argument{object.argument}};
  const nb::object function = imported("ingot._host.callbacks")
                                  .attr(appends       ? "append"
                                        : is_instance ? "assign"
                                                      : "put");
  const nb::tuple given =
      appends ? nb::make_tuple(target, described_value)
              : nb::make_tuple(target, Description{described::Static{nb::borrow(key)}}, described_value);
  t.hosts.push_back({function, nb::make_tuple(given, nb::dict())});
  const int64_t attributes[] = {static_cast<int64_t>(t.hosts.size() - 1), t.module.text("put").index};
  t.builder->make(Op::host, outward.leaves, attributes);
  give_away(t, value, node);
}

void add_cells(Tracer& t) {
  const auto add = [&t](DType dtype, size_t container, const char* what, uint32_t number) {
    const std::string name = cell_name(container, what);
    const uint32_t alias_set = 1'000'000 + static_cast<uint32_t>(container) * 4 + number;
    const ir::Type type = ir::Type::view(dtype, 1);
    const NodeId node = t.builder->add_parameter(type, {.name = name, .alias_set = alias_set});
    t.captured[{nullptr, name}] = Array{.type = type, .node = node};
  };
  for (size_t i = 0; i < t.containers.size(); ++i) {
    add(DType::Int64, i, "tags", 0);
    add(DType::Int64, i, "ints", 1);
    add(DType::Float64, i, "floats", 2);
    add(DType::Complex128, i, "complexes", 3);
  }
}

}  // namespace ingot::frontend
