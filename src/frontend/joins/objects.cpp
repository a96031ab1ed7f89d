// A joined object is made where paths join: in the state of each path it is a copy of what the path has
// there, so that the elements join as those of any object. A cell of the shadow heap, which paths and loops
// carry as they carry others, holds the number of the caller's container that it is at run time, or -1.
//
// Each pair of different numbers of a variable or an element gets a number. Where the first one is
// a joined object itself that nothing else leads to, the pair keeps its number: so loops settle.

#include "frontend/joins/objects.h"

#include "frontend/arrays/scalars.h"
#include "frontend/joins/joins.h"
#include "frontend/kinds/callers_lists.h"
#include "frontend/tracer/evaluate.h"
#include "frontend/tracer/python_objects.h"

namespace ingot::frontend {

namespace {

using Numbers = std::set<uint32_t>;

const HeapObject* object_in(const State& state, uint32_t id) {
  const auto it = state.heap.find(id);
  return it == state.heap.end() ? nullptr : &it->second;
}

/// Whether instances of a class are no more than their attributes.
bool is_users(const nb::object& type) {
  const std::string module = text_of(type.attr("__module__"));
  return stood_for(type).is(type) && !module.starts_with("numpy") && !module.starts_with("ingot");
}

const char* words_of(HeapObject::Type type) {
  if (type == HeapObject::Type::Dict) return "a dict";
  return type == HeapObject::Type::List ? "a list" : "an instance";
}

Conflict why_unchanged(HeapObject::Type type) {
  Conflict conflict{"changing " + std::string(words_of(type)) + " that is another one on another path"};
  conflict.advice = type == HeapObject::Type::Dict   ? "make a copy of it before, as by `p = dict(p)`"
                    : type == HeapObject::Type::List ? "make a copy of it before, as by `p = list(p)`"
                                                     : "make a new instance before";
  return conflict;
}

/// Whether two instances are the caller's and may lead to each other, as those of linked lists.
bool are_linked(const HeapObject& a, const HeapObject& b) {
  const auto leads = [](const HeapObject& object) {
    return std::ranges::any_of(object.values, [](const Value& v) { return is_instance(v) || is_none(v); });
  };
  return a.argument >= 0 && b.argument >= 0 && (leads(a) || leads(b));
}

class Joining {
 public:
  Joining(Tracer& t, State& a, State& b) : t_(t), a_(a), b_(b) {}

  bool run(Value& a_value, Value& b_value) {
    for (auto& [name, local] : a_.locals)
      if (const auto it = b_.locals.find(name); it != b_.locals.end()) visit(local, it->second);
    visit(a_value, b_value);
    for (auto& [id, object] : a_.heap) {
      const auto it = b_.heap.find(id);
      if (it == b_.heap.end() || object.values.size() != it->second.values.size()) continue;
      for (size_t i = 0; i < object.values.size(); ++i) visit(object.values[i], it->second.values[i]);
    }
    for (auto& [id, object] : made_a_) a_.heap.emplace(id, std::move(object));
    for (auto& [id, object] : made_b_) b_.heap.emplace(id, std::move(object));
    note_kin();
    keep_numbers(a_value, b_value);
    return is_new_;
  }

 private:
  using Pair = std::pair<uint32_t, uint32_t>;

  bool can_join(uint32_t x, uint32_t y) const {
    const HeapObject* one = object_in(a_, x);
    const HeapObject* other = object_in(b_, y);
    if (one == nullptr || other == nullptr || one->type != other->type || !one->type_of.is(other->type_of) ||
        one->values.size() != other->values.size() ||
        !std::ranges::equal(one->keys, other->keys,
                            [](const auto& k, const auto& l) { return same(Static{k}, Static{l}); }))
      return false;
    for (const HeapObject* object : {one, other}) {
      const bool is_open = object->element != nullptr || object->is_mapping || !object->conflict.empty();
      if (is_open || object->given_away || object->argument < -1 || CallersLists(t_).is_waiting(*object))
        return false;
    }
    // Instances and lists that the function has made are in pools where their number is not known.
    const auto is_callers = [](const HeapObject& o) { return o.argument >= 0 || o.joined != nullptr; };
    switch (one->type) {
      case HeapObject::Type::Dict: return true;
      case HeapObject::Type::List: return !one->values.empty() && (is_callers(*one) || is_callers(*other));
      case HeapObject::Type::Object:
        return (is_callers(*one) || is_callers(*other)) && is_users(one->type_of) &&
               !are_linked(*one, *other);
      case HeapObject::Type::Cell: return false;
    }
    return false;
  }

  void visit(Value& x, Value& y) {
    const uint32_t one = object_of(x);
    const uint32_t other = object_of(y);
    if (one != 0 && other != 0) {
      if (one == other || x.v.index() != y.v.index() || !can_join(one, other)) return;
      const uint32_t number = number_of(one, other);
      const auto to_number = [&](uint32_t) { return number; };
      const auto as_it_is = [](uint32_t array) { return array; };
      x = renumbered(x, to_number, as_it_is);
      y = renumbered(y, to_number, as_it_is);
    } else if (std::vector<Value> parts = parts_of(x); !parts.empty() && same_form(x, y)) {
      std::vector<Value> others = parts_of(y);
      for (size_t i = 0; i < parts.size(); ++i) visit(parts[i], others[i]);
      x = with_parts(x, std::move(parts));
      y = with_parts(y, std::move(others));
    }
  }

  uint32_t number_of(uint32_t one, uint32_t other) {
    if (const auto known = numbers_.find({one, other}); known != numbers_.end()) return known->second;
    const uint32_t number = t_.facts.next_object++;
    numbers_[{one, other}] = number;
    const uint32_t cell = t_.facts.next_object++;
    HeapObject x = copy_of(a_, one, cell, made_a_);
    HeapObject y = copy_of(b_, other, cell, made_b_);
    x.joined = y.joined = why_one_of(one, other);
    for (size_t i = 0; i < x.values.size(); ++i) visit(x.values[i], y.values[i]);
    made_a_.emplace(number, std::move(x));
    made_b_.emplace(number, std::move(y));
    return number;
  }

  /// Why a pair is not changed: with what decides it, where a path before has found that.
  std::shared_ptr<const Conflict> why_one_of(uint32_t one, uint32_t other) const {
    for (const HeapObject* from : {object_in(a_, one), object_in(b_, other)})
      if (from->joined != nullptr && from->joined->has_source()) return from->joined;
    return share(why_unchanged(object_in(a_, one)->type));
  }

  static HeapObject copy_of(const State& state, uint32_t id, uint32_t cell,
                            std::map<uint32_t, HeapObject>& made) {
    const HeapObject& from = *object_in(state, id);
    HeapObject copy{.type = from.type, .values = from.values, .keys = from.keys};
    copy.type_of = from.type_of;
    copy.origin = cell;
    copy.may_be = from.may_be;
    copy.may_be.insert(id);
    if (from.argument < 0)
      for (const auto& [other, object] : state.heap)
        if (object.may_be.contains(id)) copy.may_be.insert(other);
    HeapObject held{.type = HeapObject::Type::Cell, .values = {Static{nb::int_(from.argument)}}, .keys = {}};
    if (from.origin != 0) held.values = state.heap.at(from.origin).values;
    made.emplace(cell, std::move(held));
    return copy;
  }

  /// Objects that are joined with one of the function's may be each other.
  void note_kin() {
    for (const auto& [pair, number] : numbers_) {
      for (const auto& [other_pair, other] : numbers_) {
        if (number == other) continue;
        const auto is_one = [&](const State& state, uint32_t x, uint32_t y) {
          if (x == y) return object_in(state, x)->argument < 0;
          return state.heap.at(x).may_be.contains(y) || state.heap.at(y).may_be.contains(x);
        };
        if (is_one(a_, pair.first, other_pair.first)) a_.heap.at(number).may_be.insert(other);
        if (is_one(b_, pair.second, other_pair.second)) b_.heap.at(number).may_be.insert(other);
      }
    }
  }

  void keep_numbers(Value& a_value, Value& b_value) {
    if (numbers_.empty()) return;
    const Numbers in_a = reached_by(t_, a_, b_, a_value).all;
    const Numbers in_b = reached_by(t_, b_, a_, b_value).all;
    std::map<uint32_t, uint32_t> kept;
    Numbers taken;
    for (const auto& [pair, number] : numbers_) {
      const uint32_t one = pair.first;
      const bool is_free =
          object_in(a_, one)->joined != nullptr && !in_a.contains(one) && !in_b.contains(one);
      if (!is_free || !taken.insert(one).second) {
        is_new_ = true;
        continue;
      }
      kept[number] = one;
      kept[a_.heap.at(number).origin] = a_.heap.at(one).origin;
    }
    if (kept.empty()) return;
    renumber(a_, a_value, kept);
    renumber(b_, b_value, kept);
  }

  static void renumber(State& state, Value& value, const std::map<uint32_t, uint32_t>& kept) {
    const auto number = [&](uint32_t id) {
      const auto it = kept.find(id);
      return it == kept.end() ? id : it->second;
    };
    const auto as_it_is = [](uint32_t array) { return array; };
    for (const auto& [from, to] : kept) state.heap.erase(to);
    for (auto& [name, local] : state.locals) local = renumbered(local, number, as_it_is);
    value = renumbered(value, number, as_it_is);
    std::map<uint32_t, HeapObject> heap;
    for (auto& [id, object] : state.heap) {
      for (Value& part : object.values) part = renumbered(part, number, as_it_is);
      object.origin = number(object.origin);
      Numbers may_be;
      for (const uint32_t other : object.may_be)
        if (number(other) != number(id)) may_be.insert(number(other));
      object.may_be = std::move(may_be);
      heap.emplace(number(id), std::move(object));
    }
    state.heap = std::move(heap);
  }

  Tracer& t_;
  State& a_;
  State& b_;
  std::map<Pair, uint32_t> numbers_;
  std::map<uint32_t, HeapObject> made_a_;
  std::map<uint32_t, HeapObject> made_b_;
  bool is_new_ = false;
};

}  // namespace

Reached reached_by(const Tracer& t, const State& state, const State& other, const Value& value) {
  Reached reached;
  const std::function<void(uint32_t)> reach = [&](uint32_t id) {
    if (!reached.all.insert(id).second || !state.heap.contains(id)) return;
    for (const Value& part : state.heap.at(id).values) each_object(part, reach);
  };
  const auto reach_from_outside = [&](uint32_t id) {
    reached.from_outside.insert(id);
    reach(id);
  };
  for (const auto& [name, local] : state.locals) each_object(local, reach);
  each_object(value, reach);
  for (const uint32_t id : t.pinned) reach(id);
  for (const Frame* at = t.frame; at != nullptr; at = at->caller)
    for (const auto& [name, local] : at->callers_locals) each_object(local, reach_from_outside);
  for (const auto& [id, object] : state.heap) {
    if (object.argument < 0 && (object.type != HeapObject::Type::Cell || !other.heap.contains(id))) continue;
    reached.all.insert(id);
    for (const Value& part : object.values) each_object(part, reach_from_outside);
  }
  return reached;
}

bool join_objects(Tracer& t, State& a, Value& a_value, State& b, Value& b_value) {
  return Joining(t, a, b).run(a_value, b_value);
}

bool join_with_entry(Tracer& t, std::optional<State>& entry, const State& shape, State& back) {
  Value nothing;
  align(t, shape, nothing, back, nothing);
  return join_objects(t, *entry, nothing, back, nothing);
}

void settle_objects(Tracer& t, NodeId condition) {
  for (auto& [id, object] : t.state.heap) {
    if (object.joined == nullptr || object.joined->has_source()) continue;
    Conflict conflict = *object.joined;
    settle(t, conflict, condition);
    if (conflict.has_source()) object.joined = share(std::move(conflict));
  }
}

void will_change(Tracer& t, uint32_t object, nb::handle node) {
  if (const HeapObject& own = t.state.heap.at(object); own.joined != nullptr)
    present(t, Conflict(*own.joined), "the value", node);
  for (auto& [id, other] : t.state.heap) {
    if (!other.may_be.contains(object)) continue;
    other.conflict =
        std::string(words_of(other.type)) + " that may be one that has been changed under another name";
    other.is_stale = true;
    other.values.clear();
    other.keys.clear();
  }
}

bool may_be_same(const Tracer& t, uint32_t a, uint32_t b) {
  const auto leads = [&](uint32_t from, uint32_t to) {
    const HeapObject* object = object_in(t.state, from);
    return object != nullptr && object->may_be.contains(to);
  };
  return a != b && (leads(a, b) || leads(b, a));
}

void need_known_identity(Tracer& t, uint32_t a, uint32_t b, nb::handle node) {
  const auto all_of = [&](uint32_t id) {
    const HeapObject* object = object_in(t.state, id);
    Numbers all = object == nullptr ? Numbers() : object->may_be;
    all.insert(id);
    return all;
  };
  const Numbers first = all_of(a);
  const bool may_be_one = std::ranges::any_of(all_of(b), [&](uint32_t id) { return first.contains(id); });
  if (a == b || (!may_be_one && !may_be_same(t, a, b))) return;
  for (const uint32_t id : {a, b}) need_path(t, t.state.heap.at(id), node);
  unsupported(t, node, "`is` between what may be one object on one path and two on another",
              "keep in a bool which one it is");
}

void need_path(Tracer& t, const HeapObject& object, nb::handle node) {
  if (object.joined != nullptr && object.joined->has_source())
    present(t, Conflict(*object.joined), "the value", node);
}

bool has_joined(const State& state) {
  return std::ranges::any_of(state.heap, [](const auto& entry) { return entry.second.joined != nullptr; });
}

}  // namespace ingot::frontend
