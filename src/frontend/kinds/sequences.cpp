// Operators of NumPy arrays and numbers with sequences, which NumPy converts to arrays; slices whose bounds
// are None on some paths; methods and partials, which are functions with values bound to their first
// parameters.

#include "frontend/kinds/sequences.h"

#include "frontend/arrays/known_sizes.h"
#include "frontend/arrays/scalars.h"
#include "frontend/containers/list_buffers.h"
#include "frontend/containers/methods.h"
#include "frontend/expressions/expressions.h"
#include "frontend/tracer/evaluate.h"
#include "frontend/tracer/python_objects.h"

namespace ingot::frontend {

bool is_known_string(const Value& value) {
  const Static* s = value.as<Static>();
  return s != nullptr && (PyUnicode_Check(s->object.ptr()) || PyBytes_Check(s->object.ptr()));
}

bool is_sequence(const Value& value) {
  return value.is<Tuple>() || value.is<Reference>() || value.is<Range>();
}

namespace {

std::optional<Value> repeated(Tracer& t, const Value& sequence, const Value& count, nb::handle node);

}  // namespace

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
  const auto is_sequence = [&t](const Value& value) {
    const Range* range = value.as<Range>();
    return value.is<Tuple>() || is_list(t, value) || row_of(value) != nullptr ||
           (range != nullptr && !range->endless);
  };
  if (is_numpys(a) && is_sequence(b)) return std::pair(a, array_of(t, b, node));
  if (is_sequence(a) && is_numpys(b)) return std::pair(array_of(t, a, node), b);
  return std::nullopt;
}

/// Two sequences joined, or one repeated; none: another operator, or other operands.
std::optional<Value> binary_of_sequences(Tracer& t, Operator op, const Value& a, const Value& b,
                                         nb::handle node) {
  if (op == Operator::Add && is_list(t, a) && is_list(t, b)) {
    if (growing(t, a) != nullptr || growing(t, b) != nullptr) return by_library(t, "joined", {a, b}, node);
    std::vector<Value> joined = contents(t, *a.as<Reference>(), node).values;
    const std::vector<Value> more = contents(t, *b.as<Reference>(), node).values;
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
  const bool is_left = is_list(t, a) || a.is<Tuple>();
  if (is_left || is_list(t, b) || b.is<Tuple>()) return repeated(t, is_left ? a : b, is_left ? b : a, node);
  return std::nullopt;
}

namespace {

/// `sequence * given`; none: `given` is no int.
std::optional<Value> repeated(Tracer& t, const Value& sequence, const Value& given, nb::handle node) {
  if (!repeats(given)) return std::nullopt;
  const Value count = repeats(given)->is_python() ? given : Scalar{Kind::py_int(), stage_index(t, given)};
  if (growing(t, sequence) != nullptr ||
      (is_list(t, sequence) && !static_int(count) && may_grow(t, sequence)))
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
