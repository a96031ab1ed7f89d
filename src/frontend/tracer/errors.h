#pragma once

#include "frontend/tracer/tracer.h"

/// Refusals, and exceptions that the program raises, for all parts. What raises or checks is defined in
/// `statements/exceptions`, since a clause of the program may catch it.
namespace ingot::frontend {

/// Raises an exception object of Python's own or NumPy's; `operands`: whose types it is raised for.
[[noreturn]] void raise_object(Tracer& t, nb::handle error, const std::vector<Value>& operands = {});
/// What refuses the code at a node: with its location, the calls that led there and the values of its
/// variables.
base::Unsupported refusal(const Tracer& t, nb::handle node, const std::string& reason,
                          const std::string& advice);
/// Refuses the code at a node; `advice`: what to write instead.
[[noreturn]] void unsupported(Tracer& t, nb::handle node, const std::string& reason,
                              const std::string& advice);
/// Values of an expression's variables, by name; in Ingot's library: of the user's call.
std::vector<std::pair<std::string, const Value*>> variables_in(const Tracer& t, nb::handle node);
/// Refuses code that is about to raise because of a number's kind, if it has this kind on some paths only.
void need_one_kind(Tracer& t, base::ExceptionKind kind, const std::vector<Value>& operands = {});
/// Raises an exception of the core's kinds; `{}` in the message stand for numbers, in order.
[[noreturn]] void raise(Tracer& t, base::ExceptionKind kind, std::string_view message,
                        std::initializer_list<NodeId> values = {});
/// Raises what code that runs on the host now has raised; lack of memory is thrown on.
[[noreturn]] void raise_host_error(Tracer& t, nb::python_error& error);
/// Raises KeyError of a key.
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
/// The same if a condition is false.
void check_showing(Tracer& t, NodeId condition, base::ExceptionKind kind, const Scalar& number,
                   const std::string& rest);
/// Raises an error; the last of those that are being handled becomes its context.
[[noreturn]] void raise_error(Tracer& t, const Error& error);
/// An exception of a class, with arguments, that has not been raised.
Error make_error(Tracer& t, nb::object type, std::vector<Value> arguments);
/// The location of a node, or of what is being evaluated; in code of libraries, that of the call.
base::SourceLocation location_of(const Tracer& t, nb::handle node);
/// Counts a statement or expression that is about to be evaluated; refuses endless growth.
void step(Tracer& t, nb::handle node);

}  // namespace ingot::frontend
