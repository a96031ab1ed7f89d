// A container of the caller is also changed itself: numbers go through cells, which the caller reads when the
// call ends, even by an exception, and before host calls; everything else is stored at once, by a host call.
// From then on an array shares its memory with the function; a list or dict made in the function is stored
// again when the function ends.

#include "frontend/kinds/containers.h"

#include "frontend/arrays/arrays.h"
#include "frontend/arrays/scalars.h"
#include "frontend/joins/objects.h"
#include "frontend/kinds/parameters.h"
#include "frontend/kinds/value_kind.h"
#include "frontend/tracer/evaluate.h"
#include "frontend/tracer/python_objects.h"
#include "frontend/tracer/scopes.h"

namespace ingot::frontend {

using ir::Op;

HeapObject& contents(Tracer& t, uint32_t container, nb::handle node) {
  HeapObject& object = t.state.heap.at(container);
  if (!object.conflict.empty()) {
    need_path(t, object, node);
    const bool is_list = object.type == HeapObject::Type::List;
    unsupported(t, node, object.conflict,
                object.is_stale        ? "read it before that one is changed, or change a copy of that one"
                : !is_list             ? "let all paths leave the same keys"
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

uint32_t new_container(Tracer& t, HeapObject object) {
  for (Value& value : object.values) value = stored(t, std::move(value));
  const uint32_t id = t.facts.next_object++;
  t.state.heap.emplace(id, std::move(object));
  return id;
}

namespace {

bool holds(const Tracer& t, const Value& value, uint32_t object) {
  const auto holds_it = [&](const Value& part) { return holds(t, part, object); };
  if (const uint32_t own = container_of(value); own != 0)
    return own == object || std::ranges::any_of(t.state.heap.at(own).values, holds_it);
  return value.is<Tuple>() && std::ranges::any_of(value.as<Tuple>()->members, holds_it);
}

}  // namespace

Value stored_in(Tracer& t, uint32_t container, Value value, nb::handle node) {
  value = stored(t, std::move(value));
  if (holds(t, value, container)) unsupported(t, node, "a container that holds itself", "use another one");
  return value;
}

void need_own(Tracer& t, const HeapObject& object, nb::handle node) {
  if (object.given_away) {
    unsupported(t, node,
                "using a list, a dict or an instance after it was put into a container of the caller",
                "finish it before, and take it from there");
  }
}

namespace {

/// The function's own lists, dicts and instances in a value now belong to the caller.
void give_away(Tracer& t, const Value& value, nb::handle node) {
  if (const Tuple* tuple = value.as<Tuple>())
    for (const Value& member : tuple->members) give_away(t, member, node);
  const uint32_t number = object_of(value);
  if (number == 0) return;
  HeapObject& object = t.state.heap.at(number);
  if (object.argument >= 0 || object.given_away || Parameters(t).number_of_copy(number)) return;
  will_change(t, number, node);  // what it may be is the caller's from now on
  object.given_away = true;
  const std::vector<Value> members = object.values;
  for (const Value& member : members) give_away(t, member, node);
}

std::string cell_name(size_t container, const char* what) {
  return "cells." + std::to_string(container) + "." + what;
}

}  // namespace

NodeId cell_of(Tracer& t, int container, const char* what) {
  return captured(t, nullptr, cell_name(static_cast<size_t>(container), what))->as<Array>()->node;
}

void write_back(Tracer& t, uint32_t container, std::optional<size_t> position, const nb::object& key,
                const Value& value, nb::handle node) {
  HeapObject& object = t.state.heap.at(container);
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

bool is_held(const Tracer& t, uint32_t container, size_t position, const Value& value) {
  const HeapObject& object = t.state.heap.at(container);
  return object.joined != nullptr && value.is<Array>() && same(object.values[position], value);
}

Description described_joined(Tracer& t, uint32_t object, Outward& outward,
                             const std::function<Description()>& own) {
  for (const auto& [other, number] : outward.made) {
    if (!may_be_same(t, object, other)) continue;
    for (const uint32_t id : {object, other}) need_path(t, t.state.heap.at(id), {});
    unsupported(t, {}, "a result with two dicts, lists or instances that are one on some paths only",
                "return one of them, or a copy, as by `dict(p)`");
  }
  const HeapObject& joined = t.state.heap.at(object);
  if (joined.joined == nullptr) return own();
  if (!outward.is_result) {
    need_path(t, joined, {});
    unsupported(t, {}, "storing or passing on a dict, list or instance that is another one on another path",
                "make a copy of it before, as by `dict(p)`");
  }
  const Value origin = t.state.heap.at(joined.origin).values[0];
  if (const std::optional<int64_t> known = static_int(origin); known && *known < 0) return own();
  outward.leaves.push_back(t.builder->cast(stage(t, origin, Kind::py_int()), DType::Int64));
  return {described::OneOf{}, {own()}};
}

void replay(Tracer& t, uint32_t container, const char* method, const std::vector<Value>& arguments,
            nb::handle node) {
  const HeapObject& object = t.state.heap.at(container);
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

nb::object host_change(Tracer& t, const nb::object& container, const char* method,
                       const nb::tuple& arguments) {
  return by_python(t, [&] { return attribute(container, method)(*arguments); });
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

Value by_other_in_place(Tracer& t, Operator op, const Value& value, const Value& right, nb::handle node) {
  if (std::optional<Value> result = kind_of_value(right).binary(t, op, value, right, node)) return *result;
  raise_by_type(t, "in place", symbol_of(op) + "=", {value, right});
  if (op == Operator::Mult || right.is<Array>() || is_instance(right) || is_foreign(t, right)) {
    unsupported(t, node, "'" + symbol_of(op) + "=' of a " + type_name(t, value),
                "assign the result of the operator");
  }
  raise(t, base::ExceptionKind::TypeError,
        "unsupported operand type(s) for " + symbol_of(op) + "=: '" + type_name(t, value) + "' and '" +
            type_name(t, right) + "'");
}

}  // namespace ingot::frontend
