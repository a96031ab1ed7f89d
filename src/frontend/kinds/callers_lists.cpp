#include "frontend/kinds/callers_lists.h"

#include "frontend/arrays/arrays.h"
#include "frontend/arrays/scalars.h"
#include "frontend/kinds/columns.h"
#include "frontend/kinds/containers.h"
#include "frontend/kinds/list_buffers.h"
#include "frontend/kinds/parameters.h"
#include "frontend/kinds/strings.h"
#include "frontend/tracer/evaluate.h"
#include "frontend/tracer/python_objects.h"

namespace ingot::frontend {

using ir::Op;

namespace {

/// The form of an element that arguments are described with.
Value form_of_described(const Description& element) {
  if (const auto* number = element.as<described::Scalar>()) return Scalar{number->number, {}};
  Tuple form;
  for (const Description& part : element.parts) form.members.push_back(form_of_described(part));
  const nb::object type = element.get<described::Tuple>().type;
  if (!type.is_none()) form.type = type;
  return form;
}

/// Whether numbers alone make up an element.
bool is_of_numbers(const Description& element) {
  if (element.is<described::Scalar>()) return true;
  return element.is<described::Tuple>() && std::ranges::all_of(element.parts, &is_of_numbers);
}

bool are_alike(const Description& a, const Description& b) {
  if (const auto* number = a.as<described::Scalar>())
    return b.is<described::Scalar>() && b.get<described::Scalar>().number == number->number;
  return b.is<described::Tuple>() && a.get<described::Tuple>().type.is(b.get<described::Tuple>().type) &&
         std::ranges::equal(a.parts, b.parts, &are_alike);
}

/// A form in which no number is of another kind on another path.
Value unmixed(const Value& form) {
  if (const Scalar* number = form.as<Scalar>()) return Scalar{number->kind, {}};
  std::vector<Value> parts = parts_of(form);
  for (Value& part : parts) part = unmixed(part);
  return with_parts(form, std::move(parts));
}

/// Whether dicts of unknown keys have keys of a form.
bool may_be_key(const Value& form) {
  if (form.is<Scalar>() || form.is<Characters>()) return true;
  return form.is<Tuple>() && std::ranges::all_of(form.as<Tuple>()->members, &may_be_key);
}

/// Whether elements of a form are made of numbers and known values.
bool is_plain(const Value& form) {
  if (form.is<Array>() || form.is<Pooled>() || form.is<Unbound>()) return false;
  return std::ranges::all_of(parts_of(form), &is_plain);
}

}  // namespace

bool CallersLists::may_be_list_buffer(const Description& container) {
  if (!container.is<described::List>() && !container.is<described::Dict>()) return false;
  const auto* dict = container.as<described::Dict>();
  if (dict != nullptr && !std::ranges::all_of(dict->keys, [](nb::handle key) {
        int overflow = 0;
        if (PyLong_CheckExact(key.ptr())) PyLong_AsLongLongAndOverflow(key.ptr(), &overflow);
        return PyLong_CheckExact(key.ptr()) && overflow == 0;
      }))
    return false;
  return std::ranges::all_of(container.parts, [&](const Description& element) {
    return is_of_numbers(element) && are_alike(container.parts[0], element);
  });
}

uint32_t CallersLists::add(HeapObject object) {
  const uint32_t id = t_.facts.next_object++;
  t_.state.heap.emplace(id, std::move(object));
  return id;
}

HeapObject CallersLists::given(const Description& given, const std::string& name) {
  HeapObject list{.type = HeapObject::Type::List, .values = {}, .keys = {}};
  list.argument = static_cast<int>(t_.containers.size());
  if (given.parts[0].is<described::Absent>()) return list;
  list.element = share(form_of_described(given.parts[0]));
  list.values.resize(1);
  for (size_t i = 1; i < given.parts.size(); ++i) {
    const Value column = Parameters(t_).array(given.parts[i].get<described::Array>(), name, -1);
    list.values.emplace_back(Array{.type = column.as<Array>()->type, .node = column.as<Array>()->node});
  }
  return list;
}

Value CallersLists::parameter(const Description& given, const std::string& name, int number) {
  CallersContainer container{.name = name, .argument = number, .is_list_buffer = true};
  container.leaf = static_cast<int>(t_.builder->function().parameters().size());
  if (given.is<described::ListBuffer>()) {
    container.object = add(this->given(given, name));
  } else {
    HeapObject dict{.type = HeapObject::Type::Dict, .values = {}, .keys = {}};
    dict.argument = static_cast<int>(t_.containers.size());
    HeapObject keys = this->given(given.parts[0], name);
    HeapObject values = this->given(given.parts[1], name);
    values.cell = given.parts[0].parts.size();
    dict.is_mapping = keys.element != nullptr;
    if (dict.is_mapping) dict.values = {List{add(std::move(keys))}, List{add(std::move(values))}, {}};
    container.object = add(std::move(dict));
  }
  t_.containers.push_back(container);
  return given.is<described::ListBuffer>() ? Value(List{container.object}) : Value(Dict{container.object});
}

HeapObject CallersLists::empty(int argument, const Value& form, size_t cell) {
  HeapObject list{.type = HeapObject::Type::List, .values = {}, .keys = {}};
  list = as_list_buffer(t_, list, form);
  list.argument = argument;
  list.cell = cell;
  set_columns(list, std::span(list.values).subspan(1));
  return list;
}

void CallersLists::open() {
  for (auto& [id, list] : t_.state.heap) {
    if (list.argument < 0 || list.element == nullptr) continue;
    const NodeId column = list.values[1].as<Array>()->node;
    list.values[0] = Scalar{Kind::py_int(), t_.builder->length(column, 0)};
  }
  for (const CallersContainer& container : t_.containers) {
    const HeapObject before = t_.state.heap.at(container.object);
    if (!is_waiting(before)) continue;
    const auto& forms = t_.facts.writes.elements;
    const auto form = forms.find(container.name);
    if (form != forms.end()) t_.state.heap.at(container.object) = empty(before.argument, form->second, 0);
    const auto keys = forms.find(container.name + " keys");
    if (keys == forms.end()) continue;
    const size_t next = 1 + Columns::kinds_of(keys->second).size();
    const List list_of_keys{add(empty(before.argument, keys->second, 0))};
    const List list_of_values{add(empty(before.argument, forms.at(container.name + " values"), next))};
    HeapObject& dict = t_.state.heap.at(container.object);
    dict.is_mapping = true;
    dict.values = {list_of_keys, list_of_values, {}};
  }
}

void CallersLists::open_dicts(nb::handle node) {
  for (const CallersContainer& container : t_.containers) {
    const HeapObject dict = t_.state.heap.at(container.object);
    if (!dict.is_mapping) continue;
    Call call{.positional = {dict.values[0]}, .keywords = {}, .name = "opened", .node = node};
    const Value table = inline_function(t_, imported("ingot.library.dicts").attr("opened"), call);
    t_.state.heap.at(container.object).values[2] = named(t_, table);
  }
}

nb::tuple CallersLists::layouts() {
  nb::list layouts;
  for (const CallersContainer& each : t_.containers) {
    const HeapObject& object = t_.state.heap.at(each.object);
    const nb::dict& known = t_.request.attributes;
    if (object.element != nullptr || object.is_mapping) layouts.append(layout(object));
    else if (object.argument < -1) layouts.append(nb::tuple());  // a copy
    else if (object.type != HeapObject::Type::Object) layouts.append(nb::none());
    else layouts.append(known.contains(object.type_of) ? known[object.type_of] : nb::tuple());
  }
  return nb::tuple(layouts);
}

Description CallersLists::layout(const HeapObject& list, int leaf) {
  const auto none = [](const Value&, size_t) -> Description::Kinds {
    throw base::InternalError("an element of a list of the caller's that is no number");
  };
  Description made{described::ListBuffer{}, {Columns::described(*list.element, none)}};
  for (size_t i = 1; i < list.values.size(); ++i) {
    const DType dtype = list.values[i].as<Array>()->type.dtype();
    const int64_t own = leaf < 0 ? -1 : leaf + static_cast<int64_t>(i) - 1;
    made.parts.push_back({described::Array{.dtype = dtype, .ndim = 1, .argument = own}});
  }
  return made;
}

nb::object CallersLists::layout(const HeapObject& object) {
  const CallersContainer& own = container(object);
  if (!t_.facts.writes.lists.contains(own.name)) return nb::tuple();
  const bool is_new = t_.facts.writes.elements.contains(own.name + (object.is_mapping ? " keys" : ""));
  const int leaf = is_new ? -1 : own.leaf;
  if (!object.is_mapping) return nb::cast(layout(object, leaf));
  const auto list = [&](size_t i) -> const HeapObject& {
    return t_.state.heap.at(object.values[i].as<List>()->object);
  };
  const auto columns = static_cast<int>(list(0).values.size()) - 1;
  return nb::cast(Description{described::Mapping{},
                              {layout(list(0), leaf), layout(list(1), leaf < 0 ? -1 : leaf + columns)}});
}

void CallersLists::ask_for(const HeapObject& object) const {
  if (object.argument < 0 || object.element != nullptr || object.is_mapping) return;
  const CallersContainer& own = container(object);
  if (own.argument >= 0 && own.may_be_list_buffer)
    throw NeedsFact::of(own.argument, location_of(t_, {}), NeedsFact::Kind::Elements);
}

/// None: an element is not made of numbers alone.
std::optional<Value> CallersLists::form_of_numbers(const Value& element) const {
  if (const Tuple* tuple = element.as<Tuple>()) {
    Tuple form = *tuple;
    for (Value& member : form.members) {
      const std::optional<Value> own = form_of_numbers(member);
      if (!own) return std::nullopt;
      member = *own;
    }
    return form;
  }
  const std::optional<Kind> kind = element.is<Array>() ? std::nullopt : kind_of(element);
  return kind ? std::optional(Value(Scalar{*kind, {}})) : std::nullopt;
}

void CallersLists::ask_at_join(const HeapObject& a, const HeapObject& b) const {
  if (a.argument < 0 || !a.conflict.empty() || !b.conflict.empty()) return;
  std::optional<Value> form;
  for (const HeapObject* object : {&a, &b}) {
    for (const nb::object& key : object->keys)
      if (!PyLong_CheckExact(key.ptr())) return;
    for (const Value& value : object->values) {
      const std::optional<Value> own = form_of_numbers(value);
      if (!own || (form && !same(*form, *own))) return;
      form = own;
    }
  }
  ask_for(a);
}

bool CallersLists::is_waiting(const HeapObject& object) const {
  return object.argument >= 0 && object.element == nullptr && !object.is_mapping &&
         container(object).is_list_buffer;
}

Value CallersLists::form_of_first(const Value& element, nb::handle node) {
  std::optional<Value> form = form_of(t_, element);
  if (form && form->is<Static>() && Strings::may_be_character(*form))
    form = Characters{share(Value(Scalar{Kind::py_int(), {}}))};
  if (!form || !is_plain(*form)) {
    unsupported(t_, node, "a " + type_name(t_, element) + " in a list or dict of the caller's that grows",
                "put numbers of one kind there, or tuples of them; or make a new one, and return it");
  }
  return unmixed(*form);
}

void CallersLists::add_first(const HeapObject& list, std::span<const Value> elements, nb::handle node) {
  if (elements.empty() || !is_waiting(list)) return;
  t_.facts.writes.elements.emplace(container(list).name, form_of_first(elements[0], node));
  t_.facts.writes.lists.insert(container(list).name);
  throw NeedsFact{.kind = NeedsFact::Kind::Cells};
}

void CallersLists::add_first(const HeapObject& dict, const Value& key, const Value& value, nb::handle node) {
  if (!is_waiting(dict)) return;
  const std::string& name = container(dict).name;
  const Value form = form_of_first(key, node);
  if (!may_be_key(form)) return;
  t_.facts.writes.elements.emplace(name + " keys", form);
  t_.facts.writes.elements.emplace(name + " values", form_of_first(value, node));
  t_.facts.writes.lists.insert(name);
  throw NeedsFact{.kind = NeedsFact::Kind::Cells};
}

void CallersLists::need_element(const HeapObject& list, const Value& form, const Value& element,
                                nb::handle node) {
  if (same(unmixed(form), *list.element)) return;
  const std::string others = kind_of_value(*list.element).words(t_, *list.element);
  unsupported(t_, node,
              "a " + type_name(t_, element) + " in a list of the caller's, of which each element is " +
                  (others.empty() ? "of another kind" : others) + ",",
              "convert it, as by float(...); or make a new list, and return it");
}

void CallersLists::need_writes(const HeapObject& list, nb::handle node) {
  if (list.argument < 0) return;
  if (t_.request.on_device) {
    unsupported(t_, node, "changing a list of the caller's in a call on a device",
                "make a new list, and return it");
  }
  const bool is_new = t_.facts.writes.lists.insert(container(list).name).second;
  if (is_new || !t_.facts.writes.any) throw NeedsFact{.kind = NeedsFact::Kind::Cells};
}

void CallersLists::set_cell(const HeapObject& list, size_t number, NodeId value) {
  const NodeId at = t_.builder->index(static_cast<int64_t>(list.cell + number));
  t_.builder->make(Op::store, {cell_of(t_, list.argument, "ints"), at, value});
}

void CallersLists::set_length(const HeapObject& list) {
  if (list.argument >= 0) set_cell(list, 0, length_of(list));
}

void CallersLists::set_columns(const HeapObject& list, std::span<const Value> columns) {
  if (list.argument < 0) return;
  for (size_t i = 0; i < columns.size(); ++i) {
    const NodeId buffer = t_.builder->make(Op::buffer, {columns[i].as<Array>()->node});
    set_cell(list, 1 + i, t_.builder->make(Op::keep, {buffer}));
  }
}

}  // namespace ingot::frontend
