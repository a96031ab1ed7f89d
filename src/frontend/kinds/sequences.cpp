#include "frontend/kinds/sequences.h"

#include "frontend/known_sizes.h"

// Operators of NumPy arrays and numbers with sequences, which NumPy converts to arrays; slices whose bounds
// are None on some paths; methods and partials, which are functions with values bound to their first
// parameters.

namespace ingot::frontend {

bool is_known_string(const Value& value) {
  const Static* s = value.as<Static>();
  return s != nullptr && (PyUnicode_Check(s->object.ptr()) || PyBytes_Check(s->object.ptr()));
}

bool is_sequence(const Value& value) {
  return value.is<Tuple>() || value.is<Reference>() || value.is<Range>();
}

bool Evaluator::is_numpys(const Value& value) const {
  const std::optional<Kind> kind = kind_of(value);
  return kind && !kind->is_python();
}

std::optional<Kind> Evaluator::repeats(const Value& count) const {
  const std::optional<Kind> kind = number_kind(count);
  if (!kind) return std::nullopt;
  return *kind == Kind::py_bool() || base::is_int(kind->dtype()) ? kind : std::nullopt;
}

std::optional<std::pair<Value, Value>> Evaluator::as_arrays(const Value& a, const Value& b, nb::handle node) {
  const auto is_sequence = [this](const Value& value) {
    const Range* range = value.as<Range>();
    return value.is<Tuple>() || is_list(value) || row_of(value) != nullptr ||
           (range != nullptr && !range->endless);
  };
  if (is_numpys(a) && is_sequence(b)) return std::pair(a, array_of(b, node));
  if (is_sequence(a) && is_numpys(b)) return std::pair(array_of(a, node), b);
  return std::nullopt;
}

/// Two sequences joined, or one repeated; none: another operator, or other operands.
std::optional<Value> Evaluator::binary_of_sequences(Operator op, const Value& a, const Value& b,
                                                    nb::handle node) {
  if (op == Operator::Add && is_list(a) && is_list(b)) {
    if (growing(a) != nullptr || growing(b) != nullptr) return by_library("joined", {a, b}, node);
    std::vector<Value> joined = contents(*a.as<Reference>(), node).values;
    const std::vector<Value> more = contents(*b.as<Reference>(), node).values;
    if (joined.size() + more.size() > kMostElements)
      unsupported(node, "a list of more than 20 000 elements", "use an array");
    joined.insert(joined.end(), more.begin(), more.end());
    return new_list(std::move(joined));
  }
  if (op == Operator::Add && a.is<Tuple>() && b.is<Tuple>()) {
    Tuple joined{a.as<Tuple>()->members};
    for (const Value& member : b.as<Tuple>()->members) joined.members.push_back(member);
    need_small(joined, node);
    return joined;
  }
  if (op != Operator::Mult) return std::nullopt;
  const bool is_left = is_list(a) || a.is<Tuple>();
  if (is_left || is_list(b) || b.is<Tuple>()) return repeated(is_left ? a : b, is_left ? b : a, node);
  return std::nullopt;
}

/// `sequence * given`; none: `given` is no int.
std::optional<Value> Evaluator::repeated(const Value& sequence, const Value& given, nb::handle node) {
  if (!repeats(given)) return std::nullopt;
  const Value count = repeats(given)->is_python() ? given : Scalar{Kind::py_int(), stage_index(given)};
  if (growing(sequence) != nullptr || (is_list(sequence) && !static_int(count) && may_grow(sequence)))
    return by_library("repeated", {sequence, count}, node);
  const std::optional<int64_t> times =
      static_int(Static{require_static(count, "how often a sequence is repeated", node)});
  const std::vector<Value> once = elements_of(sequence, node);
  if (times && *times > 0 && once.size() > kMostElements / static_cast<size_t>(*times))
    unsupported(node, "a list of more than 20 000 elements", "use an array");
  std::vector<Value> all;
  for (int64_t i = 0; !once.empty() && i < times.value_or(0); ++i)
    all.insert(all.end(), once.begin(), once.end());
  if (!sequence.is<Tuple>()) return new_list(std::move(all));
  Value tuple = Tuple{std::move(all)};
  need_small(tuple, node);
  return tuple;
}

Value Evaluator::bound_method(const Value& function, const Value& self) {
  nb::object plain = function.as<Static>()->object;
  if (is_counted(plain)) plain = uncounted(plain);
  if (is_jitted(plain)) plain = attribute(plain, "__ingot_function__");
  return Method{share(self), text_of(attribute_or(plain, "__name__", nb::str("method"))), plain};
}

Value Evaluator::bound_partial(std::vector<Value> parts) {
  const nb::object call = imported("ingot.library.operators").attr("call_partial");
  return Method{share(Value(Tuple{std::move(parts)})), "partial", call};
}

Value Evaluator::eval_bound(nb::handle e) {
  const Value bound = eval_open(e);
  const Maybe* m = bound.as<Maybe>();
  if (m == nullptr) return bound;
  if (m->may_be_none && !m->may_be_unbound && m->present->is<Scalar>()) return bound;
  return eval_index(e);
}

Value Evaluator::by_ranges(const char* name, std::vector<Value> arguments, nb::handle node) {
  return call_library(*this, "ranges", name, std::move(arguments), node);
}

const Maybe* Evaluator::open_bound(const Value& index) const {
  const Slice* slice = index.as<Slice>();
  if (slice == nullptr) return nullptr;
  for (const Value& part : *slice->parts)
    if (part.is<Maybe>()) return part.as<Maybe>();
  return nullptr;
}

Value Evaluator::by_bound(const Maybe& bound, const Value& index,
                          const std::function<Value(const Value&)>& use) {
  const auto with = [&](const Value& known) {
    std::array<Value, 3> parts = *index.as<Slice>()->parts;
    for (Value& part : parts)
      if (part.is<Maybe>() && part.as<Maybe>()->node == bound.node) part = known;
    return use(Slice{share(std::move(parts))});
  };
  const Maybe open = bound;
  return fork(
      is_there(open), [&] { return with(present(open, "the bound", here_)); },
      [&] { return with(Static{nb::none()}); });
}

}  // namespace ingot::frontend
