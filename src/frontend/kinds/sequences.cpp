#include "frontend/evaluator_parts.h"

// Operators of NumPy arrays and numbers with sequences, which NumPy converts to arrays; slices whose bounds
// are None on some paths; methods and partials, which are functions with values bound to their first
// parameters.

namespace ingot::frontend {

bool Evaluator::is_numpys(const Value& value) const {
  const std::optional<Kind> kind = kind_of(value);
  return value.is<Array>() || (kind && !kind->is_python());
}

std::optional<Kind> Evaluator::repeats(const Value& count) const {
  const std::optional<Kind> kind = kind_of(count);
  if (count.is<Array>() || !kind) return std::nullopt;
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
