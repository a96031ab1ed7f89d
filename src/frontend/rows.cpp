// Lists in list buffers. A list in a container of unknown structure is a `Pooled`, too: its pool is a list of
// (start, length, capacity), each a range of the pool's store. Its identity is its index in the pool, so a
// list that moves in the store is the same list. Which lists have a pool, and which share one, are facts
// about the locations in the program where they are made: two pools are merged if one variable may hold lists
// of both. `len`, items and `append` work on headers and store; the rest is the Python of
// `ingot.library.lists`. A generator iterates over such a list, so that it may grow meanwhile, as in Python.
// When a list moves, its old range in the store is not used again before the call ends.

#include "frontend/rows.h"

namespace ingot::frontend {

using base::ExceptionKind;
using ir::Op;

namespace {

Value number(NodeId node) { return Scalar{Kind::py_int(), node}; }

}  // namespace

std::string Evaluator::Rows::family(std::string site) const {
  for (;;) {
    const auto up = e_.pools_.families.find(site);
    if (up == e_.pools_.families.end() || up->second == site) return site;
    site = up->second;
  }
}

void Evaluator::Rows::make_pools() {
  for (const auto& [site, up] : e_.pools_.families) {
    if (site != up) continue;
    const uint32_t store = PooledValues(e_).new_pool("elements of " + site);
    const uint32_t pool = PooledValues(e_).new_pool("lists of " + site);
    const Value part = Scalar{Kind::py_int(), {}};
    e_.become_list_buffer(pool, Tuple{{part, part, part}});
    e_.state_.heap.at(pool).store = store;
    e_.pools_.by_family[site] = pool;
  }
}

void Evaluator::Rows::made_at(uint32_t list, nb::handle node) {
  if (e_.frame_ != nullptr && node.is_valid()) e_.pools_.makings.sites[list] = {e_.key_of(node)};
}

std::vector<std::string> Evaluator::Rows::sites_of(const Value& value) const {
  if (const Pooled* r = row_of(value); r != nullptr) {
    for (const auto& [site, pool] : e_.pools_.by_family)
      if (pool == r->pool) return {site};
  }
  const Reference* list = value.as<Reference>();
  const std::map<uint32_t, std::vector<std::string>>& sites = e_.pools_.makings.sites;
  const auto known = list == nullptr ? sites.end() : sites.find(list->object);
  return known == sites.end() ? std::vector<std::string>() : known->second;
}

void Evaluator::Rows::ask_for(const std::vector<std::string>& sites, nb::handle node) {
  const std::string first = family(sites.at(0));
  e_.pools_.families[first] = first;
  std::string fact = "lists made at " + first;
  for (const std::string& site : sites) {
    fact += ", " + site;
    e_.pools_.families[family(site)] = first;
  }
  throw NeedsFact::at(fact, e_.Evaluator::location_of(node));
}

void Evaluator::Rows::unite(const std::map<std::string, Value>& before,
                            const std::map<std::string, Value>& now, nb::handle node) {
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

Value Evaluator::Rows::made(const Value& list, nb::handle node) {
  const Reference* r = list.as<Reference>();
  const std::vector<std::string> sites = sites_of(list);
  if (r == nullptr || sites.empty()) return list;
  const auto pool = e_.pools_.by_family.find(family(sites[0]));
  return pool == e_.pools_.by_family.end() ? list : moved(*r, pool->second, node);
}

Value Evaluator::Rows::held(const Reference& list, nb::handle node) {
  const HeapObject& object = e_.state_.heap.at(list.object);
  const std::vector<std::string> sites = sites_of(list);
  if (sites.empty() || object.type != HeapObject::Type::List || object.argument >= 0 || object.given_away ||
      !object.conflict.empty())
    return list;
  const auto pool = e_.pools_.by_family.find(family(sites[0]));
  if (pool == e_.pools_.by_family.end()) ask_for(sites, node);
  return moved(list, pool->second, node);
}

Value Evaluator::Rows::moved(const Reference& list, uint32_t pool, nb::handle node) {
  Pooled record{.pool = pool, .is_list = true};
  const size_t known = e_.growing(list) != nullptr ? 0 : e_.state_.heap.at(list.object).values.size();
  for (size_t i = 0; i < known; ++i) {
    const Value element = PooledValues(e_).held(Value(e_.state_.heap.at(list.object).values[i]), node);
    e_.state_.heap.at(list.object).values[i] = element;
  }
  const std::optional<Value> form = e_.form_of_list(e_.state_.heap.at(list.object));
  if (!form) {
    e_.unsupported(
        node,
        "a list of elements of several kinds where its structure is not known: in another list, or "
        "where another one takes its place,",
        "use a tuple, or lists of elements of one kind");
  }
  open_store(record, form);
  const Value position = by_library("enter", record, {list}, node);
  record.index = e_.stage_index(position);
  PooledValues(e_).replace(
      [&](const Value& v) { return v.is<Reference>() && v.as<Reference>()->object == list.object; }, record);
  HeapObject& left = e_.state_.heap.at(list.object);
  left = {.type = HeapObject::Type::List, .values = {}, .keys = {}};
  left.conflict = "a list after it was put into another container";
  return record;
}

Value Evaluator::Rows::by_library(const char* name, const Pooled& list, std::vector<Value> more,
                                  nb::handle node) {
  std::vector<Value> arguments{Reference{list.pool}, store_of(list)};
  if (list.index) arguments.push_back(number(list.index));
  arguments.insert(arguments.end(), more.begin(), more.end());
  Call call{.positional = std::move(arguments), .keywords = {}, .name = name, .node = node};
  return e_.inline_function(imported("ingot.library.rows").attr(name), call);
}

void Evaluator::Rows::open_store(const Pooled& list, const std::optional<Value>& form) {
  const uint32_t store = store_of(list).object;
  const bool is_open = e_.state_.heap.at(store).element != nullptr;
  if (!is_open && form && !form->is<Unbound>()) e_.become_list_buffer(store, *form);
}

NodeId Evaluator::Rows::header(const Pooled& list, size_t part) {
  const HeapObject& pool = e_.pool_at(list.pool);
  return e_.builder_->make(Op::load, {pool.values[1 + part].as<Array>()->node, list.index});
}

NodeId Evaluator::Rows::length(const Pooled& list) {
  const Pooled there =
      PooledValues(e_).present(list, ExceptionKind::TypeError, "object of type 'NoneType' has no len()");
  return header(there, 1);
}

NodeId Evaluator::Rows::index_of(const Pooled& list, const Value& index, const char* missing) {
  const Value checked = e_.checked_index(index);
  const NodeId position = e_.staged_index_of(checked, header(list, 1), missing);
  if (e_.state_.heap.at(store_of(list).object).element == nullptr) {  // all lists are empty yet
    e_.builder_->terminate(Op::unreachable, {});
    throw Diverged{};
  }
  return e_.builder_->make(Op::add, {header(list, 0), position});
}

Value Evaluator::Rows::item(const Pooled& given, const Value& index, nb::handle node) {
  const Pooled list =
      PooledValues(e_).present(given, ExceptionKind::TypeError, "'NoneType' object is not subscriptable");
  if (const Slice* slice = index.as<Slice>()) {
    const auto [start, count, step] = e_.slice_of(*slice, header(list, 1));
    return e_.by_library("sliced", {list, number(start), number(count), number(step)}, node);
  }
  const NodeId position = index_of(list, index, "list index out of range");
  return e_.load_element(e_.state_.heap.at(store_of(list).object), position);
}

void Evaluator::Rows::set_item(const Pooled& given, const Value& index, const Value& value, nb::handle node) {
  const Pooled list = PooledValues(e_).present(given, ExceptionKind::TypeError,
                                               "'NoneType' object does not support item assignment");
  if (index.is<Slice>()) {
    e_.unsupported(node, "an assignment to a slice of a list in another container",
                   "assign element by element");
  }
  const NodeId position = index_of(list, index, "list assignment index out of range");
  const Value element = e_.widen(store_of(list), value, node);
  e_.store_element(e_.state_.heap.at(store_of(list).object), position, element);
}

Value Evaluator::Rows::method(const Pooled& given, const std::string& name, Call& call) {
  const Pooled list = PooledValues(e_).present(given, ExceptionKind::AttributeError,
                                               "'NoneType' object has no attribute '" + name + "'");
  const bool is_pop = name == "pop" && call.positional.empty();
  if (name == "append") {
    for (Value& element : call.positional) {
      element = PooledValues(e_).held(Value(element), call.node);
      open_store(list, e_.form_of(element));
    }
  }
  if (name == "append" || name == "clear" || is_pop)
    return by_library(name.c_str(), list, call.positional, call.node);
  static const std::set<std::string> kInPython = {"pop",   "insert",  "extend", "remove", "index",
                                                  "count", "reverse", "sort",   "copy"};
  if (!kInPython.contains(name))
    e_.unsupported(call.node, "the method `" + name + "` of a list in another container",
                   "use indexing and loops");
  std::vector<Value> arguments{list};
  arguments.insert(arguments.end(), call.positional.begin(), call.positional.end());
  return e_.by_library(name.c_str(), std::move(arguments), call.node, call.keywords);
}

void Evaluator::Rows::delete_item(const Pooled& list, const Value& index, nb::handle node) {
  if (index.is<Slice>()) {
    e_.unsupported(node, "`del` of a slice of a list in another container", "take its elements one by one");
  }
  e_.by_library("drop", {list, e_.checked_index(index)}, node);
}

Value Evaluator::Rows::iterated(const Pooled& given, nb::handle node) {
  const Pooled list =
      PooledValues(e_).present(given, ExceptionKind::TypeError, "'NoneType' object is not iterable");
  Call call{.positional = {list}, .keywords = {}, .name = "iterated", .node = node};
  return e_.inline_function(imported("ingot.library.rows").attr("iterated"), call);
}

bool Evaluator::Rows::is_list(const Value& value) const {
  const Pooled* r = row_of(value);
  return (r != nullptr && !r->may_be_none) || e_.is_list(value);
}

std::optional<Value> Evaluator::Rows::binary(Operator op, const Value& a, const Value& b, nb::handle node) {
  if (row_of(a) == nullptr && row_of(b) == nullptr) return std::nullopt;
  if (op == Operator::Add && is_list(a) && is_list(b)) return e_.by_library("joined", {a, b}, node);
  if (op == Operator::Mult && is_list(a) && e_.kind_of(b) && !b.is<Array>())
    return e_.by_library("repeated", {a, b}, node);
  if (op == Operator::Mult && is_list(b) && e_.kind_of(a) && !a.is<Array>())
    return e_.by_library("repeated", {b, a}, node);
  e_.unsupported(node, "'" + symbol_of(op) + "' of a list in another container", "use loops");
}

std::optional<Value> Evaluator::Rows::compare(Operator op, const Value& a, const Value& b, nb::handle node) {
  if (row_of(b) == nullptr && (is_membership(op) || row_of(a) == nullptr)) return std::nullopt;
  for (const Value* side : {&a, &b}) {
    const Pooled* r = row_of(*side);
    if (r == nullptr || !r->may_be_none) continue;
    return PooledValues(e_).on_both(
        *r, [&](const Value& v) { return e_.compare(op, side == &a ? v : a, side == &b ? v : b, node); });
  }
  if (is_membership(op)) {
    const Value found = e_.by_library("contains", {b, a}, node);
    return e_.answer(op, found, node);
  }
  if (!is_equality(op))
    e_.unsupported(node, "the order of lists whose lengths are not known when compiling",
                   "compare in a loop");
  if (!is_list(a) || !is_list(b)) return Value(Static{nb::bool_(op == Operator::NotEq)});
  const Value equal = e_.by_library("equal", {a, b}, node);
  return e_.answer(op, equal, node);
}

std::optional<Value> Evaluator::Rows::array_of(const Value& rows, std::optional<DType> wanted,
                                               nb::handle node) {
  const HeapObject* list = e_.growing(rows);
  if (list != nullptr && list->element->is<Array>()) return stacked(rows, wanted, node);
  const Pooled* row = list == nullptr ? nullptr : row_of(*list->element);
  if (row == nullptr || row->may_be_none) return std::nullopt;
  const HeapObject& store = e_.state_.heap.at(store_of(*row).object);
  const Scalar* element = store.element == nullptr ? nullptr : store.element->as<Scalar>();
  if (element == nullptr) return std::nullopt;
  return array_by("array", rows, element->kind.dtype(), wanted, node);
}

Value Evaluator::Rows::stacked(const Value& arrays, std::optional<DType> wanted, nb::handle node) {
  return array_by("stacked", arrays, e_.growing(arrays)->element->as<Array>()->type.dtype(), wanted, node);
}

Value Evaluator::Rows::array_by(const char* name, const Value& list, DType own, std::optional<DType> wanted,
                                nb::handle node) {
  e_.builder_->check(e_.builder_->make(Op::greater, {e_.length_of(*e_.growing(list)), e_.builder_->index(0)}),
                     ExceptionKind::TypeChangeError, "an empty list makes an array of one axis here");
  const nb::object made = imported("numpy").attr("dtype")(std::string(base::info(own).numpy));
  Call call{.positional = {list, Static{made}}, .keywords = {}, .name = name, .node = node};
  Value array = e_.inline_function(imported("ingot.library.rows").attr(name), call);
  const DType dtype = wanted.value_or(own);
  if (dtype == own) return array;
  return e_.owner(e_.materialized(e_.builder_->cast(e_.whole(array), dtype)));
}

}  // namespace ingot::frontend
