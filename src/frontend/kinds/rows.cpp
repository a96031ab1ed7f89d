// Lists in list buffers. A list in a container of unknown structure is a `Pooled`, too: its pool is a list of
// (start, length, capacity), each a range of the pool's store. Its identity is its index in the pool, so a
// list that moves in the store is the same list. Which lists have a pool, and which share one, are facts
// about the locations in the program where they are made: two pools are merged if one variable may hold lists
// of both. `len`, items and `append` work on headers and store; the rest is the Python of
// `ingot.library.lists`. A generator iterates over such a list, so that it may grow meanwhile, as in Python.
// When a list moves, its old range in the store is not used again before the call ends.

#include "frontend/kinds/rows.h"

#include "frontend/arrays/arrays.h"
#include "frontend/arrays/indexing.h"
#include "frontend/arrays/operators.h"
#include "frontend/arrays/scalars.h"
#include "frontend/joins/objects.h"
#include "frontend/kinds/list_buffers.h"
#include "frontend/kinds/sequences.h"
#include "frontend/routines/routines.h"
#include "frontend/tracer/checkpoint.h"
#include "frontend/tracer/evaluate.h"

namespace ingot::frontend {

using base::ExceptionKind;
using ir::Op;

namespace {

Value number(NodeId node) { return Scalar{Kind::py_int(), node}; }

}  // namespace

std::string Rows::family(std::string site) const {
  for (;;) {
    const auto up = t_.facts.pools.families.find(site);
    if (up == t_.facts.pools.families.end() || up->second == site) return site;
    site = up->second;
  }
}

void Rows::make_pools() {
  for (const auto& [site, up] : t_.facts.pools.families) {
    if (site != up) continue;
    const uint32_t store = PooledValues(t_).new_pool("elements of " + site);
    const uint32_t pool = PooledValues(t_).new_pool("lists of " + site);
    const Value part = Scalar{Kind::py_int(), {}};
    become_list_buffer(t_, pool, Tuple{{part, part, part}});
    t_.state.heap.at(pool).store = store;
    t_.facts.pools.by_family[site] = pool;
  }
}

void Rows::made_at(uint32_t list, nb::handle node) {
  if (t_.frame != nullptr && node.is_valid()) t_.facts.pools.makings.sites[list] = {key_of(t_, node)};
}

std::vector<std::string> Rows::sites_of(const Value& value) const {
  if (const Pooled* r = row_of(value); r != nullptr) {
    for (const auto& [site, pool] : t_.facts.pools.by_family)
      if (pool == r->pool) return {site};
  }
  const List* list = value.as<List>();
  const std::map<uint32_t, std::vector<std::string>>& sites = t_.facts.pools.makings.sites;
  const auto known = list == nullptr ? sites.end() : sites.find(list->object);
  return known == sites.end() ? std::vector<std::string>() : known->second;
}

void Rows::ask_for(const std::vector<std::string>& sites, nb::handle node) {
  const std::string first = family(sites.at(0));
  t_.facts.pools.families[first] = first;
  std::string fact = "lists made at " + first;
  for (const std::string& site : sites) {
    fact += ", " + site;
    t_.facts.pools.families[family(site)] = first;
  }
  throw NeedsFact::at(fact, location_of(t_, node));
}

void Rows::unite(const std::map<std::string, Value>& before, const std::map<std::string, Value>& now,
                 nb::handle node) {
  for (const auto& [name, value] : now) {
    const auto other = before.find(name);
    const Pooled* const a = other == before.end() ? nullptr : row_of(other->second);
    const Pooled* const b = row_of(value);
    if (a == nullptr || b == nullptr || a->pool == b->pool) continue;
    std::vector<std::string> sites = sites_of(other->second);
    for (const std::string& site : sites_of(value)) sites.push_back(site);
    if (sites.size() > 1) ask_for(sites, node);
  }
}

Value Rows::made(const Value& list, nb::handle node) {
  const List* r = list.as<List>();
  const std::vector<std::string> sites = sites_of(list);
  if (r == nullptr || sites.empty()) return list;
  const auto pool = t_.facts.pools.by_family.find(family(sites[0]));
  return pool == t_.facts.pools.by_family.end() ? list : moved(*r, pool->second, node);
}

Value Rows::held(List list, nb::handle node) {
  const HeapObject& object = t_.state.heap.at(list.object);
  const std::vector<std::string> sites = sites_of(list);
  if (sites.empty() || object.argument >= 0 || object.given_away || object.joined || !object.conflict.empty())
    return list;
  const auto pool = t_.facts.pools.by_family.find(family(sites[0]));
  if (pool == t_.facts.pools.by_family.end()) ask_for(sites, node);
  return moved(list, pool->second, node);
}

Value Rows::moved(List list, uint32_t pool, nb::handle node) {
  will_change(t_, list.object, node);
  Pooled record{.pool = pool, .is_list = true};
  const size_t known = growing(t_, list) != nullptr ? 0 : t_.state.heap.at(list.object).values.size();
  for (size_t i = 0; i < known; ++i) {
    const Value element = PooledValues(t_).held(Value(t_.state.heap.at(list.object).values[i]), node);
    t_.state.heap.at(list.object).values[i] = element;
  }
  const std::optional<Value> form = form_of_list(t_, t_.state.heap.at(list.object));
  if (!form) {
    unsupported(t_, node,
                "a list of elements of several kinds where its structure is not known: in another list, or "
                "where another one takes its place,",
                "use a tuple, or lists of elements of one kind");
  }
  open_store(record, form);
  const Value position = by_library("enter", record, {list}, node);
  record.index = stage_index(t_, position);
  PooledValues(t_).replace(
      [&](const Value& v) { return v.is<List>() && v.as<List>()->object == list.object; }, record);
  HeapObject& left = t_.state.heap.at(list.object);
  left = {.type = HeapObject::Type::List, .values = {}, .keys = {}};
  left.conflict = "a list after it was put into another container";
  return record;
}

Value Rows::by_library(const char* name, const Pooled& list, std::vector<Value> more, nb::handle node) {
  std::vector<Value> arguments{List{list.pool}, store_of(list)};
  if (list.index) arguments.push_back(number(list.index));
  arguments.insert(arguments.end(), more.begin(), more.end());
  return call_library(t_, "rows", name, std::move(arguments), node);
}

void Rows::open_store(const Pooled& list, const std::optional<Value>& form) {
  const uint32_t store = store_of(list).object;
  const bool is_open = t_.state.heap.at(store).element != nullptr;
  if (!is_open && form && !form->is<Unbound>()) become_list_buffer(t_, store, *form);
}

NodeId Rows::header(const Pooled& list, size_t part) {
  const HeapObject& pool = pool_at(t_, list.pool);
  return t_.builder->make(Op::load, {pool.values[1 + part].as<Array>()->node, list.index});
}

NodeId Rows::length(const Pooled& list) {
  const Pooled there =
      PooledValues(t_).present(list, ExceptionKind::TypeError, "object of type 'NoneType' has no len()");
  return header(there, 1);
}

NodeId Rows::index_of(const Pooled& list, const Value& index, const char* missing) {
  const Value checked = checked_index(t_, index);
  const NodeId position = staged_index_of(t_, checked, header(list, 1), missing);
  if (t_.state.heap.at(store_of(list).object).element == nullptr) {  // all lists are empty yet
    t_.builder->terminate(Op::unreachable, {});
    throw Diverged{};
  }
  return t_.builder->make(Op::add, {header(list, 0), position});
}

Value Rows::item(const Pooled& given, const Value& index, nb::handle node) {
  const Pooled list =
      PooledValues(t_).present(given, ExceptionKind::TypeError, "'NoneType' object is not subscriptable");
  if (const Slice* slice = index.as<Slice>()) {
    const auto [start, count, step] = slice_of(t_, *slice, header(list, 1));
    return frontend::by_library(t_, "sliced", {list, number(start), number(count), number(step)}, node);
  }
  const NodeId position = index_of(list, index, "list index out of range");
  return load_element(t_, t_.state.heap.at(store_of(list).object), position);
}

void Rows::set_item(const Pooled& given, const Value& index, const Value& value, nb::handle node) {
  const Pooled list = PooledValues(t_).present(given, ExceptionKind::TypeError,
                                               "'NoneType' object does not support item assignment");
  if (index.is<Slice>()) {
    unsupported(t_, node, "an assignment to a slice of a list in another container",
                "assign element by element");
  }
  const NodeId position = index_of(list, index, "list assignment index out of range");
  const Value element = widen(t_, store_of(list), value, node);
  store_element(t_, t_.state.heap.at(store_of(list).object), position, element);
}

Value Rows::method(const Pooled& given, const std::string& name, Call& call) {
  const Pooled list = PooledValues(t_).present(given, ExceptionKind::AttributeError,
                                               "'NoneType' object has no attribute '" + name + "'");
  const bool is_pop = name == "pop" && call.positional.empty();
  if (name == "append") {
    for (Value& element : call.positional) {
      element = PooledValues(t_).held(Value(element), call.node);
      open_store(list, form_of(t_, element));
    }
  }
  if (name == "append" || name == "clear" || is_pop)
    return by_library(name.c_str(), list, call.positional, call.node);
  static const std::set<std::string> kInPython = {"pop",   "insert",  "extend", "remove", "index",
                                                  "count", "reverse", "sort",   "copy"};
  if (!kInPython.contains(name))
    unsupported(t_, call.node, "the method `" + name + "` of a list in another container",
                "use indexing and loops");
  std::vector<Value> arguments{list};
  arguments.insert(arguments.end(), call.positional.begin(), call.positional.end());
  return frontend::by_library(t_, name.c_str(), std::move(arguments), call.node, call.keywords);
}

void Rows::delete_item(const Pooled& list, const Value& index, nb::handle node) {
  if (index.is<Slice>())
    unsupported(t_, node, "`del` of a slice of a list in another container", "take its elements one by one");
  frontend::by_library(t_, "drop", {list, checked_index(t_, index)}, node);
}

Value Rows::iterated(const Pooled& given, const Value& from, nb::handle node) {
  const Pooled list =
      PooledValues(t_).present(given, ExceptionKind::TypeError, "'NoneType' object is not iterable");
  return call_library(t_, "rows", "iterated", {list, from}, node);
}

bool Rows::is_list(const Value& value) const {
  const Pooled* r = row_of(value);
  return (r != nullptr && !r->may_be_none) || value.is<List>();
}

std::optional<Value> Rows::binary(Operator op, const Value& a, const Value& b, nb::handle node) {
  if (row_of(a) == nullptr && row_of(b) == nullptr) return std::nullopt;
  if (op == Operator::Add && is_list(a) && is_list(b))
    return frontend::by_library(t_, "joined", {a, b}, node);
  if (op == Operator::Mult && is_list(a) && kind_of(b) && !b.is<Array>())
    return frontend::by_library(t_, "repeated", {a, b}, node);
  if (op == Operator::Mult && is_list(b) && kind_of(a) && !a.is<Array>())
    return frontend::by_library(t_, "repeated", {b, a}, node);
  unsupported(t_, node, "'" + symbol_of(op) + "' of a list in another container", "use loops");
}

std::optional<Value> Rows::compare(Operator op, const Value& a, const Value& b, nb::handle node) {
  if (row_of(b) == nullptr && (is_membership(op) || row_of(a) == nullptr)) return std::nullopt;
  for (const Value* side : {&a, &b}) {
    const Pooled* r = row_of(*side);
    if (r == nullptr || !r->may_be_none) continue;
    return PooledValues(t_).on_both(*r, [&](const Value& v) {
      return frontend::compare(t_, op, side == &a ? v : a, side == &b ? v : b, node);
    });
  }
  if (is_membership(op)) {
    const Value found = frontend::by_library(t_, "contains", {b, a}, node);
    return answer(t_, op, found, node);
  }
  if (!is_equality(op))
    unsupported(t_, node, "the order of lists whose lengths are not known when compiling",
                "compare in a loop");
  if (!is_list(a) || !is_list(b)) return Value(Static{nb::bool_(op == Operator::NotEq)});
  const Value equal = frontend::by_library(t_, "equal", {a, b}, node);
  return answer(t_, op, equal, node);
}

std::optional<Value> Rows::array_of(const Value& rows, std::optional<DType> wanted, nb::handle node) {
  const HeapObject* list = growing(t_, rows);
  if (list != nullptr && list->element->is<Array>()) return stacked(rows, wanted, node);
  const Pooled* row = list == nullptr ? nullptr : row_of(*list->element);
  if (row == nullptr || row->may_be_none) return std::nullopt;
  const HeapObject& store = t_.state.heap.at(store_of(*row).object);
  const Scalar* element = store.element == nullptr ? nullptr : store.element->as<Scalar>();
  if (element == nullptr) return std::nullopt;
  return array_by("array", rows, element->kind.dtype(), wanted, node);
}

Value Rows::stacked(const Value& arrays, std::optional<DType> wanted, nb::handle node) {
  return array_by("stacked", arrays, growing(t_, arrays)->element->as<Array>()->type.dtype(), wanted, node);
}

Value Rows::array_by(const char* name, const Value& list, DType own, std::optional<DType> wanted,
                     nb::handle node) {
  t_.builder->check(t_.builder->make(Op::greater, {length_of(*growing(t_, list)), t_.builder->index(0)}),
                    ExceptionKind::TypeChangeError, "an empty list makes an array of one axis here");
  const nb::object made = imported("numpy").attr("dtype")(std::string(base::info(own).numpy));
  Value array = call_library(t_, "rows", name, {list, Static{made}}, node);
  const DType dtype = wanted.value_or(own);
  if (dtype == own) return array;
  return owner(t_, materialized(t_, t_.builder->cast(whole(t_, array), dtype)));
}

}  // namespace ingot::frontend
