// Containers of the caller's that have classes of the library's: deques, sets, dicts of other classes. A call
// describes what is in one, of which the function makes an instance of the class of the library: a copy,
// which it reads and changes as one of its own. What has changed of it is stored where the function ends,
// also by an exception, and before calls of the host: its method `__ingot_store__` gives what
// `ingot._host.callbacks` puts into the caller's container. Methods that change it
// call `primitives.changes` before.

#include "frontend/arrays/operators.h"
#include "frontend/arrays/scalars.h"
#include "frontend/kinds/objects.h"
#include "frontend/kinds/parameters.h"
#include "frontend/kinds/sets.h"
#include "frontend/kinds/special_methods.h"
#include "frontend/tracer/evaluate.h"
#include "frontend/tracer/python_objects.h"
#include "frontend/tracer/scopes.h"

namespace ingot::frontend {

using ir::Op;

namespace {

constexpr const char* kChanged = "changed";

size_t index_of(const HeapObject& instance, const char* name) {
  const auto at =
      std::ranges::find_if(instance.keys, [&](const nb::object& k) { return text_of(k) == name; });
  return static_cast<size_t>(at - instance.keys.begin());
}

/// The object that a description of constants is of.
nb::object known_object(const Description& it) {
  if (const auto* known = it.as<described::Static>()) return known->object;
  nb::list parts;
  for (const Description& part : it.parts) parts.append(known_object(part));
  return nb::tuple(parts);
}

bool is_set(const HeapObject& copy) { return copy.type == HeapObject::Type::Cell; }

/// Where a container's copy is made and stored, as code of the library has it: each has its own facts.
nb::object location_for(const nb::object& function, int64_t number) {
  const nb::object place = imported("ast").attr("Constant")(nb::none());
  for (const char* line : {"lineno", "end_lineno"}) place.attr(line) = function.attr("lineno");
  for (const char* column : {"col_offset", "end_col_offset"}) place.attr(column) = nb::int_(100'000 + number);
  return place;
}

}  // namespace

std::optional<int64_t> Parameters::number_of_copy(uint32_t object) const {
  const auto found = t_.state.heap.find(object);
  if (found == t_.state.heap.end() || found->second.argument >= -1) return std::nullopt;
  return copy_of(0) - found->second.argument;
}

std::vector<uint32_t> Parameters::copies() const {
  std::vector<uint32_t> all;
  for (const auto& [id, object] : t_.state.heap)
    if (object.argument < -1) all.push_back(id);
  return all;
}

bool Parameters::make_copies() {
  const std::vector<uint32_t> all = copies();
  if (all.empty()) return false;
  const Here here(t_, t_.frame->node);
  for (const uint32_t id : all) {
    const HeapObject described = t_.state.heap.at(id);
    t_.pinned.push_back(id);
    if (is_set(described)) continue;
    HeapObject copy{.type = HeapObject::Type::Object, .values = {}, .keys = {}};
    copy.type_of = described.type_of;
    copy.argument = described.argument;
    if (t_.request.attributes.contains(copy.type_of))
      for (const nb::handle name : t_.request.attributes[copy.type_of])
        copy.keys.push_back(nb::borrow<nb::object>(name));
    copy.values.resize(copy.keys.size());
    if (!t_.facts.pools.by_class.contains(copy.type_of.ptr()))
      t_.facts.pools.makings.classes.emplace(id, copy.type_of);
    t_.state.heap.at(id) = std::move(copy);
    Call call{.positional = described.values, .name = kTakes, .node = {}};
    call.positional.insert(call.positional.begin(), Value(Object{id}));
    const nb::object place = location_for(t_.frame->node, *number_of_copy(id));
    call.node = place;
    inline_function(t_, lookup(described.type_of, kTakes), call);
  }
  return true;
}

Value Parameters::with_copies(Frame& frame, const std::function<Value()>& body) {
  if (!t_.facts.writes.any) return body();
  Catcher leaving(t_, &frame);
  leaving.stores = true;
  Value value;
  {
    const Pushed<Catcher*> open(t_.handlers, &leaving);
    value = body();
  }
  const Pins pins(t_, {value});
  store_copies();
  return value;
}

bool Parameters::has_changes() const {
  return std::ranges::any_of(copies(), [&](uint32_t id) {
    const HeapObject& copy = t_.state.heap.at(id);
    if (is_set(copy)) return !same(copy.values[0], copy.values[1]);
    const size_t index = index_of(copy, kChanged);
    const Static* known = copy.values[index].as<Static>();
    return known == nullptr || known->object.ptr() != Py_False;
  });
}

void Parameters::store_copies() {
  if (!has_changes()) return;
  const Here here(t_, t_.frame->node);
  for (const uint32_t id : copies()) store_copy(id, location_for(t_.frame->node, *number_of_copy(id)));
}

void Parameters::store_copy(uint32_t object_number, const nb::object& node) {
  const Object copy{object_number};
  const HeapObject object = t_.state.heap.at(copy.object);
  if (is_set(object)) return store_set(copy.object, node);
  INGOT_ASSERT(object.conflict.empty(), "frontend: a copy has the same attributes on all paths");
  const size_t index = index_of(object, kChanged);
  const auto store = [&] {
    const std::optional<Value> parts = call_special(t_, copy, "__ingot_store__", {}, node);
    try {
      call_store(imported("ingot._host.callbacks").attr("store"), *number_of_copy(copy.object),
                 elements_of(t_, *parts, node));
    } catch (const base::Unsupported&) {
      unsupported(t_, {},
                  "a " + type_name(t_, copy) + " of the caller that gets lists, dicts or instances made here",
                  "make a new one in the function, and return it");
    }
    t_.state.heap.at(copy.object).values[index] = Static{nb::bool_(false)};
    return Value(Static{nb::none()});
  };
  const Value changed = object.values.at(index);
  if (const std::optional<bool> known = static_truth(t_, changed)) {
    if (*known) store();
    return;
  }
  fork(t_, truth(t_, changed, node), store, [] { return Value(Static{nb::none()}); });
}

void Parameters::call_store(const nb::object& function, int64_t number, const std::vector<Value>& parts) {
  Outward outward;
  nb::list given;
  given.append(Description{described::Argument{number}});
  for (const Value& part : parts) given.append(describe_result(t_, part, outward));
  t_.hosts.push_back({function, nb::make_tuple(nb::tuple(given), nb::dict())});
  const int64_t attributes[] = {static_cast<int64_t>(t_.hosts.size() - 1), t_.module.text("store").index};
  t_.builder->make(Op::host, outward.leaves, attributes);
}

/// A set whose elements are all known: what the function did with it is done with the caller's.
void Parameters::store_set(uint32_t cell, nb::handle node) {
  const HeapObject& copy = t_.state.heap.at(cell);
  if (same(copy.values[0], copy.values[1])) return;
  const nb::module_ histories = imported("ingot._objects.sets");
  const nb::object steps = histories.attr("steps")(history_of(t_, Set{cell}, node));
  call_store(histories.attr("replay"), *number_of_copy(cell), {Static{steps}});
  HeapObject& stored = t_.state.heap.at(cell);
  stored.values[0] = stored.values[1] = Static{histories.attr("stored")(history_of(t_, Set{cell}, node))};
}

Value Parameters::known_set(const Description& given) {
  const nb::object type = given.get<described::Instance>().type;
  const nb::object history = attribute(type, kHistory)(known_object(given.parts[0]));
  const nb::object own = imported("ingot._objects.sets").attr("build")(history);
  const uint32_t id = t_.facts.next_object++;
  HeapObject cell{.type = HeapObject::Type::Cell, .values = {}, .keys = {}};
  cell.values = {Static{history}, Static{history}};
  cell.type_of = nb::borrow<nb::object>(own.type());
  cell.argument = copy_of(t_.containers.size());
  t_.containers.push_back({.object = id});
  t_.state.heap.emplace(id, std::move(cell));
  return Set{id, PyFrozenSet_Check(own.ptr()) != 0};
}

void Parameters::will_change(const Set& set) const {
  if (number_of_copy(set.cell) && !t_.facts.writes.any) throw NeedsFact{.kind = NeedsFact::Kind::Cells};
}

Value primitive_changes(Tracer& t, Call& call) {
  const Object* copy = call.positional.at(0).as<Object>();
  if (copy == nullptr || !Parameters(t).number_of_copy(copy->object)) return Static{nb::none()};
  if (!t.facts.writes.any) throw NeedsFact{.kind = NeedsFact::Kind::Cells};
  HeapObject& object = t.state.heap.at(copy->object);
  const size_t index = index_of_attribute(t, object, kChanged, {});
  object.values[index] = Static{nb::bool_(true)};
  return Static{nb::none()};
}

}  // namespace ingot::frontend
