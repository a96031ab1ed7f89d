#include "frontend/calls/foreign.h"

#include "base/message.h"
#include "base/refused.h"
#include "frontend/arrays/arrays.h"
#include "frontend/arrays/indexing.h"
#include "frontend/arrays/scalars.h"
#include "frontend/kinds/pooled_values.h"
#include "frontend/kinds/sequences.h"
#include "frontend/tracer/evaluate.h"
#include "frontend/tracer/python_objects.h"

// Arguments of unsupported types. Only their types are known, so every use of one is decided here:
// `ingot._objects.foreign` determines what Python raises for such types, if that is certain.
//
// For arrays NumPy is called with stand-ins of the same dtype and rank; for other objects the operations of
// the type decide. If that is inconclusive, the use is refused. Arrays have a known shape.

namespace ingot::frontend {

bool is_foreign(const Tracer& t, const Value& value) { return kind_of_value(value).is_foreign(t, value); }

nb::object stand_in(const Tracer& t, const Value& value) { return kind_of_value(value).stand_in(t, value); }

std::optional<Value> foreign_part(Tracer& t, const Foreign& array, const Value& index, nb::handle node) {
  const bool plain = std::ranges::all_of(parts_of_index(index), [](const Value& value) {
    const IndexPart part = kind_of_value(value).index_part(value);
    return part == IndexPart::Slice || part == IndexPart::Number;
  });
  if (!array.shape || !plain || is_foreign(t, index)) return std::nullopt;
  const Value part = index_array(t, *array.shape->as<Array>(), index, node);
  const nb::object description =
      imported("ingot._objects.foreign").attr("part")(array.description, rank_of(part).value_or(0));
  if (description.is_none()) return std::nullopt;
  Foreign result{description, array.name};
  if (rank_of(part)) result.shape = share(part);
  return result;
}

void raise_by_type(Tracer& t, const char* operation, const std::string& symbol,
                   const std::vector<Value>& operands, nb::object function,
                   const std::vector<std::pair<std::string, Value>>& keywords) {
  nb::list given;
  nb::dict named;
  for (const auto& [name, value] : keywords) {
    const nb::object one = stand_in(t, value);
    if (!one.is_valid()) return;
    named[name.c_str()] = one;
  }
  for (const Value& operand : operands) {
    if (operand.is<Conflict>()) present(t, operand, "the value", t.here);  // it has no type to raise by
    if (PooledValues::open(operand) != nullptr) return;
    const nb::object one = stand_in(t, operand);
    if (!one.is_valid()) return;
    given.append(one);
  }
  const nb::object probe = imported("ingot._objects.foreign").attr("probe");
  const nb::object error = probe(operation, symbol, std::move(function), given, named);
  if (!error.is_none()) raise_object(t, error, operands);
}

void use_foreign(Tracer& t, const char* operation, const std::string& symbol,
                 const std::vector<Value>& operands, nb::handle node, nb::object function) {
  const nb::module_ foreign = imported("ingot._objects.foreign");
  if (*operation != '\0') raise_by_type(t, operation, symbol, operands, std::move(function));
  std::vector<Value> pending(operands);
  while (!pending.empty()) {
    const Value value = std::move(pending.back());
    pending.pop_back();
    if (const Foreign* f = value.as<Foreign>()) {
      const std::string what = text_of(foreign.attr("words")(f->description));
      const std::string hint = text_of(foreign.attr("hint")(f->description));
      constexpr std::string_view kOutside = "outside.";
      const bool is_outside = f->name.starts_with(kOutside);
      const std::string name =
          is_outside ? t.captured_names.at(std::stoul(f->name.substr(kOutside.size()))) : f->name;
      const std::string advice =
          hint.empty() ? "pass numbers, NumPy arrays of their dtypes, or containers of at most 16 elements"
                       : hint;
      if (name.empty() || std::isdigit(static_cast<unsigned char>(name.front())) != 0)
        unsupported(t, node, what + " from outside the function,", advice);
      const base::Unsupported refused = refusal(t, node, "`" + name + "`, " + what + ",", advice);
      if (is_outside) throw refused;
      throw base::Refused(refused, base::Refusal::Argument, name);
    }
    const auto push = [&](const auto& values) {
      pending.insert(pending.end(), values.begin(), values.end());
    };
    push(parts_of(value));
    if (const uint32_t container = container_of(value); container != 0)
      push(t.state.heap.at(container).values);
  }
  throw base::InternalError("no operand is foreign");
}

void raise_object(Tracer& t, nb::handle error, const std::vector<Value>& operands) {
  const std::string message = text_of(nb::str(error));
  const nb::object types = attribute(error.type(), "__mro__");
  for (const nb::handle type : types) {
    const auto kind = base::exception_from_name(text_of(type.attr("__name__")));
    if (!kind) continue;
    if (!operands.empty()) need_one_kind(t, *kind, operands);
    if (type.is(error.type()) && *kind == base::ExceptionKind::KeyError) {
      std::vector<Value> arguments;
      for (const nb::handle argument : attribute(error, "args"))
        arguments.push_back(host_value(t, nb::borrow<nb::object>(argument), "a key", {}));
      raise_error(t, make_error(t, nb::borrow(error.type()), std::move(arguments)));
    }
    if (type.is(error.type())) raise(t, *kind, base::escape_message(message));
    if (*kind == base::ExceptionKind::TypeError || *kind == base::ExceptionKind::AttributeError)
      need_one_kind(t, *kind);
    raise_error(t, {.type = nb::borrow(error.type()),
                    .kind = kind,
                    .message = base::escape_message(message),
                    .parts = share(std::vector<Value>{}),
                    .original = nb::borrow(error),
                    .number = ++t.facts.errors_made});
  }
  throw base::InternalError("an exception of no kind: " + message);
}

}  // namespace ingot::frontend
