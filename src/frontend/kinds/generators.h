#pragma once

#include "frontend/tracer/tracer.h"

/// Generators, and how iterables are iterated over.
namespace ingot::frontend {

Frame frame_of(const Definition& definition);
/// The result of a call of a generator function: an iterator, which has not begun.
Value suspended(Tracer& t, const Frame& frame, const std::map<std::string, Value>& locals);
Value eval_generator(Tracer& t, nb::handle e);
Value eval_yield(Tracer& t, nb::handle e);
Value eval_yield_from(Tracer& t, nb::handle e);
/// Iterates over an iterable. `held`: something else may hold the generator when the loop ends early.
void iterate(Tracer& t, const Value& iterable, nb::handle node, const Iteration& iteration, bool held);
bool is_held(const Tracer& t, const Value& given, uint32_t since,
             nb::handle expression);  ///< by something else
List list_of(Tracer& t, const Value& iterable, nb::handle node, std::optional<size_t> most = std::nullopt);
/// Raises if Python raises at once because a value is no iterable.
void need_iterable(Tracer& t, const Value& value);
/// The result of the `__iter__` of an instance's class; none: it has none.
std::optional<Value> iterator_of_object(Tracer& t, const Value& value, nb::handle node);
/// Unrolls the loops from number `since` on, where possible.
void unroll_loops(Tracer& t, size_t since, nb::handle node);
/// Whether a generator yields a value equal to `wanted`; iterates up to that value.
Value is_yielded(Tracer& t, const Value& wanted, const Value& given, nb::handle node);

}  // namespace ingot::frontend
