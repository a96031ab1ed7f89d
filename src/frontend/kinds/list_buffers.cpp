// List buffers: lists whose length is known only at run time. A list of the shadow heap becomes one where
// paths or the iterations of a loop bring different numbers of elements (`join`), or if it is made of an
// iterable of such a length. Its elements are numbers, or tuples of numbers and known values: each number of
// an element has a column, an array that is at least as long as the list. If appending exceeds the columns,
// they are moved to new ones of twice the length.
//
// So a list of numbers that grows in a loop is two carried values, and its operations are loads, stores and
// Python (`ingot/library/lists.py`).

#include "frontend/kinds/list_buffers.h"

#include "frontend/arrays/arrays.h"
#include "frontend/arrays/indexing.h"
#include "frontend/arrays/numpy.h"
#include "frontend/arrays/scalars.h"
#include "frontend/joins/joins.h"
#include "frontend/joins/objects.h"
#include "frontend/kinds/callers_lists.h"
#include "frontend/kinds/columns.h"
#include "frontend/kinds/containers.h"
#include "frontend/kinds/lists.h"
#include "frontend/kinds/mappings.h"
#include "frontend/kinds/pooled_values.h"
#include "frontend/kinds/sequences.h"
#include "frontend/tracer/checkpoint.h"
#include "frontend/tracer/evaluate.h"
#include "frontend/tracer/python_objects.h"

namespace ingot::frontend {

using base::ExceptionKind;
using ir::Op;

namespace {

/// The initial capacity.
constexpr int64_t kFewest = 8;

HeapObject list_buffer_shape(const Value& form, const HeapObject& list);

}  // namespace

std::optional<Value> form_of(Tracer& t, const Value& element) {
  return kind_of_value(element).form(t, element);
}

std::optional<Value> joined_form(Tracer& t, const Value& a, const Value& b) {
  const Value joined = join(t, a, b, "an element of a list");
  const std::function<bool(const Value&)> is_form = [&](const Value& part) {
    if (const Conflict* c = part.as<Conflict>(); c != nullptr && c->can_be_settled())
      present(t, part, "an element of a list", {});
    const Maybe* maybe = part.as<Maybe>();
    return !part.is<Conflict>() && (maybe == nullptr || maybe->present->is<Scalar>()) &&
           std::ranges::all_of(parts_of(part), is_form);
  };
  return is_form(joined) ? std::optional(joined) : std::nullopt;
}

std::optional<Value> form_of_list(Tracer& t, const HeapObject& list) {
  if (list.element != nullptr) return *list.element;
  std::optional<Value> form;
  for (const Value& value : list.values) {
    const std::optional<Value> own = form_of(t, value);
    if (!own) return std::nullopt;
    form = form ? joined_form(t, *form, *own) : own;
    if (!form) return std::nullopt;
  }
  return form.value_or(Value(Unbound{}));
}

std::optional<HeapObject> join_lists(Tracer& t, const HeapObject& a, const HeapObject& b) {
  for (const HeapObject* list : {&a, &b}) {
    if (list->type != HeapObject::Type::List || list->given_away || !list->conflict.empty())
      return std::nullopt;
  }
  if (a.argument >= 0) {
    CallersLists(t).ask_at_join(a, b);
    return std::nullopt;
  }
  const std::optional<Value> left = form_of_list(t, a);
  const std::optional<Value> right = form_of_list(t, b);
  if (!left || !right) return std::nullopt;
  const bool is_left_empty = left->is<Unbound>();
  const std::optional<Value> form =
      is_left_empty || right->is<Unbound>() ? (is_left_empty ? right : left) : joined_form(t, *left, *right);
  if (!form || form->is<Unbound>()) return std::nullopt;
  return list_buffer_shape(*form, a);
}

namespace {

HeapObject list_buffer_shape(const Value& form, const HeapObject& list) {
  HeapObject shape{.type = HeapObject::Type::List, .values = {Scalar{Kind::py_int(), {}}}, .keys = {}};
  for (const Kind kind : Columns::kinds_of(form))
    shape.values.emplace_back(Array{.type = ir::Type::view(kind.dtype(), 1)});
  shape.element = share(form);
  shape.keys = list.keys;
  shape.type_of = list.type_of;
  shape.store = list.store;
  return shape;
}

}  // namespace

NodeId leading(Tracer& t, NodeId view, NodeId count) {
  return t.builder->make(Op::slice, {view, t.builder->index(0), count, t.builder->index(1)});
}

HeapObject as_list_buffer(Tracer& t, const HeapObject& list, const Value& form) {
  if (list.element != nullptr && same(*list.element, form)) return list;
  HeapObject made = list_buffer_shape(form, list);
  const std::vector<Kind> kinds = Columns::kinds_of(form);
  if (list.element == nullptr) {
    const size_t size = list.values.size();
    made.values[0].as<Scalar>()->node = t.builder->index(static_cast<int64_t>(size));
    const NodeId room = t.builder->index(std::max(static_cast<int64_t>(size), kFewest));
    for (size_t i = 0; i < kinds.size(); ++i)
      made.values[1 + i].as<Array>()->node = new_memory(t, {&room, 1}, kinds[i].dtype()).node;
    for (size_t k = 0; k < size; ++k)
      store_element(t, made, t.builder->index(static_cast<int64_t>(k)), list.values[k]);
    return made;
  }
  made.values[0] = list.values[0];
  std::vector<NodeId> before;
  for (size_t i = 1; i < list.values.size(); ++i) before.push_back(list.values[i].as<Array>()->node);
  const std::vector<NodeId> columns = Columns(t).converted(*list.element, form, before, length_of(list));
  for (size_t i = 0; i < columns.size(); ++i) made.values[1 + i].as<Array>()->node = columns[i];
  return made;
}

/// Looks the list up again after allocating: a check may have replaced the state.
void become_list_buffer(Tracer& t, uint32_t list, const Value& form) {
  will_change(t, list, {});
  HeapObject made = as_list_buffer(t, HeapObject(t.state.heap.at(list)), form);
  t.state.heap.at(list) = std::move(made);
}

void store_element(Tracer& t, const HeapObject& list, NodeId position, const Value& element) {
  size_t column = 1;
  for (const NodeId number : Columns(t).numbers_of(*list.element, element))
    t.builder->make(Op::store, {list.values[column++].as<Array>()->node, position, number});
}

Value load_element(Tracer& t, const HeapObject& list, NodeId position) {
  std::vector<NodeId> numbers;
  for (size_t i = 1; i < list.values.size(); ++i)
    numbers.push_back(t.builder->make(Op::load, {list.values[i].as<Array>()->node, position}));
  return Columns(t).element_of(*list.element, numbers);
}

const HeapObject* growing(const Tracer& t, const Value& value) {
  const List* list = value.as<List>();
  if (list == nullptr) return nullptr;
  const HeapObject& object = t.state.heap.at(list->object);
  return object.element != nullptr && object.conflict.empty() ? &object : nullptr;
}

bool may_grow(Tracer& t, List list) {
  const std::optional<Value> form = form_of_list(t, t.state.heap.at(list.object));
  return form && !form->is<Unbound>();
}

NodeId length_of(const HeapObject& list) { return list.values[0].as<Scalar>()->node; }

std::vector<NodeId> list_buffer_lengths(const Tracer& t, const Value& iterable) {
  std::vector<NodeId> lengths;
  if (const HeapObject* list = growing(t, iterable)) lengths.push_back(length_of(*list));
  if (const Zip* z = iterable.as<Zip>()) {
    for (const Value& member : *z->members) {
      const std::vector<NodeId> more = list_buffer_lengths(t, member);
      lengths.insert(lengths.end(), more.begin(), more.end());
    }
  }
  return lengths;
}

void check_lengths(Tracer& t, const Value& iterable, std::span<const NodeId> before, nb::handle node) {
  const std::vector<NodeId> after = list_buffer_lengths(t, iterable);
  if (std::ranges::equal(before, after)) return;
  const Zip* z = iterable.as<Zip>();
  const std::vector<Value> iterated = z != nullptr ? *z->members : std::vector<Value>{iterable};
  const bool are_of_dicts = std::ranges::all_of(
      iterated, [&](const Value& list) { return growing(t, list) == nullptr || is_of_mapping(t, list); });
  if (!are_of_dicts || before.size() != after.size()) {
    const std::string fact = key_of(t, node) + "#changes";
    if (z == nullptr && class_of(node) == "For" && !t.facts.unrolled.contains(fact))
      throw NeedsFact::at(fact, location_of(t, node));
    unsupported(t, node, "a list that grows or shrinks while it is iterated over",
                "iterate over a copy of it, or count its places");
  }
  for (size_t i = 0; i < before.size(); ++i) {
    check(t, t.builder->make(Op::equal, {before[i], after[i]}), ExceptionKind::RuntimeError,
          "dictionary changed size during iteration");
  }
}

Value widen(Tracer& t, List list, const Value& given, nb::handle node) {
  const Value element = PooledValues(t).held(given, node);
  const HeapObject& object = t.state.heap.at(list.object);
  const std::optional<Value> own = form_of(t, element);
  const std::optional<Value> form = own ? joined_form(t, *object.element, *own) : std::nullopt;
  if (!form) {
    unsupported(t, node, "a " + type_name(t, element) + " in a list whose length is not known when compiling",
                "put numbers of one kind there, tuples of them, or instances of one class");
  }
  if (object.argument >= 0) {
    CallersLists(t).need_element(object, *form, element, node);
    return element;
  }
  become_list_buffer(t, list.object, *form);
  return element;
}

void grow(Tracer& t, List list, const Value& given, nb::handle node) {
  const Value element = widen(t, list, given, node);
  HeapObject object = t.state.heap.at(list.object);
  CallersLists(t).need_writes(object, node);
  const NodeId length = length_of(object);
  const std::span columns(object.values.begin() + 1, object.values.end());
  if (!columns.empty()) {
    const NodeId room = t.builder->length(columns[0].as<Array>()->node, 0);
    const Tuple as_they_are{std::vector<Value>(columns.begin(), columns.end())};
    const auto moved = [&] {
      const NodeId twice =
          t.builder->make(Op::maximum, {t.builder->make(Op::add, {room, room}), t.builder->index(kFewest)});
      Tuple larger = as_they_are;
      for (Value& value : larger.members) {
        Array& old = *value.as<Array>();
        const NodeId view = new_memory(t, {&twice, 1}, old.type.dtype()).node;
        t.builder->make(
            Op::write, {leading(t, view, length), t.builder->make(Op::read, {leading(t, old.node, length)})});
        old.node = view;
      }
      CallersLists(t).set_columns(object, larger.members);
      return Value(larger);
    };
    const Value chosen =
        fork(t, t.builder->make(Op::equal, {room, length}), moved, [&] { return Value(as_they_are); });
    std::ranges::copy(chosen.as<Tuple>()->members, columns.begin());
  }
  store_element(t, object, length, element);
  object.values[0] = Scalar{Kind::py_int(), t.builder->make(Op::add, {length, t.builder->index(1)})};
  CallersLists(t).set_length(object);
  t.state.heap.at(list.object) = std::move(object);
}

Value list_buffer_item(Tracer& t, List list, const Value& index, nb::handle node) {
  const HeapObject object = t.state.heap.at(list.object);
  if (const Slice* slice = index.as<Slice>()) {
    const auto [start, count, step] = slice_of(t, *slice, length_of(object));
    const auto number = [](NodeId n) { return Value(Scalar{Kind::py_int(), n}); };
    return by_library(t, "sliced", {list, number(start), number(count), number(step)}, node);
  }
  return load_element(
      t, object, staged_index_of(t, checked_index(t, index), length_of(object), "list index out of range"));
}

void set_list_buffer_item(Tracer& t, List list, const Value& index, const Value& value, nb::handle node) {
  if (const Slice* slice = index.as<Slice>()) {
    const auto [start, count, step] = slice_of(t, *slice, length_of(t.state.heap.at(list.object)));
    if (!t.builder->function().is_constant(step, 1)) {
      unsupported(t, node,
                  "assigning to a slice with a step, of a list whose length is not known when compiling",
                  "assign element by element");
    }
    const auto number = [](NodeId n) { return Value(Scalar{Kind::py_int(), n}); };
    by_library(t, "put_slice", {list, number(start), number(count), value}, node);
    return;
  }
  const NodeId position = staged_index_of(t, checked_index(t, index), length_of(t.state.heap.at(list.object)),
                                          "list assignment index out of range");
  const Value element = widen(t, list, value, node);
  CallersLists(t).need_writes(t.state.heap.at(list.object), node);
  store_element(t, t.state.heap.at(list.object), position, element);
}

Value checked_index(Tracer& t, const Value& index) {
  const std::optional<Kind> kind = kind_of(index);
  if (!kind || index.is<Array>() || !(base::is_int(kind->dtype()) || *kind == Kind::py_bool())) {
    need_one_kind(t, ExceptionKind::TypeError, {index});
    raise(t, ExceptionKind::TypeError, "list indices must be integers or slices, not " + type_name(t, index));
  }
  need_index_sized(t, index);
  return index;
}

Value by_library(Tracer& t, const char* name, std::vector<Value> arguments, nb::handle node,
                 std::vector<std::pair<std::string, Value>> keywords) {
  Call call{.positional = std::move(arguments), .keywords = std::move(keywords), .name = name, .node = node};
  return inline_function(t, imported("ingot.library.lists").attr(name), call);
}

Value list_buffer_method(Tracer& t, List list, const std::string& name, Call& call) {
  const nb::handle node = call.node;
  need_own(t, t.state.heap.at(list.object), node);
  const auto set_length = [&](NodeId length) {
    HeapObject& object = t.state.heap.at(list.object);
    CallersLists(t).need_writes(object, node);
    object.values[0] = Scalar{Kind::py_int(), length};
    CallersLists(t).set_length(object);
    return Value(Static{nb::none()});
  };
  if (name == "clear") return set_length(t.builder->index(0));
  if (name == "pop" && call.positional.empty()) {
    const NodeId length = length_of(t.state.heap.at(list.object));
    check(t, t.builder->make(Op::greater, {length, t.builder->index(0)}), ExceptionKind::IndexError,
          "pop from empty list");
    const NodeId last = t.builder->make(Op::subtract, {length, t.builder->index(1)});
    const Value value = load_element(t, t.state.heap.at(list.object), last);
    set_length(last);
    return value;
  }
  static const std::set<std::string> kInPython = {"pop",   "insert",  "extend", "remove", "index",
                                                  "count", "reverse", "sort",   "copy"};
  if (!kInPython.contains(name)) {
    unsupported(t, node, "the method `" + name + "` of a list whose length is not known when compiling",
                "use indexing and loops");
  }
  std::vector<Value> arguments{list};
  arguments.insert(arguments.end(), call.positional.begin(), call.positional.end());
  return by_library(t, name.c_str(), std::move(arguments), node, call.keywords);
}

std::vector<Value> sorted_by_library(Tracer& t, const std::vector<Value>& values, Call& call) {
  const List list = new_list(t, values);
  const std::optional<Value> form = form_of_list(t, t.state.heap.at(list.object));
  const bool are_alike = form && std::ranges::all_of(values, [&](const Value& value) {
                           return same(*form_of(t, value), *form);
                         });
  if (!are_alike) {
    unsupported(t, call.node, "sorting what is not known when compiling, but for numbers of one kind",
                "sort numbers of one kind, or tuples of them");
  }
  become_list_buffer(t, list.object, *form);
  by_library(t, "sort", {list}, call.node, call.keywords);
  std::vector<Value> sorted;
  sorted.reserve(values.size());
  for (size_t i = 0; i < values.size(); ++i)
    sorted.push_back(
        load_element(t, t.state.heap.at(list.object), t.builder->index(static_cast<int64_t>(i))));
  return sorted;
}

bool has_open_length(const Tracer& t, const Value& iterable) {
  if (const std::optional<Value> iterated = iterated_of(t, iterable)) return has_open_length(t, *iterated);
  return kind_of_value(iterable).has_open_length(t, iterable);
}

Value listed(Tracer& t, const Value& iterable, nb::handle node) {
  if (has_open_length(t, iterable)) return by_library(t, "listed", {iterable}, node);
  const Checkpoint before = checkpoint(t);
  try {
    return new_list(t, elements_of(t, iterable, node));
  } catch (const base::Unsupported&) {
    if (!iterable.is<Generator>() && !iterable.is<Iterator>() && !is_instance(iterable) &&
        row_of(iterable) == nullptr)
      throw;
    go_back(t, before);
    const Value list = by_library(t, "listed", {iterable}, node);
    const List* known = list.as<List>();  // else it is in a pool
    if (known != nullptr && !t.state.heap.at(known->object).conflict.empty()) throw;
    return list;
  }
}

bool is_range_to_demand(const Tracer& t, const Value& iterable) {
  const Range* r = iterable.as<Range>();
  return r != nullptr && std::ranges::all_of(*r->bounds, [&](const Value& bound) {
           const Scalar* number = bound.as<Scalar>();
           return number == nullptr || source_of(t, number->node, t.here).has_value();
         });
}

NodeId array_of_list_buffer(Tracer& t, const HeapObject& list, nb::handle node, std::optional<DType> wanted) {
  const std::vector<Kind> kinds = Columns::kinds_of(*list.element);
  const NodeId length = length_of(list);
  const bool is_flat = list.element->is<Scalar>();
  const Tuple* row = list.element->as<Tuple>();
  const auto is_number = [](const Value& member) { return member.is<Scalar>(); };
  if (!is_flat && (row == nullptr || row->members.empty() || !std::ranges::all_of(row->members, is_number))) {
    unsupported(t, node, "an array of a list whose elements are no numbers, nor tuples of numbers",
                "fill an array in a loop");
  }
  const DType dtype = wanted.value_or(result_kind(kinds).dtype());
  const auto may_raise = [&](Kind kind) {
    return kind.is_python() && !base::can_cast_safely(kind.dtype(), dtype) && !base::is_float(dtype) &&
           !base::is_bool(dtype);
  };
  if (wanted && std::ranges::any_of(kinds, may_raise)) {
    unsupported(t, node, "an array of this dtype of a list whose length is not known when compiling",
                "write np.array(...).astype(dtype)");
  }
  if ((dtype != DType::Float64 && !wanted) || !is_flat) {
    t.builder->check(t.builder->make(Op::greater, {length, t.builder->index(0)}),
                     ExceptionKind::TypeChangeError, "an empty list makes an array of float64 here");
  }
  const auto numbers_in = [&](size_t i) {
    return t.builder->cast(
        t.builder->make(Op::read, {leading(t, list.values[1 + i].as<Array>()->node, length)}), dtype);
  };
  if (is_flat) return t.builder->make(Op::materialize, {numbers_in(0)});
  const NodeId lengths[] = {length, t.builder->index(static_cast<int64_t>(kinds.size()))};
  const NodeId rows = empty(t, lengths, dtype).node;
  for (size_t i = 0; i < kinds.size(); ++i) {
    const NodeId zero = t.builder->index(0);
    const NodeId one = t.builder->index(1);
    const NodeId part = t.builder->make(
        Op::slice, {rows, zero, length, one, t.builder->index(static_cast<int64_t>(i)), one, one});
    t.builder->make(Op::write, {t.builder->make(Op::squeeze, {part}, {1}), numbers_in(i)});
  }
  return rows;
}

Description describe_list_buffer(Tracer& t, const HeapObject& list, Outward& outward) {
  const size_t first = outward.leaves.size() + 1;  // column
  described::ListBuffer buffer;
  const auto other = [&](const Value& form, size_t column) -> Description::Kinds {
    if (const Pooled* r = form.as<Pooled>()) {
      buffer.refers = true;
      return PooledValues(t).describe(*r, outward).of;
    }
    const Array& a = *form.as<Array>();
    if (!outward.is_result) {
      unsupported(t, {}, "arrays of which the number is not known when compiling, outside of the result",
                  "use np.array of the list");
    }
    if (a.access == Access::Differs)
      unsupported(t, {}, "a result that holds arrays of which some are read-only",
                  "put copies into the list");
    outward.buffers.push_back(first + column);
    return described::Array{.dtype = a.type.dtype(),
                            .ndim = a.type.rank(),
                            .is_writable = a.access == Access::Writable,
                            .owns = a.owns};
  };
  std::vector<Description> parts{Columns::described(*list.element, other)};
  outward.leaves.push_back(length_of(list));
  for (size_t i = 1; i < list.values.size(); ++i) {
    const Array& of_column = *list.values[i].as<Array>();
    outward.leaves.push_back(leading(t, of_column.node, length_of(list)));
    parts.push_back({described::Array{.dtype = of_column.type.dtype(), .ndim = 1}});
  }
  return {buffer, std::move(parts)};
}

}  // namespace ingot::frontend
