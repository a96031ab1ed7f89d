// Pools of instances. An instance is in the shadow heap, with leaves of its own, as long as its identity is
// known. Where it is not - in a list of unknown structure, in an attribute of a pooled instance, in a
// variable that holds one of two instances - identity becomes a number: the class has a pool, a list buffer
// of tuples of attributes, and an instance is a `Pooled`, an index into the pool, which branches and loops
// carry like any number. None is the index -1, an unset attribute -2, so `is` compares indices. That a class
// has a pool is a fact: code that needs it demands it, and the function is evaluated again. `__init__` then
// still fills an instance of the shadow heap, which moves to the pool when `__init__` ends; earlier, if
// `__init__` itself stores the instance somewhere; at the start, if it does so on some paths only. With one
// pool for all instances of a class none have to be distinguished when compiling; the price is that kinds of
// attributes are joined over all instances. Attributes get their columns and kinds when they are set
// (`frontend/kinds/columns`), by the joins of list buffers in loops. Results refer to pools and indices; the
// caller makes the reachable lists and instances (`bindings/elements`).

#include "frontend/kinds/pooled_values.h"

#include "frontend/arrays/scalars.h"
#include "frontend/joins/objects.h"
#include "frontend/kinds/columns.h"
#include "frontend/kinds/list_buffers.h"
#include "frontend/kinds/parameters.h"
#include "frontend/kinds/rows.h"
#include "frontend/kinds/sets.h"
#include "frontend/routines/routines.h"
#include "frontend/tracer/evaluate.h"
#include "frontend/tracer/python_objects.h"

namespace ingot::frontend {

using base::ExceptionKind;
using ir::Op;

void PooledValues::make_pools() {
  std::vector<uint32_t> made;
  for (const nb::object& type : t_.facts.pools.classes) {
    const uint32_t id = new_pool("instances of " + std::to_string(t_.facts.pools.by_class.size()));
    HeapObject pool{.type = HeapObject::Type::List, .values = {}, .keys = {}};
    pool.type_of = type;
    if (t_.request.attributes.contains(type))
      for (const nb::handle name : t_.request.attributes[type])
        pool.keys.push_back(nb::borrow<nb::object>(name));
    t_.state.heap.at(id) = std::move(pool);
    t_.facts.pools.by_class.emplace(type.ptr(), id);
    const size_t first = t_.facts.pools.first_of_kin.at(made.size());
    made.push_back(id);
    t_.facts.pools.kin[made.at(first)].push_back(type);
  }
}

uint32_t PooledValues::new_pool(const std::string& purpose) {
  const auto [number, is_new] = t_.facts.pools.numbers.emplace(purpose, t_.facts.next_object);
  if (is_new) ++t_.facts.next_object;
  t_.facts.pools.objects.insert(number->second);
  t_.state.heap.emplace(number->second, HeapObject{.type = HeapObject::Type::List, .values = {}, .keys = {}});
  return number->second;
}

void PooledValues::replace(const std::function<bool(const Value&)>& is_it, const Pooled& record) {
  const std::function<Value(const Value&)> replaced = [&](const Value& value) -> Value {
    if (is_it(value)) return record;
    return with_each_part(value, replaced);
  };
  for (auto& [name, local] : t_.state.locals) local = replaced(local);
  for (Frame* at = t_.frame; at != nullptr; at = at->caller)
    for (auto& [name, local] : at->callers_locals) local = replaced(local);
  for (auto& [id, object] : t_.state.heap)
    for (Value& value : object.values) value = replaced(value);
}

std::string PooledValues::early_fact(const nb::object& type) const {
  const auto index =
      std::ranges::find_if(t_.facts.pools.classes, [&](const nb::object& one) { return one.is(type); });
  return "early pool " + std::to_string(index - t_.facts.pools.classes.begin());
}

void PooledValues::ask_for_early(const nb::object& type, nb::handle node) {
  if (has_pool(type)) throw NeedsFact::at(early_fact(type), location_of(t_, node));
  unsupported(t_, node, "an instance that paths disagree about", "make it before the branch");
}

void PooledValues::begun(const Object& instance, nb::handle node) {
  const nb::object type = t_.state.heap.at(instance.object).type_of;
  if (has_pool(type) && t_.facts.unrolled.contains(early_fact(type))) moved(instance, node);
}

std::optional<Pooled> PooledValues::of(const Value& value) const {
  if (const Pooled* r = value.as<Pooled>()) return *r;
  const Object* o = value.as<Object>();
  if (o == nullptr) return std::nullopt;
  const auto object = t_.state.heap.find(o->object);
  const bool has_become = object != t_.state.heap.end() && object->second.conflict.empty() &&
                          object->second.type == HeapObject::Type::Cell;
  const Pooled* record = has_become ? object->second.values[0].as<Pooled>() : nullptr;
  return record == nullptr ? std::nullopt : std::optional(*record);
}

Pooled PooledValues::moved(const Object& instance, nb::handle node) {
  if (const std::optional<Pooled> known = of(instance)) return *known;
  const HeapObject object = t_.state.heap.at(instance.object);
  if (!object.conflict.empty()) ask_for_early(object.type_of, node);
  will_change(t_, instance.object, node);
  const List pool{t_.facts.pools.by_class.at(object.type_of.ptr())};
  Tuple attributes{object.values};
  for (Value& value : attributes.members) value = held(value, node);
  if (pool_at(t_, pool.object).element == nullptr) {
    const std::optional<Value> form = form_of(t_, attributes);
    if (form) become_list_buffer(t_, pool.object, *form);
  }
  for (size_t i = 0; i < attributes.members.size(); ++i) {
    if (form_of(t_, attributes.members[i])) continue;
    unsupported(t_, node,
                "the attribute `" + text_of(object.keys[i]) + "`, a " + type_name(t_, attributes.members[i]) +
                    ", of instances of " + text_of(object.type_of.attr("__name__")) +
                    " of which the number is not known when compiling,",
                "let it be a number, None, an array, a tuple, or another such instance");
  }
  const NodeId index = t_.state.heap.at(pool.object).values[0].as<Scalar>()->node;
  grow(t_, pool, attributes, node);
  const auto kin = std::ranges::find_if(t_.facts.pools.kin, [&](const auto& family) {
    return std::ranges::any_of(family.second,
                               [&](const nb::object& type) { return type.is(object.type_of); });
  });
  const auto member =
      std::ranges::find_if(kin->second, [&](const nb::object& type) { return type.is(object.type_of); });
  Pooled record{.pool = kin->first};
  const auto number = static_cast<size_t>(member - kin->second.begin());
  record.classes = uint64_t{1} << number;
  record.index = index;
  if (const int bits = bits_of(record); bits > 0) {
    const NodeId shifted = t_.builder->make(Op::left_shift, {index, t_.builder->index(bits)});
    record.index =
        t_.builder->make(Op::bitwise_or, {shifted, t_.builder->index(static_cast<int64_t>(number))});
  }
  HeapObject& moved = t_.state.heap.at(instance.object);
  moved.type = HeapObject::Type::Cell;
  moved.values = {record};
  moved.keys.clear();
  replace([&](const Value& v) { return v.is<Object>() && v.as<Object>()->object == instance.object; },
          record);
  return record;
}

Value PooledValues::made(const Object& instance, nb::handle node) {
  const nb::object type = t_.state.heap.at(instance.object).type_of;
  return has_pool(type) ? Value(moved(instance, node)) : Value(instance);
}

Value PooledValues::held(const Value& value, nb::handle node) {
  if (const Tuple* tuple = value.as<Tuple>()) {
    Tuple made = *tuple;
    for (Value& member : made.members) member = held(member, node);
    return made;
  }
  if (value.is<Conflict>()) return frontend::present(t_, value, "the value", node);
  if (const Set* s = value.as<Set>())
    ask_for_staged_set(t_.facts.unrolled, t_.state.heap.at(s->cell).made_at, location_of(t_, node));
  if (const List* list = value.as<List>()) return Rows(t_).held(*list, node);
  const Object* o = value.as<Object>();
  if (o == nullptr) return value;
  if (const std::optional<Pooled> record = of(value)) return *record;
  const HeapObject& object = t_.state.heap.at(o->object);
  if (object.argument >= 0 || object.given_away || object.joined || Parameters(t_).number_of_copy(o->object))
    return value;
  if (!has_pool(object.type_of)) ask_for({object.type_of}, node);
  return moved(*o, node);
}

std::optional<Pooled> PooledValues::join(const Value& a, const Value& b) {
  const Pooled* x = a.as<Pooled>();
  const Pooled* y = b.as<Pooled>();
  if (x == nullptr && y == nullptr) return std::nullopt;
  const uint32_t pool = std::max(x != nullptr ? x->pool : 0, y != nullptr ? y->pool : 0);
  const auto fits = [&](const Value& v) {
    const Pooled* r = v.as<Pooled>();
    if (r == nullptr) return is_none(v) || v.is<Unbound>();
    return r->pool == Pooled::kNoPool || pool == Pooled::kNoPool || r->pool == pool;
  };
  if (!fits(a) || !fits(b)) return std::nullopt;
  const auto any = [&](bool Pooled::* flag) {
    return (x != nullptr && x->*flag) || (y != nullptr && y->*flag);
  };
  const bool is_one = x != nullptr && y != nullptr && x->index == y->index;
  return Pooled{.pool = pool,
                .index = is_one ? x->index : NodeId(),
                .may_be_none = any(&Pooled::may_be_none) || is_none(a) || is_none(b),
                .may_be_unbound = any(&Pooled::may_be_unbound) || a.is<Unbound>() || b.is<Unbound>(),
                .is_list = any(&Pooled::is_list),
                .classes = (x != nullptr ? x->classes : 0) | (y != nullptr ? y->classes : 0)};
}

Conflict PooledValues::conflict(const Value& a, const Value& b, std::string reason) const {
  const auto classes_in = [&](const Value& v) {
    if (is_instance(v) && v.is<Pooled>()) return classes_of(*v.as<Pooled>());
    const Object* o = v.as<Object>();
    const std::map<uint32_t, nb::object>& classes = t_.facts.pools.makings.classes;
    const auto known = o == nullptr ? classes.end() : classes.find(o->object);
    return known == classes.end() ? std::vector<nb::object>() : std::vector{known->second};
  };
  const auto is_empty = [](const Value& v) { return v.is<Unbound>() || is_none(v); };
  const std::vector<nb::object> left = classes_in(a);
  const std::vector<nb::object> right = classes_in(b);
  Conflict conflict{std::move(reason)};
  const auto is_given = [&](const Value& v) {
    return is_instance(v) && v.is<Object>() && classes_in(v).empty();
  };
  const auto has_links = [&](const Value& v) {
    const Object* o = v.as<Object>();
    const auto object = o == nullptr ? t_.state.heap.end() : t_.state.heap.find(o->object);
    return object != t_.state.heap.end() &&
           std::ranges::any_of(object->second.values,
                               [&](const Value& value) { return is_instance(value) || is_none(value); });
  };
  if ((is_given(a) && (is_given(b) || is_empty(b))) || (is_given(b) && is_empty(a)))
    conflict.advice =
        has_links(a) || has_links(b)
            ? "keep what is linked in arrays of values and of indices, or make the instances in the compiled "
              "function: "
              "those of a caller are distinguished when compiling"
            : "keep the attributes in arrays and choose an index, or make the instances in the compiled "
              "function: "
              "those of a caller are distinguished when compiling";
  const auto is_callers = [&](const Value& v) {
    const auto object = t_.state.heap.find(container_of(v));
    return object != t_.state.heap.end() && object->second.argument >= 0;
  };
  if (container_of(a) != 0 && container_of(b) != 0 && is_callers(a) != is_callers(b))
    conflict.advice = "make a copy on each path, as by `list(x)` or `dict(x)`, so that none is the caller's";
  if ((!left.empty() || is_empty(a)) && (!right.empty() || is_empty(b))) {
    conflict.pools = left;
    conflict.pools.insert(conflict.pools.end(), right.begin(), right.end());
  }
  const std::vector<std::string> first = Rows(t_).sites_of(a);
  const std::vector<std::string> second = Rows(t_).sites_of(b);
  if ((!first.empty() || is_empty(a)) && (!second.empty() || is_empty(b))) {
    conflict.rows = first;
    conflict.rows.insert(conflict.rows.end(), second.begin(), second.end());
  }
  return conflict;
}

NodeId PooledValues::index_of(const Value& value) {
  if (const std::optional<Pooled> record = of(value)) return record->index;
  return t_.builder->index(value.is<Unbound>() ? Pooled::kUnbound : Pooled::kNone);
}

NodeId PooledValues::is_there(const Pooled& record) {
  return t_.builder->make(Op::not_equal, {record.index, t_.builder->index(Pooled::kNone)});
}

Pooled PooledValues::present(Pooled record, ExceptionKind kind, const std::string& message) {
  if (!record.may_be_none) return record;
  check(t_, is_there(record), kind, message);
  record.may_be_none = false;
  return record;
}

Pooled PooledValues::certain(const Pooled& record) {
  Pooled there = record;
  there.may_be_none = false;
  there.may_be_unbound = false;
  return there;
}

Pooled PooledValues::bound(Pooled record, ExceptionKind kind, const std::string& message) {
  if (!record.may_be_unbound) return record;
  check(t_, t_.builder->make(Op::not_equal, {record.index, t_.builder->index(Pooled::kUnbound)}), kind,
        message);
  record.may_be_unbound = false;
  return record;
}

Value PooledValues::on_both(const Pooled& record, const std::function<Value(const Value&)>& make) {
  return fork(
      t_, is_there(record), [&] { return make(certain(record)); }, [&] { return make(Static{nb::none()}); });
}

std::optional<Value> PooledValues::on_certain(const Value& a, const Value& b,
                                              const std::function<Value(const Value&, const Value&)>& make) {
  const auto with_a = [&](const Value& one) { return make(one, b); };
  const auto with_b = [&](const Value& one) { return make(a, one); };
  const auto may_be_none = [](const Pooled* record) { return record != nullptr && record->may_be_none; };
  if (const Pooled* r = a.as<Pooled>(); may_be_none(r)) return on_both(*r, with_a);
  if (const Pooled* r = b.as<Pooled>(); may_be_none(r)) return on_both(*r, with_b);
  if (const Pooled* r = open(a)) return on_each(*r, with_a);
  if (const Pooled* r = open(b)) return on_each(*r, with_b);
  return std::nullopt;
}

NodeId PooledValues::is_same(const Value& a, const Value& b) {
  const std::optional<Pooled> x = of(a);
  const std::optional<Pooled> y = of(b);
  const bool is_none_beside = is_none(a) || is_none(b);
  if (!is_none_beside && (!x || !y || x->pool != y->pool)) return t_.builder->constant(false);
  return t_.builder->make(Op::equal, {index_of(a), index_of(b)});
}

Value PooledValues::attribute(const Pooled& record, size_t number) {
  const HeapObject& pool = pool_of(record);
  if (pool.element == nullptr) return Unbound{};
  const std::vector<Value> forms = parts_of(*pool.element);
  size_t column = 1;
  for (size_t i = 0; i < number; ++i) column += Columns::kinds_of(forms[i]).size();
  const NodeId index = row(record);
  std::vector<NodeId> numbers;
  for (size_t i = 0; i < Columns::kinds_of(forms[number]).size(); ++i)
    numbers.push_back(t_.builder->make(Op::load, {pool.values[column + i].as<Array>()->node, index}));
  return Columns(t_).element_of(forms[number], numbers);
}

void PooledValues::set_attribute(const Pooled& record, size_t number, const Value& given, nb::handle node) {
  const Value value = held(given, node);
  const std::optional<Value> own = form_of(t_, value);
  const HeapObject pool = pool_of(record);
  std::vector<Value> forms =
      pool.element == nullptr ? std::vector<Value>(pool.keys.size(), Unbound{}) : parts_of(*pool.element);
  std::optional<Value> form = own ? joined_form(t_, forms[number], *own) : std::nullopt;
  if (forms[number].is<Unbound>() && is_none(value)) form = Pooled{Pooled::kNoPool, {}, true, true};
  if (!form) {
    unsupported(
        t_, node,
        "the attribute `" + text_of(pool.keys[number]) + "` of instances of " +
            text_of(pool.type_of.attr("__name__")) +
            " of which the number is not known when compiling, as a " + type_name(t_, value),
        "let it be a number, None, an array, a tuple, or another such instance, the same in all of them");
  }
  forms[number] = *form;
  become_list_buffer(t_, t_.facts.pools.by_class.at(pool.type_of.ptr()), Tuple{forms});
  const NodeId index = row(record);
  const std::vector<Value> columns = pool_of(record).values;
  size_t column = 1;
  for (size_t i = 0; i < number; ++i) column += Columns::kinds_of(forms[i]).size();
  for (const NodeId number_in : Columns(t_).numbers_of(*form, value))
    t_.builder->make(Op::store, {columns[column++].as<Array>()->node, index, number_in});
}

Description PooledValues::describe(const Pooled& record, Outward& outward) {
  if (record.pool == Pooled::kNoPool) return {described::Pooled{{0}, nb::make_tuple(nb::none())}};
  if (!outward.is_result) {
    unsupported(t_, {},
                "an element of a list of a length that is not known when compiling, outside of the result",
                "return it");
  }
  const auto number_of = [&](uint32_t id) {
    auto pool = std::ranges::find(outward.pools, id);
    if (pool == outward.pools.end()) pool = outward.pools.insert(pool, id);
    return static_cast<size_t>(pool - outward.pools.begin());
  };
  if (record.is_list) {
    const nb::object list = nb::borrow<nb::object>(reinterpret_cast<PyObject*>(&PyList_Type));
    return {described::Pooled{{number_of(record.pool)}, nb::make_tuple(list)}};
  }
  const std::vector<nb::object>& kin = kin_of(record);
  if (const nb::object own = stood_for(kin[0]); !own.is(kin[0])) {
    unsupported(t_, {},
                "a " + text_of(own.attr("__name__")) +
                    " in a list of a length that is not known when compiling, in the result",
                "return lists of their elements");
  }
  if (kin.size() == 1) return {described::Pooled{{number_of(record.pool)}, nb::make_tuple(kin[0])}};
  std::vector<size_t> numbers;
  nb::list types;
  for (size_t i = 0; i < kin.size(); ++i) {
    const bool is_possible = (record.classes >> i & 1) != 0;
    numbers.push_back(is_possible ? number_of(t_.facts.pools.by_class.at(kin[i].ptr())) : 0);
    types.append(kin[i]);
  }
  return {described::Pooled{std::move(numbers), nb::tuple(types)}};
}

Description PooledValues::describe_pool(uint32_t pool, Outward& outward) {
  const auto list_buffer = [&](HeapObject object, const Tuple& nothing) {
    if (object.element == nullptr) object = as_list_buffer(t_, object, nothing);
    return describe_list_buffer(t_, object, outward);
  };
  const HeapObject object = t_.state.heap.at(pool);
  if (object.store != 0) {
    Description headers = list_buffer(object, {});
    return {described::Pool{}, {std::move(headers), list_buffer(t_.state.heap.at(object.store), {})}};
  }
  nb::list names;
  for (const nb::object& name : object.keys) names.append(name);
  const Tuple nothing{std::vector<Value>(object.keys.size(), Unbound{})};
  return {described::Pool{nb::tuple(names)}, {list_buffer(object, nothing)}};
}

}  // namespace ingot::frontend
