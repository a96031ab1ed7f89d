#pragma once

#include "frontend/tracer/tracer.h"

/// Exceptions: raised, caught, and what leaves the function.
namespace ingot::frontend {

/// The operands of a `raise` or `check` op; none: it needs more than they hold.
struct Notice {
  base::ExceptionKind kind;
  ir::TextId message;
  std::vector<NodeId> values;
  std::optional<int64_t> made{};  ///< among `Tracer::errors`
  std::vector<int64_t> attributes() const;
};

void run_raise(Tracer& t, nb::handle s);
void run_assert(Tracer& t, nb::handle s);
void run_try(Tracer& t, nb::handle s);
void run_with(Tracer& t, nb::handle s);
/// Looks for the clause that catches a raised error.
[[noreturn]] void pass_on(Tracer& t, const Error& error);
/// An error's `args`; refused where code of its class may change them.
const std::vector<Value>& arguments_of(Tracer& t, const Error& error, const std::string& what);
bool may_be_caught(const Tracer& t, const Error& error);
[[noreturn]] void raise_uncaught(Tracer& t, const Error& error);
Error in_context(const Tracer& t, Error error);
/// Adds the exceptions being handled here as context to an error of a function evaluated without them.
Error in_outer_context(Tracer& t, Error error);
Error caught(const Tracer& t, Error error, const Catcher& handler);
std::optional<Notice> notice_of(Tracer& t, const Error& error);

}  // namespace ingot::frontend
