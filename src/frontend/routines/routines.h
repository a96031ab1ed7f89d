#pragma once

#include "frontend/tracer/tracer.h"

/// Python functions that become functions of the IR: recursive, marked and frequently called ones.
namespace ingot::frontend {

/// Calls a function that is a routine, or becomes one by this call; none: the caller has to inline it.
std::optional<Value> call_recursive(Tracer& t, Frame& frame, const std::map<std::string, Value>& locals,
                                    nb::handle node);
Passed passed(const Tracer& t, const std::map<std::string, Value>& arguments,
              const std::set<uint32_t>& pools = {});
bool is_same_function(const Frame& a, const Frame& b);
/// Calls a function that is marked as a routine, which is compiled for each shape of what is passed.
Value call_marked(Tracer& t, const Frame& frame, State key, bool reports, nb::handle node);
/// Whether a user's function has been inlined so often that its calls grow too large.
bool is_called_often(Tracer& t, const Frame& frame);
/// Calls such a function as if it were marked; none: it is inlined all the same.
std::optional<Value> call_frequent(Tracer& t, const Frame& frame, State key, bool reports, nb::handle node);
std::string root_path(const Tracer& t);  ///< where the paths of calls begin
void begin_routines(Tracer& t);
void finish_routines(Tracer& t);
bool is_same_shape(const State& a, const State& b);
std::vector<ir::ParameterInfo> forms_of(Tracer& t, const State& shape, const State& given);
std::vector<size_t> slots_of_arguments(Tracer& t, const State& entry);
void trace_parameter(Tracer& t, Routine& routine, uint32_t parameter, NodeId operand);
ir::SpanId inlined_here(Tracer& t, ir::SpanId inner);
bool is_same_location(const Tracer& t, ir::SpanId a, ir::SpanId b);
void add_callers(const Tracer& t, base::Unsupported& refusal);
HeapObject& pool_at(Tracer& t, uint32_t pool);  ///< a routine is passed it from its first use on

}  // namespace ingot::frontend
