#include "frontend/kinds/callers_lists.h"
#include "frontend/parameters.h"

// Lists and dicts. Their structure is known; their elements are staged. A container of the caller is also
// changed itself: numbers go through cells, which the caller reads when the call ends, even by an exception,
// and before host calls; everything else is stored at once, by a host call. From then on an array shares its
// memory with the function; a list or dict made in the function is stored again when the function ends.

namespace ingot::frontend {

using base::ExceptionKind;
using ir::Op;

HeapObject& Evaluator::contents(const Reference& container, nb::handle node) {
  HeapObject& object = state_.heap.at(container.object);
  if (!object.conflict.empty()) {
    const bool is_list = object.type == HeapObject::Type::List;
    unsupported(node, object.conflict,
                !is_list               ? "let all paths leave the same keys"
                : object.argument >= 0 ? "make a new list, and return it"
                                       : "put numbers of one kind there, tuples of them, or instances of one "
                                         "class; or let all paths leave as many elements");
  }
  if (object.is_mapping) {
    unsupported(node, "using all of a dict whose keys are not known when compiling",
                "take its items one by one");
  }
  if (object.element != nullptr) {
    unsupported(node, "using all of a list whose length is not known when compiling",
                "take its elements one by one, or make an array of it");
  }
  return object;
}

std::optional<size_t> Evaluator::index_in(const Reference& container, const Value& index, nb::object& key,
                                          const char* missing, nb::handle node) {
  HeapObject& object = contents(container, node);
  const bool is_list = object.type == HeapObject::Type::List;
  if (!is_list && (index.is<Reference>() || index.is<Array>() || index.is<Slice>()))
    raise(ExceptionKind::TypeError, "unhashable type: '" + type_name(index) + "'");
  if (!is_list) ask_for_mapping(container, index, node);
  key = require_static(index, is_list ? "an index into a container" : "a key of a dict", node);
  if (is_list) {
    need_index_sized(Static{key});
    const std::optional<int64_t> i = static_int(Static{key});
    const int64_t size = static_cast<int64_t>(object.values.size());
    if (!i) {
      raise(ExceptionKind::TypeError,
            "list indices must be integers or slices, not " + type_name(Static{key}));
    }
    if (*i < -size || *i >= size) raise(ExceptionKind::IndexError, missing);
    return static_cast<size_t>(*i < 0 ? *i + size : *i);
  }
  if (is_member_of_enum(key) && has_own_equality(nb::borrow<nb::object>(key.type())))
    unsupported(node, "a key whose class has an `__eq__` or `__hash__` of its own", "use its value");
  if (PyObject_Hash(key.ptr()) == -1) {
    nb::python_error error;
    raise_host_error(error);
  }
  const auto at = std::ranges::find_if(object.keys, [&](const nb::object& k) { return k.equal(key); });
  if (at == object.keys.end()) return std::nullopt;
  return static_cast<size_t>(at - object.keys.begin());
}

bool Evaluator::is_staged_index(const Value& index, nb::handle node) {
  const Scalar* s = index.as<Scalar>();
  if (s == nullptr || !(base::is_int(s->kind.dtype()) || s->kind == Kind::py_bool())) return false;
  demand(s->node, node);
  return true;
}

NodeId Evaluator::staged_index_of(const Value& index, NodeId length, const std::string& missing) {
  const NodeId zero = builder_->index(0);
  const NodeId given = stage_index(index);
  const NodeId wrapped = builder_->make(
      Op::select, {builder_->make(Op::less, {given, zero}), builder_->make(Op::add, {given, length}), given});
  check(both(builder_->make(Op::greater_equal, {wrapped, zero}), builder_->make(Op::less, {wrapped, length})),
        ExceptionKind::IndexError, missing);
  return wrapped;
}

Value Evaluator::pick_staged(const std::vector<Value>& members, NodeId position, nb::handle node) {
  if (members.size() > 64) {
    unsupported(
        node,
        "an index that is not known when compiling, into " + std::to_string(members.size()) + " elements",
        "use an array");
  }
  if (members.empty()) {  // an earlier check has raised
    builder_->terminate(Op::unreachable, {});
    throw Diverged{};
  }
  const std::optional<Kind> kind = kind_of(members[0]);
  const bool alike = kind && std::ranges::all_of(members, [&](const Value& v) {
                       return !v.is<Array>() && kind_of(v) == kind;
                     });
  if (alike) {
    NodeId chosen = stage(members.back(), *kind);
    for (size_t i = members.size() - 1; i-- > 0;) {
      const NodeId here = builder_->make(Op::equal, {position, builder_->index(static_cast<int64_t>(i))});
      chosen = builder_->make(Op::select, {here, stage(members[i], *kind), chosen});
    }
    return Scalar{*kind, chosen};
  }
  const std::function<Value(size_t)> from = [&](size_t i) -> Value {
    if (i + 1 == members.size()) return members[i];
    const NodeId here = builder_->make(Op::equal, {position, builder_->index(static_cast<int64_t>(i))});
    return fork(here, [&] { return members[i]; }, [&] { return from(i + 1); });
  };
  return from(0);
}

std::optional<Value> Evaluator::item_by_staged_key(const HeapObject& dict, const Value& key,
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
  if (!numbers.empty()) demand(s->node, node);
  NodeId position = builder_->index(-1);
  for (size_t i = 0; i < numbers.size(); ++i) {
    position = builder_->make(Op::select, {truth(compare(Operator::Eq, key, numbers[i], node), node),
                                           builder_->index(static_cast<int64_t>(i)), position});
  }
  if (numbers.empty()) raise_showing(ExceptionKind::KeyError, *s, "");
  check_showing(builder_->make(Op::greater_equal, {position, builder_->index(0)}), ExceptionKind::KeyError,
                *s, "");
  return open(pick_staged(values, position, node), "the item", node);
}

bool Evaluator::holds(const Value& value, uint32_t object) const {
  const auto any = [&](const std::vector<Value>& values) {
    return std::ranges::any_of(values, [&](const Value& v) { return holds(v, object); });
  };
  if (const Tuple* t = value.as<Tuple>()) return any(t->members);
  const Reference* r = value.as<Reference>();
  return r != nullptr && (r->object == object || any(state_.heap.at(r->object).values));
}

void Evaluator::put(const Reference& container, const Value& index, Value value, nb::handle node) {
  if (growing(container) != nullptr) return set_list_buffer_item(container, index, value, node);
  if (mapping(container) != nullptr) return put_in_mapping(container, index, value, node);
  if (contents(container, node).type == HeapObject::Type::List && index.is<Slice>()) {
    change_list(container, "__setitem__", {index}, elements_of(value, node), node);
    return;
  }
  if (contents(container, node).type == HeapObject::Type::List && is_staged_index(index, node))
    return put_staged(container, index, value, node);
  CallersLists(*this).add_first(contents(container, node), index, value, node);
  nb::object key;
  const std::optional<size_t> position =
      index_in(container, index, key, "list assignment index out of range", node);
  value = stored(std::move(value));
  if (holds(value, container.object)) unsupported(node, "a container that holds itself", "use another one");
  write_back(container, position, key, value, node);
  HeapObject& object = state_.heap.at(container.object);
  need_own(object, node);
  if (position) {
    object.values[*position] = std::move(value);
  } else {
    object.keys.push_back(key);
    object.values.push_back(std::move(value));
  }
}

void Evaluator::put_staged(const Reference& list, const Value& index, const Value& value, nb::handle node) {
  const size_t size = contents(list, node).values.size();
  const NodeId position = staged_index_of(index, builder_->index(static_cast<int64_t>(size)),
                                          "list assignment index out of range");
  if (size > 64) {
    unsupported(node, "an index that is not known when compiling, into " + std::to_string(size) + " elements",
                "use an array");
  }
  for (size_t i = 0; i < size; ++i) {
    const NodeId here = builder_->make(Op::equal, {position, builder_->index(static_cast<int64_t>(i))});
    const auto store = [&] {
      put(list, Static{nb::int_(i)}, value, node);
      return Value(Static{nb::none()});
    };
    fork(here, store, [] { return Value(Static{nb::none()}); });
  }
}

void Evaluator::append(const Reference& container, Value element, nb::handle node) {
  if (growing(container) != nullptr) {
    need_own(state_.heap.at(container.object), node);
    return grow(container, element, node);
  }
  HeapObject& object = state_.heap.at(container.object);
  if (object.argument < 0) contents(container, node);
  need_own(object, node);
  CallersLists(*this).add_first(object, {&element, 1}, node);
  element = stored(std::move(element));
  if (holds(element, container.object)) unsupported(node, "a container that holds itself", "use another one");
  write_back(container, std::nullopt, nb::none(), element, node);
  // If the structure is not known, only the caller's own list holds the element.
  if (object.conflict.empty()) object.values.push_back(std::move(element));
}

void Evaluator::need_own(const HeapObject& object, nb::handle node) {
  if (object.given_away) {
    unsupported(node, "using a list, a dict or an instance after it was put into a container of the caller",
                "finish it before, and take it from there");
  }
}

void Evaluator::give_away(const Value& value, nb::handle node) {
  if (const Tuple* t = value.as<Tuple>())
    for (const Value& member : t->members) give_away(member, node);
  const Reference* r = value.as<Reference>();
  const Object* o = value.as<Object>();
  if (r == nullptr && o == nullptr) return;
  const uint32_t number = r != nullptr ? r->object : o->object;
  HeapObject& object = state_.heap.at(number);
  if (object.argument >= 0 || object.given_away || Parameters(*this).number_of_copy(number)) return;
  object.given_away = true;
  const std::vector<Value> members = object.values;
  for (const Value& member : members) give_away(member, node);
}

namespace {

std::string cell_name(size_t container, const char* what) {
  return "cells." + std::to_string(container) + "." + what;
}

}  // namespace

NodeId Evaluator::cell_of(int container, const char* what) {
  return captured(nullptr, cell_name(static_cast<size_t>(container), what))->as<Array>()->node;
}

void Evaluator::write_back(const Reference& container, std::optional<size_t> position, const nb::object& key,
                           const Value& value, nb::handle node) {
  HeapObject& object = state_.heap.at(container.object);
  if (object.argument < 0) return;
  if (!writes_.any) throw NeedsFact{.kind = NeedsFact::Kind::Cells};
  const std::optional<Kind> kind = kind_of(value);
  const bool has_cell = position && *position < object.leaves &&
                        (*position >= object.absent.size() || !object.absent[*position]);
  if (kind && !value.is<Array>() && has_cell) {
    const DType dtype = kind->dtype();
    const auto cell = [&](const char* what) { return cell_of(object.argument, what); };
    const bool is_complex = base::is_complex(dtype);
    const bool is_float = base::is_float(dtype);
    const NodeId at = builder_->index(static_cast<int64_t>(*position));
    const DType wide = is_complex ? DType::Complex128 : is_float ? DType::Float64 : DType::Int64;
    const NodeId number = builder_->cast(stage(value, *kind), wide);
    builder_->make(Op::store, {cell(is_complex ? "complexes" : is_float ? "floats" : "ints"), at, number});
    int64_t tag = static_cast<int64_t>(dtype) + 1;
    if (kind->is_python()) {
      const std::array python = {Kind::py_bool(), Kind::py_int(), Kind::py_float(), Kind::py_complex()};
      tag = base::kDTypeCount + 1 + (std::ranges::find(python, *kind) - python.begin());
    }
    builder_->make(Op::store, {cell("tags"), at, builder_->index(tag)});
    return;
  }
  const Here here(*this, node);
  Outward outward;
  const Description described_value = describe_result(value, outward);
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
  hosts_.push_back({function, nb::make_tuple(given, nb::dict())});
  const int64_t attributes[] = {static_cast<int64_t>(hosts_.size() - 1), module_.text("put").index};
  builder_->make(Op::host, outward.leaves, attributes);
  give_away(value, node);
}

void Evaluator::add_cells() {
  const auto add = [this](DType dtype, size_t container, const char* what, uint32_t number) {
    const std::string name = cell_name(container, what);
    const uint32_t alias_set = 1'000'000 + static_cast<uint32_t>(container) * 4 + number;
    const ir::Type type = ir::Type::view(dtype, 1);
    const NodeId node = builder_->add_parameter(type, {.name = name, .alias_set = alias_set});
    captured_[{nullptr, name}] = Array{.type = type, .node = node};
  };
  for (size_t i = 0; i < containers_.size(); ++i) {
    add(DType::Int64, i, "tags", 0);
    add(DType::Int64, i, "ints", 1);
    add(DType::Float64, i, "floats", 2);
    add(DType::Complex128, i, "complexes", 3);
  }
}

}  // namespace ingot::frontend
