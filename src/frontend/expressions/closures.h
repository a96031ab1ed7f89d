#pragma once

#include "frontend/tracer/tracer.h"

/// Variables in cells, functions that are defined inside others, and comprehensions.
namespace ingot::frontend {

void run_function_def(Tracer& t, nb::handle s);
/// A variable of this activation, in a cell or not; null: it has never been bound.
Value* local(Tracer& t, const std::string& name);
void set_local(Tracer& t, const std::string& name, Value value);
uint32_t new_cell(Tracer& t, Value value);
void share_locals(Tracer& t);  ///< moves variables that inner functions use to cells
Value call_closure(Tracer& t, const Closure& closure, Call& call);
Value first_iterable(Tracer& t, nb::handle comprehension);
/// Evaluates `element` for each element of a comprehension; `first` is the outermost iterable.
void comprehend(Tracer& t, nb::handle e, const Value& first, const std::function<void()>& element);
/// `sum(... for ...)` and the like as loops; none for other calls.
std::optional<Value> call_of_generator(Tracer& t, const Value& callee, nb::handle e);
Value eval_walrus(Tracer& t, nb::handle e);
Value eval_lambda(Tracer& t, nb::handle e);
Value eval_list_comp(Tracer& t, nb::handle e);
Value list_buffer_comprehension(Tracer& t, nb::handle e, const Value& first);
Value eval_dict_comp(Tracer& t, nb::handle e);

}  // namespace ingot::frontend
