#pragma once

#include "frontend/tracer/tracer.h"

/// Expressions (`ast.expr`).
namespace ingot::frontend {

Value eval(Tracer& t, nb::handle expression);
Value eval_name(Tracer& t, nb::handle e);
/// The exception of a variable that is not bound, and its message.
std::pair<base::ExceptionKind, std::string> absence_of(const Tracer& t, const std::string& name);
Value eval_condition(Tracer& t, nb::handle e);  ///< a value of the same truth, perhaps another one
Value eval_index(Tracer& t,
                 nb::handle e);  ///< where None is another index: TypeChangeError if it is None at run time
Value eval_item(Tracer& t, const Value& container, const Value& index, nb::handle e);
void need_small(Tracer& t, const Value& tuple, nb::handle node);  ///< refuses one of too many values
/// The result of a module's `__getattr__` (PEP 562); none: it has the attribute, or no such function.
std::optional<Value> made_by_module(Tracer& t, const nb::object& module, const std::string& name,
                                    nb::handle e);
void need_present(Tracer& t, Call& call);  ///< none of its arguments may be None
/// Handles a call of Python's or NumPy's own functions with foreign arguments: raises or refuses.
void refuse_foreign(Tracer& t, const Call& call, const std::string& name, nb::object function);
/// Runs a handler; if it refuses arguments whose types make Python raise, raises that error.
Value handle(Tracer& t, const Builtin& builtin, Call& call);
/// Refuses NumPy keywords that the library's version of a function does not take.
void refuse_keywords(Tracer& t, const nb::object& function, Call& call);
/// The value that `owner` (a dict, a cell without a name, an object with attributes) holds: guarded, or a
/// hidden argument.
Value outside(Tracer& t, const nb::object& owner, const std::string& name, const nb::object& object,
              const std::string& what, nb::handle e);
[[noreturn]] void refuse_call(Tracer& t, const nb::object& function, nb::handle node);

}  // namespace ingot::frontend
