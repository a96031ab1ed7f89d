#pragma once

#include "frontend/kinds/value_kind.h"
#include "frontend/tracer/errors.h"

/// What a part of this component asks of those above it (see `docs/architecture.md` for their order): an
/// operation of Python leads to any other one by the user's code.
namespace ingot::frontend {

/// Runs statements.
void run_body(Tracer& t, nb::handle statements);
/// Assigns to a target: a name, an attribute, an item, or several in a tuple.
void assign(Tracer& t, nb::handle target, Value value);
/// Gives a variable of this activation a value.
void bind_variable(Tracer& t, const std::string& name, Value value);
Value stored(Tracer& t, Value value);  ///< for a variable, which can be an alias: an array becomes memory
/// A hidden argument; a routine is passed it from its first use on; null: there is none.
const Value* captured(Tracer& t, PyObject* owner, const std::string& name);
/// Leaves a routine that reports errors with the number of one.
[[noreturn]] void report(Tracer& t, const Catcher& routine, const Error& error);
/// An iterator of a type of this name over an iterable.
Value iterator(Tracer& t, std::string name, Value iterates);
/// The iterable of an iterator, which is exhausted then; other values as they are.
Value begin_iterate(Tracer& t, const Value& iterable, nb::handle node);
/// Runs an iteration for each element of a known iterable; each one sees what earlier ones changed in it.
void each_element(Tracer& t, const Value& iterable, std::vector<Value> elements, nb::handle node,
                  const std::function<void(const Value&)>& iteration);
/// The iterations over an iterable, in a loop of the IR.
Trips trips_of(Tracer& t, const Value& iterable, nb::handle node);
/// The elements of an iterable whose length is known; none: it is not. `ranges`: also those of known ranges.
std::optional<std::vector<Value>> static_elements(Tracer& t, const Value& iterable, nb::handle node,
                                                  bool ranges = false);
/// The value of the path that a condition leads to: evaluates both, whose states join.
Value fork(Tracer& t, NodeId condition, const std::function<Value()>& then,
           const std::function<Value()>& other);
/// Like `eval`, but the value may still be None at run time: for arguments that take None.
Value eval_open(Tracer& t, nb::handle expression);
Value open(Tracer& t, const Value& value, const std::string& name,
           nb::handle node);  ///< raises where it is not bound
/// An attribute, as Python looks it up.
Value attribute_of(Tracer& t, const Value& value, const std::string& name, nb::handle node);
/// Calls a function, class, method or instance.
Value call_value(Tracer& t, const Value& callee, Call& call);
/// Raises what Python's function raises, if the types, number and names of the arguments decide it.
void raise_as_called(Tracer& t, const Call& call);
/// Calls a Python function with its arguments as they are.
Value inline_function(Tracer& t, const nb::object& function, Call& call);
/// Of nested lists and tuples of numbers and arrays; without a dtype, NumPy's for them.
Value array_of(Tracer& t, const Value& value, nb::handle node, std::optional<DType> wanted = std::nullopt);
/// The array that NumPy makes of a range.
Value array_of_range(Tracer& t, const Range& range, nb::handle node);
std::vector<Value> elements_of(Tracer& t, const Value& iterable, nb::handle node);  ///< demanded, or refused
std::optional<Value> form_of_list(Tracer& t, const HeapObject& list);  ///< unbound: of an empty one
/// The list buffer that two lists can become, with slots as values.
std::optional<HeapObject> join_lists(Tracer& t, const HeapObject& a, const HeapObject& b);
/// A list as a list buffer of elements of a form.
HeapObject as_list_buffer(Tracer& t, const HeapObject& list, const Value& form);
/// Makes a list one.
void become_list_buffer(Tracer& t, uint32_t list, const Value& form);
std::optional<Value> iterated_of(const Tracer& t,
                                 const Value& iterable);  ///< the lists that represent a dict of unknown keys
/// A list or dict of the shadow heap, by its number; refuses it if its structure differs between paths or is
/// not known.
HeapObject& contents(Tracer& t, uint32_t container, nb::handle node);
/// A pointer of a type to an array's elements.
Foreign pointer_to(Tracer& t, const Array& array, const nb::object& type);
bool is_foreign(const Tracer& t, const Value& value);  ///< or contains a foreign value
/// Handles operands of which one is foreign: raises what the types make Python raise, else refuses.
/// `operation` is "binary", "compare", "unary", "subscript", "store", "attribute", "iterate", "unpack",
/// "call" (of `function`) or "" (always refused), `symbol` what it is called.
[[noreturn]] void use_foreign(Tracer& t, const char* operation, const std::string& symbol,
                              const std::vector<Value>& operands, nb::handle node,
                              nb::object function = nb::none());
/// Raises what Python raises for operands of these types, if the types alone decide it.
void raise_by_type(Tracer& t, const char* operation, const std::string& symbol,
                   const std::vector<Value>& operands, nb::object function = nb::none(),
                   const std::vector<std::pair<std::string, Value>>& keywords = {});
/// An object of the same type as a value, for what depends on types only; invalid: there is none.
nb::object stand_in(const Tracer& t, const Value& value);
/// The string of an exception, as `str` gives it.
Value text_of_error(Tracer& t, const Error& error);
void run_finals(Tracer& t, size_t outside);  ///< evaluates the `finally` clauses between here and a label
/// The description of a value that leaves the function; refuses those that cannot.
Description describe_result(Tracer& t, const Value& value, Outward& outward);
/// What the evaluation knows of an object of the host; refuses those of unsupported types. `what`: the words
/// for it.
Value host_value(Tracer& t, nb::object object, const std::string& what, nb::handle node);
/// Whether a function accepts a call with this number and these names of arguments.
bool binds(const nb::object& function, const Call& call);
/// The variables with which a function begins; raises TypeError where they do not fit. `closure`: of a
/// function that is defined inside, with its defaults.
std::map<std::string, Value> bind_arguments(Tracer& t, const nb::object& function,
                                            std::vector<Value> positional,
                                            const std::vector<std::pair<std::string, Value>>& keywords,
                                            nb::handle node, const Closure* closure = nullptr);
/// Calls the function of a frame: its body is evaluated here, or a routine is called.
Value run_frame(Tracer& t, Frame& frame, std::map<std::string, Value> locals, nb::handle node);
/// The message for a call of an unknown function, and what to write instead.
std::pair<std::string, std::string> refusal_of_call(const nb::object& function);

/// Calls a function of a module of Ingot's library.
Value call_library(Tracer& t, const char* module, const char* name, std::vector<Value> arguments,
                   nb::handle node, std::vector<std::pair<std::string, Value>> keywords = {});

/// What Python's own code returns, which runs now; what it raises, the program raises.
template <class Fn>
auto by_python(Tracer& t, const Fn& fn) {
  try {
    return fn();
  } catch (nb::python_error& error) {
    raise_host_error(t, error);
  }
}

}  // namespace ingot::frontend
