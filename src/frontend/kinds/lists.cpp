// Lists. A change of the structure of a list of known length is applied to a list of the host that holds the
// numbers of the elements, which shows its effect and what it raises.

#include "frontend/kinds/lists.h"

#include "base/message.h"
#include "frontend/arrays/arrays.h"
#include "frontend/arrays/known_sizes.h"
#include "frontend/arrays/operators.h"
#include "frontend/arrays/scalars.h"
#include "frontend/calls/python_builtins.h"
#include "frontend/joins/objects.h"
#include "frontend/kinds/callers_lists.h"
#include "frontend/kinds/containers.h"
#include "frontend/kinds/generators.h"
#include "frontend/kinds/list_buffers.h"
#include "frontend/kinds/rows.h"
#include "frontend/kinds/sequences.h"
#include "frontend/kinds/structure.h"
#include "frontend/tracer/evaluate.h"
#include "frontend/tracer/python_objects.h"
#include "frontend/tracer/scopes.h"

namespace ingot::frontend {

using base::ExceptionKind;
using ir::Op;

List new_list(Tracer& t, std::vector<Value> values) {
  const List list{
      new_container(t, {.type = HeapObject::Type::List, .values = std::move(values), .keys = {}})};
  Rows(t).made_at(list.object, t.here);
  return list;
}

Value static_value(Tracer& t, const nb::object& object) {
  if (!PyList_CheckExact(object.ptr()) && !PyTuple_CheckExact(object.ptr())) return Static{object};
  std::vector<Value> members;
  for (const nb::handle member : object) members.push_back(static_value(t, nb::borrow<nb::object>(member)));
  if (PyList_CheckExact(object.ptr())) return new_list(t, std::move(members));
  return Tuple{std::move(members)};
}

void append(Tracer& t, List list, Value element, nb::handle node) {
  if (growing(t, list) != nullptr) {
    need_own(t, t.state.heap.at(list.object), node);
    return grow(t, list, element, node);
  }
  HeapObject& object = t.state.heap.at(list.object);
  if (object.argument < 0) contents(t, list.object, node);
  need_own(t, object, node);
  will_change(t, list.object, node);
  CallersLists(t).add_first(object, {&element, 1}, node);
  element = stored_in(t, list.object, std::move(element), node);
  write_back(t, list.object, std::nullopt, nb::none(), element, node);
  // If the structure is not known, only the caller's own list holds the element.
  if (object.conflict.empty()) object.values.push_back(std::move(element));
}

Value change_list(Tracer& t, List list, const char* method, std::vector<Value> arguments,
                  std::vector<Value> added, nb::handle node) {
  const std::vector<Value> before = contents(t, list.object, node).values;
  need_own(t, t.state.heap.at(list.object), node);
  will_change(t, list.object, node);
  CallersLists(t).add_first(t.state.heap.at(list.object), added, node);
  if (before.size() + added.size() > kMostElements)
    unsupported(t, node, "a list of more than 20 000 elements", "use an array");
  for (Value& value : added) value = stored_in(t, list.object, std::move(value), node);
  const nb::object order = counted(0, before.size());
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
    if (several) given.append(counted(before.size(), added.size()));
    else given.append(before.size());
  }
  const nb::object popped = host_change(t, order, method, nb::tuple(given));
  if (!added.empty() && !several) arguments.push_back(added[0]);
  else if (several && nb::len(given) > arguments.size()) arguments.emplace_back(Tuple{added});
  replay(t, list.object, method, arguments, node);
  const auto element = [&](nb::handle number) {
    const auto i = nb::cast<size_t>(number);
    return i < before.size() ? before[i] : added[i - before.size()];
  };
  std::vector<Value> after;
  for (const nb::handle number : order) after.push_back(element(number));
  t.state.heap.at(list.object).values = std::move(after);
  return popped.is_none() ? Value(Static{nb::none()}) : open(t, element(popped), "the element", node);
}

Value list_method(Tracer& t, List list, const std::string& name, Call& call) {
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
  const std::vector<Value> values = contents(t, list.object, node).values;
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

namespace {

void set_list_item(Tracer& t, List list, const Value& index, Value value, nb::handle node);

void set_staged_item(Tracer& t, List list, const Value& index, const Value& value, nb::handle node) {
  const size_t size = contents(t, list.object, node).values.size();
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
      set_list_item(t, list, Static{nb::int_(i)}, value, node);
      return Value(Static{nb::none()});
    };
    fork(t, here, store, [] { return Value(Static{nb::none()}); });
  }
}

void set_list_item(Tracer& t, List list, const Value& index, Value value, nb::handle node) {
  if (growing(t, list) != nullptr) return set_list_buffer_item(t, list, index, value, node);
  const size_t size = contents(t, list.object, node).values.size();
  if (index.is<Slice>()) {
    change_list(t, list, "__setitem__", {index}, elements_of(t, value, node), node);
    return;
  }
  if (is_staged_index(t, index, node)) return set_staged_item(t, list, index, value, node);
  const size_t position = known_index(t, size, index, "list", "list assignment index out of range", node);
  value = stored_in(t, list.object, std::move(value), node);
  if (is_held(t, list.object, position, value)) return;
  will_change(t, list.object, node);
  write_back(t, list.object, position, Static{nb::int_(position)}.object, value, node);
  HeapObject& object = t.state.heap.at(list.object);
  need_own(t, object, node);
  object.values[position] = std::move(value);
}

class ListKind final : public KindOfContainers<List> {
 public:
  Answer form(Tracer& t, const Value& value) const override {
    const std::vector<std::string> sites = Rows(t).sites_of(value);
    if (!sites.empty()) Rows(t).ask_for(sites, {});
    return std::nullopt;
  }
  std::optional<Description> describe(Tracer& t, const Value& value, Outward& outward) const override;

  std::string type_name(const Tracer&, const Value&) const override { return "list"; }
  nb::object stand_in(const Tracer& t, const Value& value) const override {
    const HeapObject& list = held(t, value);
    return list.element != nullptr ? stand_ins(t, {list.element.get(), 1}) : stand_ins(t, list.values);
  }

  Answer item(Tracer& t, const Value& value, const Value& index, nb::handle node) const override;
  bool set_item(Tracer& t, const Value& value, const Value& index, const Value& item,
                nb::handle node) const override {
    set_list_item(t, list_of(value), index, item, node);
    return true;
  }
  bool delete_item(Tracer& t, const Value& value, const Value& index, nb::handle node) const override;
  Answer method(Tracer& t, const Value& value, const std::string& name, Call& call) const override {
    raise_as_method(t, value, name, call);
    return list_method(t, list_of(value), name, call);
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
    return !contents(t, list_of(value).object, t.here).values.empty();
  }
  std::optional<NodeId> truth(Tracer& t, const Value& value, nb::handle) const override {
    const HeapObject* list = growing(t, value);
    if (list == nullptr) return std::nullopt;
    return t.builder->make(Op::not_equal, {length_of(*list), t.builder->index(0)});
  }
  std::optional<Elements> elements(Tracer& t, const Value& value, nb::handle node) const override {
    if (growing(t, value) != nullptr) return std::nullopt;
    return contents(t, list_of(value).object, node).values;
  }

  std::optional<Trips> trips(Tracer& t, const Value& value, nb::handle) const override {
    const HeapObject* list = growing(t, value);
    if (list == nullptr) return std::nullopt;
    return Trips{length_of(*list), [&t, object = list_of(value).object](NodeId k) {
                   return load_element(t, t.state.heap.at(object), k);
                 }};
  }
  Indexed indexed(Tracer& t, const Value& value, nb::handle node) const override;
  Answer rest(Tracer& t, const Value& value, const Value&, Known known, nb::handle node) const override {
    if (!known) return std::nullopt;
    contents(t, list_of(value).object, node);
    return View{.object = list_of(value).object, .name = "list", .skip = static_cast<size_t>(*known)};
  }
  Answer reversed(Tracer& t, const Value& value, nb::handle node) const override {
    if (growing(t, value) != nullptr)
      return iterator(t, "list_reverseiterator", by_library(t, "turned", {value}, node));
    const uint32_t list = list_of(value).object;
    return iterator(t, "list_reverseiterator", View{list, "list", contents(t, list, node).values.size()});
  }
  bool has_open_length(const Tracer& t, const Value& value) const override {
    return growing(t, value) != nullptr;
  }

  Answer compare(Tracer& t, Operator op, const Value& a, const Value& b, nb::handle node) const override;
  Answer contains(Tracer& t, const Value& value, const Value& wanted, nb::handle node) const override {
    if (growing(t, value) != nullptr) return by_library(t, "contains", {value, wanted}, node);
    if (wanted.is<Array>()) return std::nullopt;
    return is_among(t, contents(t, list_of(value).object, node).values, wanted, node);
  }

 private:
  static List list_of(const Value& value) { return *value.as<List>(); }
};

std::optional<Description> ListKind::describe(Tracer& t, const Value& value, Outward& outward) const {
  const uint32_t number = list_of(value).object;
  const HeapObject list = held(t, value);
  if (list.argument >= 0) return Description{described::Argument{list.argument}};
  if (growing(t, value) == nullptr) contents(t, number, {});
  need_own(t, list, {});
  if (std::optional<Description> again = outward.again(number)) return again;
  if (list.element != nullptr) return describe_list_buffer(t, list, outward);
  return described_joined(t, number, outward, [&] {
    return Description{described::List{}, descriptions_of(t, list.values, outward)};
  });
}

Indexed ListKind::indexed(Tracer& t, const Value& value, nb::handle node) const {
  if (growing(t, value) == nullptr) return ValueKind::indexed(t, value, node);
  const uint32_t list = list_of(value).object;
  return {[&t, list](const Value& index) {
            const NodeId length = length_of(t.state.heap.at(list));
            return as_bool(t, t.builder->make(Op::less, {stage_index(t, index), length}));
          },
          [&t, list](const Value& index) {
            const NodeId at = stage_index(t, index);
            return load_element(t, t.state.heap.at(list), at);
          }};
}

std::optional<Value> ListKind::item(Tracer& t, const Value& value, const Value& index,
                                    nb::handle node) const {
  if (growing(t, value) != nullptr) return list_buffer_item(t, list_of(value), index, node);
  const HeapObject list = contents(t, list_of(value).object, node);  // a copy: checks replace the state
  if (const Slice* slice = index.as<Slice>()) return new_list(t, part_of(t, list.values, *slice, node));
  return open(t, member_of(t, list.values, index, "list", node), "the element", node);
}

bool ListKind::delete_item(Tracer& t, const Value& value, const Value& index, nb::handle node) const {
  if (growing(t, value) == nullptr) change_list(t, list_of(value), "__delitem__", {index}, {}, node);
  else if (index.is<Slice>()) set_list_buffer_item(t, list_of(value), index, Tuple{}, node);
  else by_library(t, "drop", {value, checked_index(t, index)}, node);
  return true;
}

std::optional<Value> ListKind::in_place(Tracer& t, Operator op, const Value& value, const Value& right,
                                        nb::handle node) const {
  if (op != Operator::Mult && is_numpys(right)) return frontend::binary(t, op, value, right, node);
  if (op == Operator::Add) {
    Call call{.positional = {right}, .keywords = {}, .name = "extend", .node = node};
    list_method(t, list_of(value), "extend", call);
    return Unbound{};
  }
  if (op == Operator::Mult)
    if (std::optional<Value> repeated = repeat_in_place(t, value, right, node)) return repeated;
  return by_other_in_place(t, op, value, right, node);
}

std::optional<Value> ListKind::compare(Tracer& t, Operator op, const Value& a, const Value& b,
                                       nb::handle node) const {
  if (!a.is<List>() || !b.is<List>()) return std::nullopt;
  if (growing(t, a) == nullptr && growing(t, b) == nullptr) {
    const std::vector<Value> left = contents(t, list_of(a).object, node).values;
    return compare_sequences(t, op, left, contents(t, list_of(b).object, node).values, node);
  }
  if (!is_equality(op)) {
    unsupported(t, node, "the order of lists whose lengths are not known when compiling",
                "compare in a loop");
  }
  if (same(a, b)) return Static{nb::bool_(!is_negated(op))};
  return answer(t, op, by_library(t, "equal", {a, b}, node), node);
}

}  // namespace

INGOT_VALUE_KIND(List, ListKind)

}  // namespace ingot::frontend
