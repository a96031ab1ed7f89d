#include "frontend/kinds/callers_lists.h"
#include "frontend/kinds/fields.h"
#include "frontend/kinds/members.h"
#include "frontend/kinds/sets.h"
#include "frontend/kinds/strings.h"
#include "frontend/kinds/value_kind.h"
#include "frontend/pooled_values.h"

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

namespace ingot::frontend {

using base::ExceptionKind;
using ir::Op;

namespace {

/// Static values are the same if type and value are: 1, 1.0 and True differ, 0.0 and -0.0 differ.
bool same_static(const nb::object& a, const nb::object& b) {
  if (a.is(b)) return true;
  if (!a.type().is(b.type())) return false;
  if (nb::isinstance<nb::float_>(a) || PyComplex_CheckExact(a.ptr()))
    return text_of(nb::repr(a)) == text_of(nb::repr(b));
  if (PyLong_CheckExact(a.ptr()) || PyBool_Check(a.ptr()) || PyUnicode_CheckExact(a.ptr()) ||
      PyBytes_CheckExact(a.ptr()))
    return a.equal(b);
  return false;
}

}  // namespace

Value Evaluator::fork(NodeId condition, const std::function<Value()>& then,
                      const std::function<Value()>& other) {
  const NodeId operands[] = {condition};
  const NodeId node = builder_->begin(Op::if_, operands);
  State before = state_;
  std::vector<Edge> edges;
  for (size_t arm = 0; arm < 2; ++arm) {
    if (arm == 1) state_ = std::move(before);
    builder_->enter(node, arm, {});
    PooledValues(*this).narrow(condition, arm == 0);
    const Pushed<NodeId> inside(conditions_, condition);
    try {
      Value value = arm == 0 ? then() : other();
      edges.push_back({builder_->suspend(), std::move(state_), std::move(value), {}, {}});
    } catch (const Diverged&) {
    }
  }
  Value value = close(node, edges);
  if (Conflict* conflict = value.as<Conflict>()) settle(*conflict, condition);
  for (auto& [name, variable] : state_.locals)
    if (Conflict* conflict = variable.as<Conflict>()) settle(*conflict, condition);
  for (auto& [id, object] : state_.heap) {
    for (Value& part : object.values)
      if (Conflict* conflict = part.as<Conflict>()) settle(*conflict, condition);
  }
  return value;
}

Value Evaluator::block(const std::function<Value(Target&)>& body) {
  const NodeId node = builder_->begin(Op::block, {});
  const ir::Type label_type[] = {ir::Type::label()};
  Target target{builder_->enter(node, 0, label_type)[0], {}, handlers_.size(), iterates_.size()};
  {
    const Pushed<Target*> open(targets_, &target);
    try {
      Value value = body(target);
      target.edges.push_back({builder_->suspend(), std::move(state_), std::move(value), {}, {}});
    } catch (const Diverged&) {
    }
  }
  Value value = close(node, target.edges);
  for (const Edge& edge : target.edges)
    if (Conflict* conflict = value.as<Conflict>()) settle(*conflict, edge.condition);
  return value;
}

void Evaluator::leave_to(Target& target, Value value) {
  run_finals(target.handlers);
  if (frame_->returns == &target && frame_->consumer == nullptr)
    state_.locals.clear();  // no variable of this call is visible after it
  for (size_t i = target.iterates; i < iterates_.size(); ++i) forget(iterates_[i]);
  target.edges.push_back({builder_->suspend(), state_, std::move(value), target.label,
                          conditions_.empty() ? NodeId() : conditions_.back()});
  throw Diverged{};
}

Value Evaluator::close(NodeId node, std::vector<Edge>& edges) {
  if (edges.empty()) {
    builder_->end(node);
    builder_->terminate(Op::unreachable, {});
    throw Diverged{};
  }
  const ir::RegionId here = builder_->function()[node].parent;
  Merges merges;
  const Restored<Merges*> outer(merges_, &merges);
  State state = shape_of(edges[0].state, here);
  Value value = shape_of(edges[0].value, here);
  for (size_t i = 1; i < edges.size(); ++i) {
    align(edges[0].state, edges[0].value, edges[i].state, edges[i].value);
    state = join(state, edges[i].state);
    value = join(value, edges[i].value, "the result");
  }
  std::vector<ir::Type> types;
  slot_types(state, types);
  slot_types(value, types);
  for (const Edge& edge : edges) {
    builder_->resume(edge.region);
    std::vector<NodeId> carried;
    if (edge.label) carried.push_back(edge.label);
    carry(state, edge.state, carried);
    carry(value, edge.value, carried);
    builder_->terminate(edge.label ? Op::exit_ : Op::yield, carried);
  }
  builder_->set_results(node, types);
  const std::vector<NodeId> results = builder_->end(node);
  std::span<const NodeId> rest(results);
  state_ = fill(std::move(state), rest);
  return fill(value, rest);
}

Value Evaluator::shape_of(const Value& value, ir::RegionId seen_from) {
  return shape_of(value, [&](NodeId node) { return builder_->function().reaches(node, seen_from); });
}

Value Evaluator::shape_of(const Value& value, const Stays& stays) {
  const auto reaches = [&](NodeId node) { return node && stays(node); };
  if (const Scalar* s = value.as<Scalar>())
    return Scalar{s->kind, reaches(s->node) ? s->node : NodeId(), s->is_mixed};
  if (const Array* a = value.as<Array>()) {
    Array shape = *a;
    // Joined arrays are memory: values become views on their paths.
    if (shape.type.is_array()) {
      shape.type = shape.type.as_view();
      shape.owns = true;
    }
    if (!reaches(a->node) || a->type.is_array()) shape.node = {};
    if (a->origin && !reaches(a->origin)) {
      shape.argument = -2;  // the origin is a slot
      shape.origin = {};
    }
    return shape;
  }
  if (const Pooled* r = value.as<Pooled>()) return r->at(reaches(r->index) ? r->index : NodeId());
  if (const Maybe* m = value.as<Maybe>())
    return Maybe{reaches(m->node) ? m->node : NodeId(), m->present, m->may_be_unbound, m->may_be_none};
  std::vector<Value> parts = parts_of(value);
  for (Value& part : parts) part = shape_of(part, stays);
  return with_parts(value, std::move(parts));
}

bool Evaluator::same(const Value& a, const Value& b) const {
  if (a.v.index() != b.v.index()) return false;
  if (const Static* s = a.as<Static>()) return same_static(s->object, b.as<Static>()->object);
  if (const Scalar* s = a.as<Scalar>())
    return s->kind == b.as<Scalar>()->kind && s->node == b.as<Scalar>()->node &&
           s->is_mixed == b.as<Scalar>()->is_mixed;
  if (const Array* x = a.as<Array>()) {
    const Array* y = b.as<Array>();
    return x->node == y->node && x->type == y->type && x->argument == y->argument && x->origin == y->origin &&
           x->access == y->access && x->object == y->object && x->owns == y->owns;
  }
  if (const Reference* r = a.as<Reference>()) return r->object == b.as<Reference>()->object;
  if (const Object* o = a.as<Object>()) return o->object == b.as<Object>()->object;
  if (const Pooled* r = a.as<Pooled>()) {
    const Pooled* s = b.as<Pooled>();
    return r->pool == s->pool && r->index == s->index && r->may_be_none == s->may_be_none &&
           r->may_be_unbound == s->may_be_unbound && r->classes == s->classes;
  }
  if (const Maybe* m = a.as<Maybe>()) {
    const Maybe* n = b.as<Maybe>();
    return m->node == n->node && m->may_be_unbound == n->may_be_unbound && m->may_be_none == n->may_be_none &&
           same(*m->present, *n->present);
  }
  if (const Foreign* f = a.as<Foreign>())
    return f->description.is(b.as<Foreign>()->description) && f->shape == b.as<Foreign>()->shape &&
           f->points_to == b.as<Foreign>()->points_to;
  return same_form(a, b) && std::ranges::equal(parts_of(a), parts_of(b),
                                               [this](const Value& x, const Value& y) { return same(x, y); });
}

Value Evaluator::join_maybe(const Value& a, const Value& b, const std::string& what) {
  const auto present = [](const Value& v) -> const Value* {
    if (v.is<Unbound>() || is_none(v)) return nullptr;
    return v.is<Maybe>() ? v.as<Maybe>()->present.get() : &v;
  };
  const Value* x = present(a);
  const Value* y = present(b);
  if (x == nullptr && y == nullptr)
    return Conflict{what + ", which is not bound on one path and None on another,"};
  // Numbers become slots without a node: no node may be built between a construct and its results.
  const auto slot = [this](const Value& v) {
    const std::optional<Kind> kind = v.is<Array>() ? std::nullopt : kind_of(v);
    return kind ? Value(Scalar{*kind, {}, is_mixed(v)}) : shape_of(v, ir::RegionId(0));
  };
  const Value first = slot(x != nullptr ? *x : *y);
  Value joined = y != nullptr ? join(first, slot(*y), what) : first;
  const auto may = [&](bool Maybe::* flag, bool empty_a, bool empty_b) {
    return empty_a || empty_b || (a.is<Maybe>() && a.as<Maybe>()->*flag) ||
           (b.is<Maybe>() && b.as<Maybe>()->*flag);
  };
  const bool unbound = may(&Maybe::may_be_unbound, a.is<Unbound>(), b.is<Unbound>());
  const bool none = may(&Maybe::may_be_none, is_none(a), is_none(b));
  if (Scalar* s = joined.as<Scalar>()) {
    s->node = {};
    return Maybe{{}, share(joined), unbound, none};
  }
  if (Array* array = joined.as<Array>()) {
    array->node = {};
    array->object = 0;  // another object than that of the same number in an earlier iteration
    return Maybe{{}, share(joined), unbound, none};
  }
  return PooledValues(*this).conflict(a, b, what + ", which is bound on some paths only,");
}

uint32_t Evaluator::merged(uint32_t a, uint32_t b) {
  if (a == b) return a;
  if (a == 0 || b == 0 || merges_ == nullptr) return 0;
  const auto [known, is_new] = merges_->emplace(std::pair(a, b), next_object_);
  if (is_new) ++next_object_;
  return known->second;
}

Conflict Evaluator::apart(const Value& a, const Value& b, const std::string& what) const {
  const std::string first = words_of(a);
  const std::string second = words_of(b);
  if (first.empty() || second.empty() || first == second)
    return {what + ", which is one thing on one path and another one on another,"};
  return {what + ", which is " + first + " on one path and " + second + " on another,"};
}

Value Evaluator::join(const Value& a, const Value& b, const std::string& what) {
  if (same(a, b)) return a;
  if (a.is<Conflict>() || b.is<Conflict>()) return a.is<Conflict>() ? a : b;
  if (const std::optional<Pooled> record = PooledValues::join(a, b)) return *record;
  if (const std::optional<Value> member = Members::join(a, b)) return *member;
  if (a.is<Unbound>() || b.is<Unbound>() || is_none(a) || is_none(b) || a.is<Maybe>() || b.is<Maybe>())
    return join_maybe(a, b, what);
  const Array* x = a.as<Array>();
  const Array* y = b.as<Array>();
  if (x != nullptr && y != nullptr) {
    if (x->type.dtype() != y->type.dtype() || x->type.rank() != y->type.rank()) {
      return apart(a, b, what);
    }
    if (x->type.as_view() != y->type.as_view())
      return Conflict{
          what + ", which is in the memory of a block or a thread on one path and elsewhere on another,"};
    const Access access = x->access == y->access ? x->access : Access::Differs;
    const auto owns = [](const Array& one) { return one.owns || one.type.is_array(); };
    Array shape{.type = x->type.as_view(),
                .access = access,
                .argument = x->argument,
                .origin = x->origin,
                .object = merged(x->object, y->object),
                .owns = owns(*x) && owns(*y)};
    if (x->argument != y->argument || x->origin || y->origin) {
      shape.argument = -2;  // the origin is a slot
      shape.origin = {};
    }
    return shape;
  }
  if (const std::optional<Value> method = PooledValues(*this).joined_method(a, b)) return *method;
  const std::optional<Kind> j = kind_of(a);
  const std::optional<Kind> k = kind_of(b);
  if (j && k && x == nullptr && y == nullptr) {
    if (const std::optional<Kind> kind = frontend::join(*j, *k))
      return Scalar{*kind, {}, *j != *k || is_mixed(a) || is_mixed(b)};
    return apart(a, b, what);
  }
  if (const auto records = Fields::alike(a, b)) return join(records->first, records->second, what);
  if ((a.is<Characters>() && Strings::may_be_character(b)) ||
      (b.is<Characters>() && Strings::may_be_character(a))) {
    const Value& character = a.is<Characters>() ? a : b;
    if (character.as<Characters>()->codes->is<Scalar>())
      return Characters{share(Value(Scalar{Kind::py_int(), {}}))};
  }
  std::vector<Value> parts = parts_of(a);
  if (same_form(a, b) && !parts.empty()) {
    const std::vector<Value> others = parts_of(b);
    bool whole = true;
    for (size_t i = 0; i < parts.size(); ++i) {
      parts[i] = join(parts[i], others[i], "a member of " + what);
      whole = whole && !parts[i].is<Maybe>() && !parts[i].is<Conflict>();
    }
    // Only a tuple can have optionals or conflicts as parts.
    if (whole || a.is<Tuple>()) return with_parts(a, std::move(parts));
  }
  return PooledValues(*this).conflict(a, b, apart(a, b, what).reason);
}

void Evaluator::slot_types(const Value& shape, std::vector<ir::Type>& out) {
  ir::TypeTable& types = module_.types;
  if (const Scalar* s = shape.as<Scalar>()) {
    if (!s->node) out.push_back(ir::Type::scalar(s->kind.dtype()));
  } else if (const Array* a = shape.as<Array>()) {
    if (!a->node) out.push_back(a->type);
    if (a->argument == -2) out.push_back(ir::kInt64);
  } else if (const Pooled* r = shape.as<Pooled>()) {
    if (!r->index) out.push_back(ir::kInt64);
  } else if (const Maybe* m = shape.as<Maybe>()) {
    if (m->node) return;
    const Scalar* inside = m->present->as<Scalar>();
    out.push_back(types.optional(inside != nullptr ? ir::Type::scalar(inside->kind.dtype())
                                                   : m->present->as<Array>()->type));
  } else {
    for (const Value& part : parts_of(shape)) slot_types(part, out);
  }
}

NodeId Evaluator::converted(const Maybe& number, Kind to, ir::Type type) {
  const NodeId tag = builder_->make(Op::tag, {number.node});
  const auto choose = [&](int8_t wanted, const std::function<NodeId()>& then,
                          const std::function<NodeId()>& other) {
    const NodeId condition[] = {builder_->make(Op::equal, {tag, builder_->constant(wanted)})};
    const NodeId node = builder_->begin(Op::if_, condition);
    for (size_t arm = 0; arm < 2; ++arm) {
      builder_->enter(node, arm, {});
      const NodeId given[] = {arm == 0 ? then() : other()};
      builder_->terminate(Op::yield, given);
    }
    const ir::Type types[] = {type};
    builder_->set_results(node, types);
    return builder_->end(node)[0];
  };
  const auto missing = [&](int64_t why) { return builder_->make(Op::none, {}, {why}, type); };
  return choose(
      0,
      [&] {
        const Scalar there{number.present->as<Scalar>()->kind, builder_->make(Op::value, {number.node})};
        return builder_->make(Op::some, {convert(there, to)});
      },
      [&] { return choose(1, [&] { return missing(1); }, [&] { return missing(2); }); });
}

void Evaluator::carry(const Value& shape, const Value& actual, std::vector<NodeId>& out) {
  if (const Scalar* s = shape.as<Scalar>()) {
    if (!s->node) out.push_back(convert(actual, s->kind));
  } else if (const Array* a = shape.as<Array>()) {
    const Array& from = *actual.as<Array>();
    if (!a->node) out.push_back(named(actual).node);
    if (a->argument == -2) out.push_back(from.origin ? from.origin : builder_->index(from.argument));
  } else if (const Pooled* r = shape.as<Pooled>()) {
    if (!r->index) out.push_back(PooledValues(*this).index_of(actual));
  } else if (const Maybe* m = shape.as<Maybe>()) {
    if (m->node) return;
    const ir::Type type = [&] {
      std::vector<ir::Type> one;
      slot_types(shape, one);
      return one[0];
    }();
    if (actual.is<Unbound>() || is_none(actual)) {
      out.push_back(builder_->make(Op::none, {}, {actual.is<Unbound>() ? 2 : 1}, type));
    } else if (const Maybe* other = actual.as<Maybe>()) {
      Value inside = *other->present;
      if (Array* array = inside.as<Array>()) array->owns = m->present->as<Array>()->owns;
      const Scalar* number = m->present->as<Scalar>();
      if (same(inside, *m->present)) out.push_back(other->node);
      else if (number != nullptr && inside.is<Scalar>()) out.push_back(converted(*other, number->kind, type));
      else {
        unsupported({}, "a variable that may be unbound or None changes its type",
                    "bind it before the branch");
      }
    } else {
      std::vector<NodeId> value;
      carry(*m->present, actual, value);
      out.push_back(builder_->make(Op::some, {value[0]}));
    }
  } else if (shape.is<Characters>() && actual.is<Static>()) {
    carry(shape, Strings(*this).characters_of(actual), out);
  } else if (shape.is<Member>() && actual.is<Static>()) {
    carry(shape, Members(*this).opened(actual), out);
  } else {
    const std::vector<Value> parts = parts_of(shape);
    const std::vector<Value> given = parts_of(actual);
    for (size_t i = 0; i < parts.size(); ++i)
      if (!parts[i].is<Conflict>()) carry(parts[i], given[i], out);
  }
}

Value Evaluator::fill(const Value& shape, std::span<const NodeId>& values) {
  const auto next = [&] {
    const NodeId node = values.front();
    values = values.subspan(1);
    return node;
  };
  if (const Scalar* s = shape.as<Scalar>()) {
    const Scalar filled{s->kind, s->node ? s->node : next(), s->is_mixed};
    if (s->is_mixed) mixed_.insert(filled.node.index);
    return filled;
  }
  if (const Array* a = shape.as<Array>()) {
    Array array = *a;
    if (!a->node) array.node = next();
    if (a->argument == -2) {
      array.argument = -1;
      array.origin = next();
    }
    return array;
  }
  if (const Pooled* r = shape.as<Pooled>()) return r->at(r->index ? r->index : next());
  if (const Maybe* m = shape.as<Maybe>()) {
    const Maybe filled{m->node ? m->node : next(), m->present, m->may_be_unbound, m->may_be_none};
    if (is_mixed(*m->present)) mixed_.insert(filled.node.index);
    return filled;
  }
  std::vector<Value> parts = parts_of(shape);
  for (Value& part : parts) part = fill(part, values);
  return with_parts(shape, std::move(parts));
}

NodeId Evaluator::convert(const Value& number, Kind kind) {
  const std::optional<Kind> from = kind_of(number);
  if (!from) throw base::InternalError("a number is carried as a number");
  const NodeId node = stage(number, *from);
  if (*from == kind || from->dtype() == kind.dtype()) return node;
  const NodeId converted = builder_->cast(node, kind.dtype());
  const bool exact =
      base::can_cast_safely(from->dtype(), kind.dtype()) &&
      (!base::is_int(from->dtype()) || base::size_of(from->dtype()) != 8 || base::is_int(kind.dtype()));
  if (exact) return converted;
  const NodeId back = builder_->cast(converted, from->dtype());
  NodeId kept = builder_->make(Op::equal, {back, node});
  if (!base::is_int(from->dtype()))
    kept = builder_->make(Op::bitwise_or, {kept, builder_->make(Op::not_equal, {node, node})});
  if (kind.is_python()) {
    builder_->check(kept, ExceptionKind::OverflowError, "int {} is too large to become a float here", {node});
  } else {
    const std::string here = from->is_python() ? "a Python number" : std::string(from->name());
    builder_->check(kept, ExceptionKind::TypeChangeError,
                    "the variable is " + here + " here and " + std::string(kind.name()) +
                        " on another path, which does not hold {}",
                    {node});
  }
  return converted;
}

namespace {

/// The number of an instance, a list or a dict.
std::optional<uint32_t> number_of(const Value& value) {
  if (const Object* o = value.as<Object>()) return o->object;
  if (const Reference* r = value.as<Reference>()) return r->object;
  return std::nullopt;
}

}  // namespace

void Evaluator::align(const State& to, const Value& to_value, State& state, Value& value) {
  std::map<uint32_t, uint32_t> numbers;  // of `state` → of `to`
  std::map<uint32_t, uint32_t> taken;    // the other way
  const auto is_free = [&](const State& in, uint32_t id) {
    const auto it = in.heap.find(id);
    return it != in.heap.end() && it->second.type != HeapObject::Type::Cell && it->second.argument < 0 &&
           !it->second.given_away && std::ranges::find(pinned_, id) == pinned_.end();
  };
  bool is_possible = true;
  const std::function<void(const Value&, const Value&)> pair = [&](const Value& a, const Value& b) {
    const std::optional<uint32_t> x = number_of(a);
    const std::optional<uint32_t> y = number_of(b);
    if (x && y && !numbers.contains(*y) && !taken.contains(*x)) {
      if (*x == *y) return;
      if (!is_free(to, *x) || !is_free(state, *y)) return;
      const HeapObject& left = to.heap.at(*x);
      const HeapObject& right = state.heap.at(*y);
      if (left.type != right.type || left.is_mapping != right.is_mapping || !left.type_of.is(right.type_of))
        return;
      numbers[*y] = *x;
      taken[*x] = *y;
      for (size_t i = 0; i < std::min(left.values.size(), right.values.size()); ++i)
        pair(left.values[i], right.values[i]);
    } else if (x && y) {
      is_possible = is_possible && numbers.contains(*y) && numbers[*y] == *x;
    } else if (a.is<Tuple>() && same_form(a, b)) {
      for (size_t i = 0; i < a.as<Tuple>()->members.size(); ++i)
        pair(a.as<Tuple>()->members[i], b.as<Tuple>()->members[i]);
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
  // Objects that are still reachable under their own numbers must not be renumbered.
  std::set<uint32_t> seen;
  std::set<uint32_t> fixed;  // reachable from objects that are not renumbered
  const std::function<void(uint32_t)> reach = [&](uint32_t id) {
    if (!seen.insert(id).second || !state.heap.contains(id)) return;
    for (const Value& part : state.heap.at(id).values) each_object(part, reach);
  };
  for (const auto& [name, local] : state.locals) each_object(local, reach);
  each_object(value, reach);
  const auto fix = [&](uint32_t id) {
    fixed.insert(id);
    reach(id);
  };
  for (const Frame* at = frame_; at != nullptr; at = at->caller)
    for (const auto& [name, local] : at->callers_locals) each_object(local, fix);
  for (const auto& [id, object] : state.heap) {
    if (object.argument >= 0 || object.type == HeapObject::Type::Cell)
      for (const Value& part : object.values) each_object(part, fix);
  }
  for (const auto& [from, number] : numbers) {
    if (fixed.contains(from) || fixed.contains(number) ||
        (seen.contains(number) && !numbers.contains(number)))
      return;
  }
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
    heap.emplace(numbers.contains(id) ? numbers[id] : id, std::move(object));
  }
  state.heap = std::move(heap);
}

State Evaluator::shape_of(const State& state, ir::RegionId seen_from) {
  return shape_of(state, [&](NodeId node) { return builder_->function().reaches(node, seen_from); });
}

State Evaluator::shape_of(const State& state, const Stays& stays) {
  State shape;
  for (const auto& [name, value] : state.locals)
    shape.locals.emplace_hint(shape.locals.end(), name, shape_of(value, stays));
  for (const auto& [id, object] : state.heap) {
    HeapObject& copy = shape.heap.emplace_hint(shape.heap.end(), id, object)->second;
    for (Value& value : copy.values) value = shape_of(value, stays);
  }
  return shape;
}

bool Evaluator::same_element(const HeapObject& a, const HeapObject& b) const {
  if (a.element == nullptr || b.element == nullptr) return a.element == b.element;
  return same(*a.element, *b.element);
}

std::string Evaluator::why_disjoint(const HeapObject& a, const HeapObject& b) const {
  for (const HeapObject* object : {&a, &b})
    if (!object->conflict.empty()) return object->conflict;
  if (a.type == HeapObject::Type::Dict) return "a dict that gets or loses keys on one path only";
  if (a.type != HeapObject::Type::List) return "an instance that gets or loses attributes on one path only";
  const std::string what = "that grows or shrinks on one path only";
  if (a.argument >= 0) return "a list of the caller " + what;
  const auto has_arrays = [](const HeapObject& list) {
    return list.element == nullptr &&
           std::ranges::any_of(list.values, [](const Value& value) { return value.is<Array>(); });
  };
  if (has_arrays(a) || has_arrays(b))
    return "a list of unknown length of arrays of different dtypes or numbers of axes";
  std::vector<Value> all = a.values;
  all.insert(all.end(), b.values.begin(), b.values.end());
  if (a.element != nullptr || b.element != nullptr || all.empty()) return "a list " + what;
  const std::string first = words_of(all.front());
  for (const Value& value : all)
    if (first.empty() || words_of(value) != first) return "a list of several kinds of elements " + what;
  return "a list of which each element is " + first + ", " + what;
}

State Evaluator::join(const State& a, const State& b) {
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
      ask_for_staged_set(unrolled_, cell->second.made_at, location_of(here_));
  };
  for (const std::string& name : names) {
    const Value x = local(a, name);
    const Value y = local(b, name);
    ask(x, a, y);
    ask(y, b, x);
    joined.locals.emplace(name, join(x, y, "`" + name + "`"));
  }
  // An object made on one path only is not visible on the others.
  for (const auto& [id, object] : a.heap) {
    const auto it = b.heap.find(id);
    if (it == b.heap.end()) continue;
    HeapObject both = object;
    const bool other_keys = !std::ranges::equal(
        object.keys, it->second.keys, [](const auto& x, const auto& y) { return same_static(x, y); });
    const bool alike = !other_keys && object.type == it->second.type &&
                       object.values.size() == it->second.values.size() && object.conflict.empty() &&
                       it->second.conflict.empty() && same_element(object, it->second) &&
                       object.is_mapping == it->second.is_mapping;
    if (std::optional<HeapObject> list = alike ? std::nullopt : join_lists(object, it->second)) {
      both = std::move(*list);
    } else if (!alike) {
      CallersLists(*this).ask_at_join(object, it->second);
      both.conflict = why_disjoint(object, it->second);
      both.values.clear();
      both.keys.clear();
    } else {
      for (size_t i = 0; i < both.values.size(); ++i)
        both.values[i] = join(object.values[i], it->second.values[i], "an element of a container");
    }
    both.given_away = object.given_away || it->second.given_away;
    joined.heap.emplace(id, std::move(both));
  }
  return joined;
}

bool Evaluator::same(const State& a, const State& b) const {
  const auto equal = [this](const Value& x, const Value& y) { return same(x, y); };
  return std::ranges::equal(
             a.locals, b.locals,
             [&](const auto& x, const auto& y) { return x.first == y.first && equal(x.second, y.second); }) &&
         std::ranges::equal(a.heap, b.heap, [&](const auto& x, const auto& y) {
           return x.first == y.first && x.second.conflict == y.second.conflict &&
                  same_element(x.second, y.second) && x.second.given_away == y.second.given_away &&
                  std::ranges::equal(x.second.values, y.second.values, equal);
         });
}

void Evaluator::slot_types(const State& shape, std::vector<ir::Type>& out) {
  for (const auto& [name, value] : shape.locals) slot_types(value, out);
  for (const auto& [id, object] : shape.heap)
    for (const Value& value : object.values) slot_types(value, out);
}

void Evaluator::carry(const State& shape, const State& actual, std::vector<NodeId>& out) {
  for (const auto& [name, value] : shape.locals) {
    const auto it = actual.locals.find(name);
    carry(value, it == actual.locals.end() ? Value(Unbound{}) : it->second, out);
  }
  for (const auto& [id, object] : shape.heap) {
    const HeapObject& given = actual.heap.at(id);
    std::optional<HeapObject> grown;
    if (object.element != nullptr) grown = as_list_buffer(given, *object.element);
    const std::vector<Value>& values = grown ? grown->values : given.values;
    for (size_t i = 0; i < object.values.size(); ++i)
      if (!object.values[i].is<Conflict>()) carry(object.values[i], values[i], out);
  }
}

State Evaluator::fill(State shape, std::span<const NodeId>& values) {
  for (auto& [name, value] : shape.locals) value = fill(value, values);
  for (auto& [id, object] : shape.heap)
    for (Value& value : object.values) value = fill(value, values);
  return shape;
}

}  // namespace ingot::frontend
