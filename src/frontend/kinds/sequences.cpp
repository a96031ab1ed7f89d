// What lists, tuples and ranges have in common: indices and slices, operators, sorting, the search for an
// element; slices whose bounds are None on some paths; methods and partials, which are functions with values
// bound to their first parameters.

#include "frontend/kinds/sequences.h"

#include "frontend/arrays/arrays.h"
#include "frontend/arrays/known_sizes.h"
#include "frontend/arrays/operators.h"
#include "frontend/arrays/scalars.h"
#include "frontend/expressions/expressions.h"
#include "frontend/kinds/containers.h"
#include "frontend/kinds/generators.h"
#include "frontend/kinds/list_buffers.h"
#include "frontend/kinds/lists.h"
#include "frontend/tracer/checkpoint.h"
#include "frontend/tracer/evaluate.h"
#include "frontend/tracer/python_objects.h"

namespace ingot::frontend {

using base::ExceptionKind;
using ir::Op;

bool is_known_string(const Value& value) {
  const Static* s = value.as<Static>();
  return s != nullptr && (PyUnicode_Check(s->object.ptr()) || PyBytes_Check(s->object.ptr()));
}

bool is_sequence(const Value& value) {
  return value.is<Tuple>() || container_of(value) != 0 || value.is<Range>();
}

namespace {

std::optional<Value> repeated(Tracer& t, const Value& sequence, const Value& count, nb::handle node);

}  // namespace

namespace {

std::vector<size_t> indices_of(Tracer& t, const Slice& slice, size_t size, nb::handle node) {
  nb::list parts;
  for (const Value& part : *slice.parts)
    parts.append(require_static(t, part, "a slice of a container", node));
  const nb::object slice_type = imported("builtins").attr("slice");
  const nb::object chosen = host_change(t, counted(0, size), "__getitem__",
                                        nb::make_tuple(slice_type(parts[0], parts[1], parts[2])));
  std::vector<size_t> indices;
  for (const nb::handle index : chosen) indices.push_back(nb::cast<size_t>(index));
  return indices;
}

}  // namespace

nb::list counted(size_t first, size_t count) {
  nb::list result;
  for (size_t i = 0; i < count; ++i) result.append(first + i);
  return result;
}

bool is_staged_index(Tracer& t, const Value& index, nb::handle node) {
  const Scalar* s = index.as<Scalar>();
  if (s == nullptr || !(base::is_int(s->kind.dtype()) || s->kind == Kind::py_bool())) return false;
  demand(t, s->node, node);
  return true;
}

NodeId staged_index_of(Tracer& t, const Value& index, NodeId length, const std::string& missing) {
  const NodeId zero = t.builder->index(0);
  const NodeId given = stage_index(t, index);
  const NodeId wrapped = t.builder->make(Op::select, {t.builder->make(Op::less, {given, zero}),
                                                      t.builder->make(Op::add, {given, length}), given});
  check(t,
        both(t, t.builder->make(Op::greater_equal, {wrapped, zero}),
             t.builder->make(Op::less, {wrapped, length})),
        ExceptionKind::IndexError, missing);
  return wrapped;
}

Value pick_staged(Tracer& t, const std::vector<Value>& members, NodeId position, nb::handle node) {
  if (members.size() > 64) {
    unsupported(
        t, node,
        "an index that is not known when compiling, into " + std::to_string(members.size()) + " elements",
        "use an array");
  }
  if (members.empty()) {  // an earlier check has raised
    t.builder->terminate(Op::unreachable, {});
    throw Diverged{};
  }
  const std::optional<Kind> kind = kind_of(members[0]);
  const bool alike = kind && std::ranges::all_of(members, [&](const Value& v) {
                       return !v.is<Array>() && kind_of(v) == kind;
                     });
  if (alike) {
    NodeId chosen = stage(t, members.back(), *kind);
    for (size_t i = members.size() - 1; i-- > 0;) {
      const NodeId here = t.builder->make(Op::equal, {position, t.builder->index(static_cast<int64_t>(i))});
      chosen = t.builder->make(Op::select, {here, stage(t, members[i], *kind), chosen});
    }
    return Scalar{*kind, chosen};
  }
  const std::function<Value(size_t)> from = [&](size_t i) -> Value {
    if (i + 1 == members.size()) return members[i];
    const NodeId here = t.builder->make(Op::equal, {position, t.builder->index(static_cast<int64_t>(i))});
    return fork(t, here, [&] { return members[i]; }, [&] { return from(i + 1); });
  };
  return from(0);
}

size_t known_index(Tracer& t, size_t size, const Value& index, const std::string& what,
                   const std::string& missing, nb::handle node) {
  const Value at = Static{require_static(t, index, "an index into a container", node)};
  need_index_sized(t, at);
  const std::optional<int64_t> i = static_int(at);
  if (!i)
    raise(t, ExceptionKind::TypeError, what + " indices must be integers or slices, not " + type_name(t, at));
  const auto length = static_cast<int64_t>(size);
  if (*i < -length || *i >= length) raise(t, ExceptionKind::IndexError, missing);
  return static_cast<size_t>(*i < 0 ? *i + length : *i);
}

Value member_of(Tracer& t, const std::vector<Value>& members, const Value& index, const std::string& what,
                nb::handle node) {
  const std::string missing = what + " index out of range";
  if (!is_staged_index(t, index, node))
    return members[known_index(t, members.size(), index, what, missing, node)];
  const NodeId size = t.builder->index(static_cast<int64_t>(members.size()));
  return pick_staged(t, members, staged_index_of(t, index, size, missing), node);
}

std::vector<Value> part_of(Tracer& t, const std::vector<Value>& members, const Slice& slice,
                           nb::handle node) {
  std::vector<Value> parts;
  for (const size_t position : indices_of(t, slice, members.size(), node)) parts.push_back(members[position]);
  return parts;
}

std::vector<Value> parts_of_index(const Value& index) {
  const Tuple* several = index.as<Tuple>();
  return several != nullptr ? several->members : std::vector<Value>{index};
}

Slice slice_from(const Value& start) {
  return Slice{share(std::array<Value, 3>{start, Static{nb::none()}, Static{nb::none()}})};
}

std::optional<Value> reversed_slice(Tracer& t, const Value& value, nb::handle node) {
  if (rank_of(value) == 0) return std::nullopt;
  const Slice backwards{
      share(std::array<Value, 3>{Static{nb::none()}, Static{nb::none()}, Static{nb::int_(-1)}})};
  return iterator(t, "reversed", eval_item(t, value, backwards, node));
}

void raise_as_method(Tracer& t, const Value& self, const std::string& name, const Call& call) {
  const nb::object model = stand_in(t, self);
  if (!model.is_valid()) return;
  raise_by_type(t, "call", name, call.positional, attribute(model, name.c_str()), call.keywords);
}

std::optional<Value> repeat_in_place(Tracer& t, const Value& list, const Value& count, nb::handle node) {
  const std::optional<Kind> times = repeats(count);
  if (!times || !times->is_python()) return std::nullopt;
  by_library(t, "repeat", {list, count}, node);
  return Unbound{};
}

nb::object stand_ins(const Tracer& t, std::span<const Value> values) {
  nb::list all;
  for (const Value& value : values) {
    const nb::object one = stand_in(t, value);
    if (!one.is_valid()) return {};
    all.append(one);
  }
  return nb::object(all);
}

NodeId index_of_equal(Tracer& t, const std::vector<Value>& values, const Value& wanted, nb::handle node) {
  NodeId index = t.builder->index(-1);
  for (size_t i = values.size(); i-- > 0;) {
    index = t.builder->make(Op::select, {truth(t, equal_members(t, wanted, values[i], node), node),
                                         t.builder->index(static_cast<int64_t>(i)), index});
  }
  return index;
}

Value count_of_equal(Tracer& t, const std::vector<Value>& values, const Value& wanted, nb::handle node) {
  Value count = Static{nb::int_(0)};
  for (const Value& value : values) {
    const Value equal = equal_members(t, wanted, value, node);
    const std::optional<bool> known = static_truth(t, equal);
    const Value one =
        known ? Value(Static{nb::int_(*known ? 1 : 0)})
              : Value(Scalar{Kind::py_int(), t.builder->cast(truth(t, equal, node), DType::Int64)});
    count = binary(t, Operator::Add, count, one, node);
  }
  return count;
}

std::vector<Value> sorted_values(Tracer& t, const std::vector<Value>& values, Call& call) {
  bool reverse = false;
  std::optional<Value> key;
  for (const auto& [name, value] : call.keywords) {
    if (name == "key" && !is_none(value)) key = value;
    if (name == "key") continue;
    if (name != "reverse")
      unsupported(t, call.node, "the keyword `" + name + "` when sorting", "sort an array");
    const std::optional<bool> known = static_truth(t, value);
    if (!known) unsupported(t, call.node, "`reverse` that is not known when compiling", "use a constant");
    reverse = *known;
  }
  if (values.size() < 2 && !key) return values;
  bool is_known = true;
  const std::function<nb::object(const Value&)> known = [&](const Value& value) -> nb::object {
    if (const Static* s = value.as<Static>()) return s->object;
    is_known = is_known && value.is<Tuple>();
    nb::list members;
    for (const Value& member : parts_of(value)) members.append(known(member));
    return nb::tuple(members);
  };
  const Checkpoint before = checkpoint(t);
  nb::list items;
  for (const Value& value : values) {
    if (key) {
      Call rank{.positional = {value}, .keywords = {}, .name = "key", .node = call.node};
      items.append(known(call_value(t, *key, rank)));
    } else {
      items.append(known(value));
    }
  }
  if (!is_known) {
    go_back(t, before);
    return sorted_by_library(t, values, call);
  }
  return by_python(t, [&] {
    const nb::object order = imported("ingot._host.callbacks").attr("sorting")(items, reverse);
    std::vector<Value> sorted;
    for (const nb::handle index : order) sorted.push_back(values[nb::cast<size_t>(index)]);
    return sorted;
  });
}

std::vector<Value> elements_of(Tracer& t, const Value& iterated, nb::handle node) {
  Value iterable = begin_iterate(t, iterated, node);
  if (const Range* r = iterable.as<Range>()) {
    std::array<Value, 3> bounds = *r->bounds;
    for (Value& bound : bounds) bound = known_number(t, bound);
    iterable = Range{share(std::move(bounds)), r->parallel};
  }
  if (is_foreign(t, iterable) && iterable.is<Foreign>()) use_foreign(t, "iterate", "", {iterable}, node);
  if (iterates_generator(iterable)) return contents(t, list_of(t, iterable, node).object, node).values;
  kind_of_value(iterable).refuse_iterate(t, iterable, node);
  if (const Range* r = iterable.as<Range>()) {
    for (const Value& bound : *r->bounds)
      if (const auto* s = bound.as<Scalar>()) demand(t, s->node, node);
  }
  if (auto elements = static_elements(t, iterable, node, true)) return *elements;
  if (has_open_length(t, iterable) || iterable.is<Range>() || iterable.is<Zip>()) {
    unsupported(t, node, "making a container of what has a length that is not known when compiling",
                "use an array");
  }
  raise(t, ExceptionKind::TypeError, "'" + type_name(t, iterable) + "' object is not iterable");
}

bool is_numpys(const Value& value) {
  const std::optional<Kind> kind = kind_of(value);
  return kind && !kind->is_python();
}

std::optional<Kind> repeats(const Value& count) {
  const std::optional<Kind> kind = number_kind(count);
  if (!kind) return std::nullopt;
  return *kind == Kind::py_bool() || base::is_int(kind->dtype()) ? kind : std::nullopt;
}

std::optional<std::pair<Value, Value>> as_arrays(Tracer& t, const Value& a, const Value& b, nb::handle node) {
  const auto is_sequence = [](const Value& value) {
    const Range* range = value.as<Range>();
    return value.is<Tuple>() || value.is<List>() || row_of(value) != nullptr ||
           (range != nullptr && !range->endless);
  };
  if (is_numpys(a) && is_sequence(b)) return std::pair(a, array_of(t, b, node));
  if (is_sequence(a) && is_numpys(b)) return std::pair(array_of(t, a, node), b);
  return std::nullopt;
}

/// Two sequences joined, or one repeated; none: another operator, or other operands.
std::optional<Value> binary_of_sequences(Tracer& t, Operator op, const Value& a, const Value& b,
                                         nb::handle node) {
  if (op == Operator::Add && a.is<List>() && b.is<List>()) {
    if (growing(t, a) != nullptr || growing(t, b) != nullptr) return by_library(t, "joined", {a, b}, node);
    std::vector<Value> joined = contents(t, a.as<List>()->object, node).values;
    const std::vector<Value> more = contents(t, b.as<List>()->object, node).values;
    if (joined.size() + more.size() > kMostElements)
      unsupported(t, node, "a list of more than 20 000 elements", "use an array");
    joined.insert(joined.end(), more.begin(), more.end());
    return new_list(t, std::move(joined));
  }
  if (op == Operator::Add && a.is<Tuple>() && b.is<Tuple>()) {
    Tuple joined{a.as<Tuple>()->members};
    for (const Value& member : b.as<Tuple>()->members) joined.members.push_back(member);
    need_small(t, joined, node);
    return joined;
  }
  if (op != Operator::Mult) return std::nullopt;
  const bool is_left = a.is<List>() || a.is<Tuple>();
  if (is_left || b.is<List>() || b.is<Tuple>()) return repeated(t, is_left ? a : b, is_left ? b : a, node);
  return std::nullopt;
}

namespace {

/// `sequence * given`; none: `given` is no int.
std::optional<Value> repeated(Tracer& t, const Value& sequence, const Value& given, nb::handle node) {
  if (!repeats(given)) return std::nullopt;
  const Value count = repeats(given)->is_python() ? given : Scalar{Kind::py_int(), stage_index(t, given)};
  if (growing(t, sequence) != nullptr ||
      (sequence.is<List>() && !static_int(count) && may_grow(t, *sequence.as<List>())))
    return by_library(t, "repeated", {sequence, count}, node);
  const std::optional<int64_t> times =
      static_int(Static{require_static(t, count, "how often a sequence is repeated", node)});
  const std::vector<Value> once = elements_of(t, sequence, node);
  if (times && *times > 0 && once.size() > kMostElements / static_cast<size_t>(*times))
    unsupported(t, node, "a list of more than 20 000 elements", "use an array");
  std::vector<Value> all;
  for (int64_t i = 0; !once.empty() && i < times.value_or(0); ++i)
    all.insert(all.end(), once.begin(), once.end());
  if (!sequence.is<Tuple>()) return new_list(t, std::move(all));
  Value tuple = Tuple{std::move(all)};
  need_small(t, tuple, node);
  return tuple;
}

}  // namespace

Value bound_method(const Value& function, const Value& self) {
  nb::object plain = function.as<Static>()->object;
  if (is_counted(plain)) plain = uncounted(plain);
  if (is_jitted(plain)) plain = attribute(plain, "__ingot_function__");
  return Method{share(self), text_of(attribute_or(plain, "__name__", nb::str("method"))), plain};
}

Value bound_partial(std::vector<Value> parts) {
  const nb::object call = imported("ingot.library.operators").attr("call_partial");
  return Method{share(Value(Tuple{std::move(parts)})), "partial", call};
}

Value eval_bound(Tracer& t, nb::handle e) {
  const Value bound = eval_open(t, e);
  const Maybe* m = bound.as<Maybe>();
  if (m == nullptr) return bound;
  if (m->may_be_none && !m->may_be_unbound && m->present->is<Scalar>()) return bound;
  return eval_index(t, e);
}

Value by_ranges(Tracer& t, const char* name, std::vector<Value> arguments, nb::handle node) {
  return call_library(t, "ranges", name, std::move(arguments), node);
}

const Maybe* open_bound(const Value& index) {
  const Slice* slice = index.as<Slice>();
  if (slice == nullptr) return nullptr;
  for (const Value& part : *slice->parts)
    if (part.is<Maybe>()) return part.as<Maybe>();
  return nullptr;
}

Value by_bound(Tracer& t, const Maybe& bound, const Value& index,
               const std::function<Value(const Value&)>& use) {
  const auto with = [&](const Value& known) {
    std::array<Value, 3> parts = *index.as<Slice>()->parts;
    for (Value& part : parts)
      if (part.is<Maybe>() && part.as<Maybe>()->node == bound.node) part = known;
    return use(Slice{share(std::move(parts))});
  };
  const Value open = bound;
  return base::known(kind_of_value(open).by_presence(t, open, with, t.here));
}

}  // namespace ingot::frontend
