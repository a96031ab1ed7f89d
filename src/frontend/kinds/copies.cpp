#include "frontend/kinds/value_kind.h"
#include "frontend/parameters.h"

// Containers of the caller's that have classes of the library's: deques, sets, dicts of other classes. A call
// describes what is in one, of which the function makes an instance of the class of the library: a copy,
// which it reads and changes as one of its own. What has changed of it is stored where the function ends,
// also by an exception, and before calls of the host: its method `__ingot_store__` gives what
// `ingot._host.callbacks` puts into the caller's container. Methods that change it
// call `primitives.changes` before.

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

std::optional<int64_t> Evaluator::Parameters::number_of_copy(uint32_t object) const {
  const auto found = e_.state_.heap.find(object);
  if (found == e_.state_.heap.end() || found->second.argument >= -1) return std::nullopt;
  return copy_of(0) - found->second.argument;
}

std::vector<uint32_t> Evaluator::Parameters::copies() const {
  std::vector<uint32_t> all;
  for (const auto& [id, object] : e_.state_.heap)
    if (object.argument < -1) all.push_back(id);
  return all;
}

bool Evaluator::Parameters::make_copies() {
  const std::vector<uint32_t> all = copies();
  if (all.empty()) return false;
  const Here here(e_, e_.frame_->node);
  for (const uint32_t id : all) {
    const HeapObject described = e_.state_.heap.at(id);
    e_.pinned_.push_back(id);
    if (is_set(described)) continue;
    HeapObject copy{.type = HeapObject::Type::Object, .values = {}, .keys = {}};
    copy.type_of = described.type_of;
    copy.argument = described.argument;
    if (e_.request_.attributes.contains(copy.type_of))
      for (const nb::handle name : e_.request_.attributes[copy.type_of])
        copy.keys.push_back(nb::borrow<nb::object>(name));
    copy.values.resize(copy.keys.size());
    if (!e_.pools_.by_class.contains(copy.type_of.ptr())) e_.pools_.makings.classes.emplace(id, copy.type_of);
    e_.state_.heap.at(id) = std::move(copy);
    Call call{.positional = described.values, .keywords = {}, .name = kTakes, .node = {}};
    call.positional.insert(call.positional.begin(), Value(Object{id}));
    const nb::object place = location_for(e_.frame_->node, *number_of_copy(id));
    call.node = place;
    e_.inline_function(lookup(described.type_of, kTakes), call);
  }
  return true;
}

Value Evaluator::Parameters::with_copies(Frame& frame, const std::function<Value()>& body) {
  if (!e_.writes_.any) return body();
  Catcher leaving(e_, &frame);
  leaving.stores = true;
  Value value;
  {
    const Pushed<Catcher*> open(e_.handlers_, &leaving);
    value = body();
  }
  const Pins pins(e_, {value});
  store_copies();
  return value;
}

bool Evaluator::Parameters::has_changes() const {
  return std::ranges::any_of(copies(), [&](uint32_t id) {
    const HeapObject& copy = e_.state_.heap.at(id);
    if (is_set(copy)) return !same(copy.values[0], copy.values[1]);
    const size_t index = index_of(copy, kChanged);
    const Static* known = copy.values[index].as<Static>();
    return known == nullptr || known->object.ptr() != Py_False;
  });
}

void Evaluator::Parameters::store_copies() {
  if (!has_changes()) return;
  const Here here(e_, e_.frame_->node);
  for (const uint32_t id : copies()) store_copy(id, location_for(e_.frame_->node, *number_of_copy(id)));
}

void Evaluator::Parameters::store_copy(uint32_t object_number, const nb::object& node) {
  const Object copy{object_number};
  const HeapObject object = e_.state_.heap.at(copy.object);
  if (is_set(object)) return store_set(copy.object, node);
  INGOT_ASSERT(object.conflict.empty(), "frontend: a copy has the same attributes on all paths");
  const size_t index = index_of(object, kChanged);
  const auto store = [&] {
    const std::optional<Value> parts = e_.call_special(copy, "__ingot_store__", {}, node);
    try {
      call_store(imported("ingot._host.callbacks").attr("store"), *number_of_copy(copy.object),
                 e_.elements_of(*parts, node));
    } catch (const base::Unsupported&) {
      e_.unsupported(
          {}, "a " + e_.type_name(copy) + " of the caller that gets lists, dicts or instances made here",
          "make a new one in the function, and return it");
    }
    e_.state_.heap.at(copy.object).values[index] = Static{nb::bool_(false)};
    return Value(Static{nb::none()});
  };
  const Value changed = object.values.at(index);
  if (const std::optional<bool> known = e_.static_truth(changed)) {
    if (*known) store();
    return;
  }
  e_.fork(e_.truth(changed, node), store, [] { return Value(Static{nb::none()}); });
}

void Evaluator::Parameters::call_store(const nb::object& function, int64_t number,
                                       const std::vector<Value>& parts) {
  Outward outward;
  nb::list given;
  given.append(Description{described::Argument{number}});
  for (const Value& part : parts) given.append(e_.describe_result(part, outward));
  e_.hosts_.push_back({function, nb::make_tuple(nb::tuple(given), nb::dict())});
  const int64_t attributes[] = {static_cast<int64_t>(e_.hosts_.size() - 1), e_.module_.text("store").index};
  e_.builder_->make(Op::host, outward.leaves, attributes);
}

/// A set whose elements are all known: what the function did with it is done with the caller's.
void Evaluator::Parameters::store_set(uint32_t cell, nb::handle node) {
  const HeapObject& copy = e_.state_.heap.at(cell);
  if (same(copy.values[0], copy.values[1])) return;
  const nb::module_ histories = imported("ingot._objects.sets");
  const nb::object steps = histories.attr("steps")(e_.history_of(Set{cell}, node));
  call_store(histories.attr("replay"), *number_of_copy(cell), {Static{steps}});
  HeapObject& stored = e_.state_.heap.at(cell);
  stored.values[0] = stored.values[1] = Static{histories.attr("stored")(e_.history_of(Set{cell}, node))};
}

Value Evaluator::Parameters::known_set(const Description& given) {
  const nb::object type = given.get<described::Instance>().type;
  const nb::object history = attribute(type, kHistory)(known_object(given.parts[0]));
  const nb::object own = imported("ingot._objects.sets").attr("build")(history);
  const uint32_t id = e_.next_object_++;
  HeapObject cell{.type = HeapObject::Type::Cell, .values = {}, .keys = {}};
  cell.values = {Static{history}, Static{history}};
  cell.type_of = nb::borrow<nb::object>(own.type());
  cell.argument = copy_of(e_.containers_.size());
  e_.containers_.push_back({.object = id});
  e_.state_.heap.emplace(id, std::move(cell));
  return Set{id, PyFrozenSet_Check(own.ptr()) != 0};
}

void Evaluator::Parameters::will_change(const Set& set) const {
  if (number_of_copy(set.cell) && !e_.writes_.any) throw NeedsFact{.kind = NeedsFact::Kind::Cells};
}

Value Evaluator::primitive_changes(Call& call) {
  const Object* copy = call.positional.at(0).as<Object>();
  if (copy == nullptr || !Parameters(*this).number_of_copy(copy->object)) return Static{nb::none()};
  if (!writes_.any) throw NeedsFact{.kind = NeedsFact::Kind::Cells};
  HeapObject& object = state_.heap.at(copy->object);
  const size_t index = index_of_attribute(object, kChanged, {});
  object.values[index] = Static{nb::bool_(true)};
  return Static{nb::none()};
}

}  // namespace ingot::frontend
