#pragma once

#include "frontend/tracer/tracer.h"

/// Refusals, and exceptions that the program raises. Those that are raised where they can be caught go on in
/// `statements/exceptions`.
namespace ingot::frontend {

/// Raises an exception object of Python's own or NumPy's; `operands`: whose types it is raised for.
[[noreturn]] void raise_object(Tracer& t, nb::handle error, const std::vector<Value>& operands = {});
base::Unsupported refusal(const Tracer& t, nb::handle node, const std::string& reason,
                          const std::string& advice);
[[noreturn]] void unsupported(Tracer& t, nb::handle node, const std::string& reason,
                              const std::string& advice);
/// Descriptions of an expression's variables, for a message; in Ingot's library: of the user's call.
std::vector<std::string> operands_of(const Tracer& t, nb::handle node);
/// Values of an expression's variables, by name; in Ingot's library: of the user's call.
std::vector<std::pair<std::string, const Value*>> variables_in(const Tracer& t, nb::handle node);
/// Whether a number depends on one that was of another kind on another path.
bool comes_of_mixed(const Tracer& t, const Value& value);
/// Refuses code that is about to raise because of a number's kind, if it has this kind on some paths only.
void need_one_kind(Tracer& t, base::ExceptionKind kind, const std::vector<Value>& operands = {});
[[noreturn]] void raise(Tracer& t, base::ExceptionKind kind, std::string_view message,
                        std::initializer_list<NodeId> values = {});
[[noreturn]] void raise_host_error(Tracer& t, nb::python_error& error);
[[noreturn]] void raise_key_error(Tracer& t, const Value& key);
/// Raises if a condition is false.
void check(Tracer& t, NodeId condition, base::ExceptionKind kind, std::string_view message,
           std::span<const NodeId> values);
inline void check(Tracer& t, NodeId condition, base::ExceptionKind kind, std::string_view message,
                  std::initializer_list<NodeId> values = {}) {
  check(t, condition, kind, message, std::span(values.begin(), values.size()));
}
/// The message is the repr of a number and `rest`.
[[noreturn]] void raise_showing(Tracer& t, base::ExceptionKind kind, const Scalar& number,
                                const std::string& rest);
void check_showing(Tracer& t, NodeId condition, base::ExceptionKind kind, const Scalar& number,
                   const std::string& rest);
/// Raises an error; the last of those that are being handled becomes its context.
[[noreturn]] void raise_error(Tracer& t, const Error& error);
Error error_of(Tracer& t, base::ExceptionKind kind, std::string_view message, std::span<const NodeId> values);
Error make_error(Tracer& t, nb::object type, std::vector<Value> arguments);
base::SourceLocation location_of(const Tracer& t, nb::handle node);
/// Counts a statement or expression that is about to be evaluated; refuses endless growth.
void step(Tracer& t, nb::handle node);

}  // namespace ingot::frontend
