// Joins of paths. The arms of a conditional, the exits to a label and the back edge of a loop each bring a
// state; `join` finds the shape that holds all of them, and each path then carries its own values into the
// slots of that shape, converted (in its own region, so that only the path taken converts).
//
// Both arms of an `if`, and every exit to a label, end in a suspended region. When all of these have been
// evaluated, `join` finds the *shape*; its slots are results of the node. Values without a common shape
// (arrays of different ranks, a string and a number) become a `Conflict`, which is refused only if it is
// used - a temporary that differs between paths does no harm.
//
// Identity. Containers and instances are numbers of the shadow heap. An array value has a number, too: values
// of equal numbers are the same object, and a join maps a pair of numbers to one new number. If `owns` is
// set, an array is the object that its memory was allocated for, so that results on the same memory are the
// same object on all paths. The description of a result refers to objects that it has made already (`again`),
// and arrays that a call stores in the caller's containers are identified by their memory until the call
// ends. Views that a loop carries have no number.

#include "frontend/joins/joins.h"

#include "frontend/arrays/scalars.h"
#include "frontend/joins/objects.h"
#include "frontend/kinds/callers_lists.h"
#include "frontend/kinds/optionals.h"
#include "frontend/kinds/pooled_values.h"
#include "frontend/kinds/sets.h"
#include "frontend/tracer/checkpoint.h"
#include "frontend/tracer/evaluate.h"
#include "frontend/tracer/scopes.h"

namespace ingot::frontend {

using base::ExceptionKind;
using ir::Op;

Value fork(Tracer& t, NodeId condition, const std::function<Value()>& then,
           const std::function<Value()>& other) {
  const NodeId operands[] = {condition};
  const NodeId node = t.builder->begin(Op::if_, operands);
  State before = t.state;
  std::vector<Edge> edges;
  for (size_t arm = 0; arm < 2; ++arm) {
    if (arm == 1) t.state = std::move(before);
    t.builder->enter(node, arm, {});
    PooledValues(t).narrow(condition, arm == 0);
    const Pushed<NodeId> inside(t.conditions, condition);
    try {
      Value value = arm == 0 ? then() : other();
      edges.push_back({t.builder->suspend(), std::move(t.state), std::move(value), {}, {}});
    } catch (const Diverged&) {
    }
  }
  Value value = close(t, node, edges);
  settle(t, value, condition);
  for (auto& [name, variable] : t.state.locals) settle(t, variable, condition);
  for (auto& [id, object] : t.state.heap)
    for (Value& part : object.values) settle(t, part, condition);
  settle_objects(t, condition);
  return value;
}

Value block(Tracer& t, const std::function<Value(Target&)>& body) {
  const NodeId node = t.builder->begin(Op::block, {});
  const ir::Type label_type[] = {ir::Type::label()};
  Target target{t.builder->enter(node, 0, label_type)[0], {}, t.handlers.size(), t.iterates.size()};
  {
    const Pushed<Target*> open(t.targets, &target);
    try {
      Value value = body(target);
      target.edges.push_back({t.builder->suspend(), std::move(t.state), std::move(value), {}, {}});
    } catch (const Diverged&) {
    }
  }
  Value value = close(t, node, target.edges);
  for (const Edge& edge : target.edges) {
    settle(t, value, edge.condition);
    settle_objects(t, edge.condition);
  }
  return value;
}

void leave_to(Tracer& t, Target& target, Value value) {
  run_finals(t, target.handlers);
  if (t.frame->returns == &target && t.frame->consumer == nullptr)
    t.state.locals.clear();  // no variable of this call is visible after it
  for (size_t i = target.iterates; i < t.iterates.size(); ++i) forget(t, t.iterates[i]);
  target.edges.push_back({t.builder->suspend(), t.state, std::move(value), target.label,
                          t.conditions.empty() ? NodeId() : t.conditions.back()});
  throw Diverged{};
}

namespace {

/// How often paths are compared for objects that are joined: an object joined on one path may lead to others.
constexpr int kMostRounds = 8;

/// Objects of the paths that become one, in the states of all of them.
void join_objects(Tracer& t, std::vector<Edge>& edges) {
  for (size_t i = 1; i < edges.size(); ++i)
    align(t, edges[0].state, edges[0].value, edges[i].state, edges[i].value);
  bool is_new = true;
  for (int round = 0; is_new && round < kMostRounds; ++round) {
    is_new = false;
    for (size_t i = 1; i < edges.size(); ++i)
      is_new |= join_objects(t, edges[0].state, edges[0].value, edges[i].state, edges[i].value);
  }
}

}  // namespace

Value close(Tracer& t, NodeId node, std::vector<Edge>& edges) {
  if (edges.empty()) {
    t.builder->end(node);
    t.builder->terminate(Op::unreachable, {});
    throw Diverged{};
  }
  const ir::RegionId here = t.builder->function()[node].parent;
  Tracer::Merges merges;
  const Restored<Tracer::Merges*> outer(t.merges, &merges);
  join_objects(t, edges);
  State state = shape_of(edges[0].state, seen_from(*t.builder, here));
  Value value = shape_of(edges[0].value, seen_from(*t.builder, here));
  for (size_t i = 1; i < edges.size(); ++i) {
    state = join(t, state, edges[i].state);
    value = join(t, value, edges[i].value, "the result");
  }
  std::vector<ir::Type> types;
  slot_types(t.module.types, state, types);
  slot_types(t.module.types, value, types);
  for (const Edge& edge : edges) {
    t.builder->resume(edge.region);
    std::vector<NodeId> carried;
    if (edge.label) carried.push_back(edge.label);
    carry(t, state, edge.state, carried);
    carry(t, value, edge.value, carried);
    t.builder->terminate(edge.label ? Op::exit_ : Op::yield, carried);
  }
  t.builder->set_results(node, types);
  const std::vector<NodeId> results = t.builder->end(node);
  std::span<const NodeId> rest(results);
  t.state = fill(t, std::move(state), rest);
  return fill(t, value, rest);
}

uint32_t merged(Tracer& t, uint32_t a, uint32_t b) {
  if (a == b) return a;
  if (a == 0 || b == 0 || t.merges == nullptr) return 0;
  const auto [known, is_new] = t.merges->emplace(std::pair(a, b), t.facts.next_object);
  if (is_new) ++t.facts.next_object;
  return known->second;
}

Conflict apart(const Tracer& t, const Value& a, const Value& b, const std::string& what) {
  const std::string first = kind_of_value(a).words(t, a);
  const std::string second = kind_of_value(b).words(t, b);
  if (first.empty() || second.empty() || first == second)
    return {what + ", which is one thing on one path and another one on another,"};
  return {what + ", which is " + first + " on one path and " + second + " on another,"};
}

Value join(Tracer& t, const Value& a, const Value& b, const std::string& what) {
  if (same(a, b)) return a;
  if (a.is<Conflict>() || b.is<Conflict>()) return a.is<Conflict>() ? a : b;
  if (std::optional<Value> optional = joined_optional(t, a, b, what)) return *std::move(optional);
  const ValueKind& left = kind_of_value(a);
  const ValueKind& right = kind_of_value(b);
  if (std::optional<Value> joined = left.join(t, a, b, what)) return *std::move(joined);
  if (&left != &right)
    if (std::optional<Value> joined = right.join(t, a, b, what)) return *std::move(joined);
  return PooledValues(t).conflict(a, b, apart(t, a, b, what).reason);
}

void carry(Tracer& t, const Value& shape, const Value& actual, std::vector<NodeId>& out) {
  kind_of_value(shape).carry(t, shape, actual, out);
}

Value fill(Tracer& t, const Value& shape, std::span<const NodeId>& values) {
  const auto next = [&] {
    const NodeId node = values.front();
    values = values.subspan(1);
    return node;
  };
  return kind_of_value(shape).fill(t, shape, next);
}

NodeId convert(Tracer& t, const Value& number, Kind kind) {
  const std::optional<Kind> from = kind_of(number);
  if (!from) throw base::InternalError("a number is carried as a number");
  const NodeId node = stage(t, number, *from);
  if (*from == kind || from->dtype() == kind.dtype()) return node;
  const NodeId converted = t.builder->cast(node, kind.dtype());
  const bool exact =
      base::can_cast_safely(from->dtype(), kind.dtype()) &&
      (!base::is_int(from->dtype()) || base::size_of(from->dtype()) != 8 || base::is_int(kind.dtype()));
  if (exact) return converted;
  const NodeId back = t.builder->cast(converted, from->dtype());
  NodeId kept = t.builder->make(Op::equal, {back, node});
  if (!base::is_int(from->dtype()))
    kept = t.builder->make(Op::bitwise_or, {kept, t.builder->make(Op::not_equal, {node, node})});
  if (kind.is_python()) {
    t.builder->check(kept, ExceptionKind::OverflowError, "int {} is too large to become a float here",
                     {node});
  } else {
    const std::string here = from->is_python() ? "a Python number" : std::string(from->name());
    t.builder->check(kept, ExceptionKind::TypeChangeError,
                     "the variable is " + here + " here and " + std::string(kind.name()) +
                         " on another path, which does not hold {}",
                     {node});
  }
  return converted;
}

namespace {

/// Whether objects can get other numbers: those that are still reachable under their own must keep them.
bool may_renumber(const Tracer& t, const State& to, const State& state, const Value& value,
                  const std::map<uint32_t, uint32_t>& numbers) {
  const Reached reached = reached_by(t, state, to, value);
  for (const auto& [from, number] : numbers) {
    if (reached.from_outside.contains(from) || reached.from_outside.contains(number) ||
        (reached.all.contains(number) && !numbers.contains(number)))
      return false;
  }
  return true;
}

}  // namespace

void align(Tracer& t, const State& to, const Value& to_value, State& state, Value& value) {
  std::map<uint32_t, uint32_t> numbers;  // of `state` → of `to`
  std::map<uint32_t, uint32_t> taken;    // the other way
  const auto is_free = [&](const State& in, uint32_t id) {
    const auto it = in.heap.find(id);
    return it != in.heap.end() && it->second.type != HeapObject::Type::Cell && it->second.argument < 0 &&
           !it->second.given_away && it->second.joined == nullptr &&
           std::ranges::find(t.pinned, id) == t.pinned.end();
  };
  bool is_possible = true;
  const std::function<void(const Value&, const Value&)> pair = [&](const Value& a, const Value& b) {
    const uint32_t x = object_of(a);
    const uint32_t y = object_of(b);
    const bool are_objects = x != 0 && y != 0;
    if (are_objects && !numbers.contains(y) && !taken.contains(x)) {
      if (x == y) return;
      if (!is_free(to, x) || !is_free(state, y)) return;
      const HeapObject& left = to.heap.at(x);
      const HeapObject& right = state.heap.at(y);
      if (left.type != right.type || left.is_mapping != right.is_mapping || !left.type_of.is(right.type_of))
        return;
      numbers[y] = x;
      taken[x] = y;
      for (size_t i = 0; i < std::min(left.values.size(), right.values.size()); ++i)
        pair(left.values[i], right.values[i]);
    } else if (are_objects) {
      is_possible = is_possible && numbers.contains(y) && numbers[y] == x;
    } else if (a.is<Tuple>() && same_form(a, b)) {
      const std::vector<Value> parts = parts_of(a);
      const std::vector<Value> others = parts_of(b);
      for (size_t i = 0; i < parts.size(); ++i) pair(parts[i], others[i]);
    }
  };
  for (const auto& [name, local] : to.locals)
    if (const auto it = state.locals.find(name); it != state.locals.end()) pair(local, it->second);
  pair(to_value, value);
  for (const auto& [id, object] : to.heap) {
    const auto it = state.heap.find(id);
    if (it == state.heap.end() || object.argument >= 0 || object.type == HeapObject::Type::Cell) continue;
    if (numbers.contains(id) || taken.contains(id) || object.values.size() != it->second.values.size())
      continue;
    for (size_t i = 0; i < object.values.size(); ++i) pair(object.values[i], it->second.values[i]);
  }
  if (numbers.empty() || !is_possible) return;
  if (!may_renumber(t, to, state, value, numbers)) return;
  const ValueKind::Renumber object_of = [&](uint32_t id) {
    const auto number = numbers.find(id);
    return number == numbers.end() ? id : number->second;
  };
  const ValueKind::Renumber array_of = [](uint32_t id) { return id; };
  for (auto& [name, local] : state.locals) local = renumbered(local, object_of, array_of);
  value = renumbered(value, object_of, array_of);
  std::map<uint32_t, HeapObject> heap;
  for (auto& [id, object] : state.heap) {
    if (taken.contains(id) && !numbers.contains(id)) continue;
    for (Value& part : object.values) part = renumbered(part, object_of, array_of);
    std::set<uint32_t> may_be;
    for (const uint32_t other : object.may_be) may_be.insert(object_of(other));
    object.may_be = std::move(may_be);
    heap.emplace(numbers.contains(id) ? numbers[id] : id, std::move(object));
  }
  state.heap = std::move(heap);
}

Stays seen_from(const ir::Builder& builder, ir::RegionId region) {
  return [&builder, region](NodeId node) { return builder.function().reaches(node, region); };
}

Value shape_of(const Value& value, const Stays& stays) { return kind_of_value(value).shape(value, stays); }

State shape_of(const State& state, const Stays& stays) {
  State shape;
  for (const auto& [name, value] : state.locals)
    shape.locals.emplace_hint(shape.locals.end(), name, shape_of(value, stays));
  for (const auto& [id, object] : state.heap) {
    HeapObject& copy = shape.heap.emplace_hint(shape.heap.end(), id, object)->second;
    for (Value& value : copy.values) value = shape_of(value, stays);
  }
  return shape;
}

bool same(const Value& a, const Value& b) {
  return a.v.index() == b.v.index() && kind_of_value(a).is_same(a, b);
}

bool same_element(const HeapObject& a, const HeapObject& b) {
  if (a.element == nullptr || b.element == nullptr) return a.element == b.element;
  return same(*a.element, *b.element);
}

namespace {

std::string why_disjoint(const Tracer& t, const HeapObject& a, const HeapObject& b) {
  for (const HeapObject* object : {&a, &b})
    if (!object->conflict.empty()) return object->conflict;
  if (a.type == HeapObject::Type::Dict) return "a dict that gets or loses keys on one path only";
  if (a.type != HeapObject::Type::List) return "an instance that gets or loses attributes on one path only";
  const std::string what = "that grows or shrinks on one path only";
  if (a.argument >= 0) return "a list of the caller " + what;
  const auto has_arrays = [](const HeapObject& list) {
    return list.element == nullptr && std::ranges::any_of(list.values, [](const Value& value) {
             return array_type_of(value).has_value();
           });
  };
  if (has_arrays(a) || has_arrays(b))
    return "a list of unknown length of arrays of different dtypes or numbers of axes";
  std::vector<Value> all = a.values;
  all.insert(all.end(), b.values.begin(), b.values.end());
  if (a.element != nullptr || b.element != nullptr || all.empty()) return "a list " + what;
  const auto words_of = [&t](const Value& value) { return kind_of_value(value).words(t, value); };
  const std::string first = words_of(all.front());
  for (const Value& value : all)
    if (first.empty() || words_of(value) != first) return "a list of several kinds of elements " + what;
  return "a list of which each element is " + first + ", " + what;
}

}  // namespace

State join(Tracer& t, const State& a, const State& b) {
  State joined;
  std::set<std::string> names;
  for (const auto& [name, value] : a.locals) names.insert(name);
  for (const auto& [name, value] : b.locals) names.insert(name);
  const auto local = [](const State& s, const std::string& name) {
    const auto it = s.locals.find(name);
    return it == s.locals.end() ? Value(Unbound{}) : it->second;
  };
  const auto ask = [&](const Value& one, const State& own, const Value& other) {
    const Set* s = one.as<Set>();
    if (s == nullptr || !(other.is<Set>() || is_instance(other)) || same(one, other)) return;
    if (const auto cell = own.heap.find(s->cell); cell != own.heap.end())
      ask_for_staged_set(t.facts.unrolled, cell->second.made_at, location_of(t, t.here));
  };
  for (const std::string& name : names) {
    const Value x = local(a, name);
    const Value y = local(b, name);
    ask(x, a, y);
    ask(y, b, x);
    joined.locals.emplace(name, join(t, x, y, "`" + name + "`"));
  }
  // An object made on one path only is not visible on the others.
  for (const auto& [id, object] : a.heap) {
    const auto it = b.heap.find(id);
    if (it == b.heap.end()) continue;
    HeapObject both = object;
    const bool other_keys =
        !std::ranges::equal(object.keys, it->second.keys,
                            [](const auto& x, const auto& y) { return same(Static{x}, Static{y}); });
    const bool alike = !other_keys && object.type == it->second.type &&
                       object.values.size() == it->second.values.size() && object.conflict.empty() &&
                       it->second.conflict.empty() && same_element(object, it->second) &&
                       object.is_mapping == it->second.is_mapping;
    if (std::optional<HeapObject> list = alike ? std::nullopt : join_lists(t, object, it->second)) {
      both = std::move(*list);
    } else if (!alike) {
      CallersLists(t).ask_at_join(object, it->second);
      both.conflict = why_disjoint(t, object, it->second);
      both.is_stale = (object.conflict.empty() ? it->second : object).is_stale;
      both.element = nullptr;
      both.values.clear();
      both.keys.clear();
    } else {
      for (size_t i = 0; i < both.values.size(); ++i)
        both.values[i] = join(t, object.values[i], it->second.values[i], "an element of a container");
    }
    both.given_away = object.given_away || it->second.given_away;
    both.may_be.insert(it->second.may_be.begin(), it->second.may_be.end());
    std::erase_if(both.may_be,
                  [&](uint32_t other) { return !a.heap.contains(other) || !b.heap.contains(other); });
    joined.heap.emplace(id, std::move(both));
  }
  return joined;
}

bool same(const State& a, const State& b) {
  const auto equal = [](const Value& x, const Value& y) { return same(x, y); };
  return std::ranges::equal(
             a.locals, b.locals,
             [&](const auto& x, const auto& y) { return x.first == y.first && equal(x.second, y.second); }) &&
         std::ranges::equal(a.heap, b.heap, [&](const auto& x, const auto& y) {
           return x.first == y.first && x.second.conflict == y.second.conflict &&
                  same_element(x.second, y.second) && x.second.given_away == y.second.given_away &&
                  x.second.may_be == y.second.may_be &&
                  std::ranges::equal(x.second.values, y.second.values, equal);
         });
}

void slot_types(ir::TypeTable& types, const Value& shape, std::vector<ir::Type>& out) {
  kind_of_value(shape).slot_types(types, shape, out);
}

void slot_types(ir::TypeTable& types, const State& shape, std::vector<ir::Type>& out) {
  for (const auto& [name, value] : shape.locals) slot_types(types, value, out);
  for (const auto& [id, object] : shape.heap)
    for (const Value& value : object.values) slot_types(types, value, out);
}

void carry(Tracer& t, const State& shape, const State& actual, std::vector<NodeId>& out) {
  for (const auto& [name, value] : shape.locals) {
    const auto it = actual.locals.find(name);
    carry(t, value, it == actual.locals.end() ? Value(Unbound{}) : it->second, out);
  }
  for (const auto& [id, object] : shape.heap) {
    const HeapObject& given = actual.heap.at(id);
    std::optional<HeapObject> grown;
    if (object.element != nullptr) grown = as_list_buffer(t, given, *object.element);
    const std::vector<Value>& values = grown ? grown->values : given.values;
    for (size_t i = 0; i < object.values.size(); ++i) carry(t, object.values[i], values[i], out);
  }
}

State fill(Tracer& t, State shape, std::span<const NodeId>& values) {
  for (auto& [name, value] : shape.locals) value = fill(t, value, values);
  for (auto& [id, object] : shape.heap)
    for (Value& value : object.values) value = fill(t, value, values);
  return shape;
}

}  // namespace ingot::frontend
