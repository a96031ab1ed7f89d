#include "frontend/calls/python_builtins.h"
#include "frontend/statements/exceptions.h"
#include "frontend/tracer/evaluate.h"
#include "frontend/tracer/python_objects.h"

namespace ingot::frontend {

namespace {

/// The parts of an error, then those of its context and its cause.
std::vector<Value> parts_of_error(const Error& error) {
  std::vector<Value> parts = *error.parts;
  const auto add = [&](const Error& other) {
    const std::vector<Value> more = parts_of_error(other);
    parts.insert(parts.end(), more.begin(), more.end());
  };
  if (error.context) add(*error.context);
  if (error.cause && !error.is_caused_by_context()) add(*error.cause);
  return parts;
}

/// The error with the first elements of `parts` as its parts; removes them from `parts`.
Error error_with(Error error, std::span<const Value>& parts) {
  const size_t own = error.parts->size();
  error.parts = share(std::vector<Value>(parts.begin(), parts.begin() + static_cast<ptrdiff_t>(own)));
  parts = parts.subspan(own);
  const bool is_one = error.is_caused_by_context();
  if (error.context) error.context = share(error_with(*error.context, parts));
  if (error.cause) error.cause = is_one ? error.context : share(error_with(*error.cause, parts));
  return error;
}

bool same_errors(const Error& a, const Error& b) {
  const auto alike = [](const std::shared_ptr<const Error>& x, const std::shared_ptr<const Error>& y) {
    return x && y ? same_errors(*x, *y) : !x && !y;
  };
  return a.type.is(b.type) && a.kind == b.kind && a.message == b.message &&
         a.is_suppressing == b.is_suppressing && a.parts->size() == b.parts->size() &&
         a.is_caused_by_context() == b.is_caused_by_context() && alike(a.cause, b.cause) &&
         alike(a.context, b.context);
}

class ErrorKind final : public ValueKind {
 public:
  std::vector<Value> parts(const Value& value) const override { return parts_of_error(*value.as<Error>()); }
  Value with_parts(const Value& value, std::vector<Value> parts) const override {
    std::span<const Value> all = parts;
    return error_with(*value.as<Error>(), all);
  }
  bool same_form(const Value& a, const Value& b) const override {
    return same_errors(*a.as<Error>(), *b.as<Error>());
  }
  std::string type_name(const Tracer&, const Value& value) const override {
    return text_of(value.as<Error>()->type.attr("__name__"));
  }
  Answer attribute(Tracer& t, const Value& value, const std::string& name, nb::handle node) const override {
    const Error& error = *value.as<Error>();
    if (name == "args" && error.original.is_valid())
      return host_value(t, frontend::attribute(error.original, "args"), "the `args` of an exception", node);
    if (name == "args")
      return Tuple{error.kind ? std::vector<Value>{text_of_error(t, error)}
                              : arguments_of(t, error, "the `args` of")};
    if (name == "__cause__") return error.cause ? Value(*error.cause) : Static{nb::none()};
    if (name == "__context__") return error.context ? Value(*error.context) : Static{nb::none()};
    if (name == "__suppress_context__") return Static{nb::bool_(error.is_suppressing)};
    return std::nullopt;
  }
  Answer text(Tracer& t, const Value& value, const std::string& form, nb::handle node) const override {
    if (form.starts_with("{!r")) unsupported(t, node, "the repr of an exception", "show its text");
    return text_of_value(t, text_of_error(t, *value.as<Error>()), form, node);
  }
  std::optional<bool> known_truth(Tracer&, const Value&) const override { return true; }
};

}  // namespace

INGOT_VALUE_KIND(Error, ErrorKind)

}  // namespace ingot::frontend
