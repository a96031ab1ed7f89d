#pragma once

#include "frontend/tracer/tracer.h"

/// Numbers: their kinds, what is known of them, and their nodes.
namespace ingot::frontend {

Value known_number(Tracer& t, const Value& value);       ///< Static where it is a constant int
NodeId stage(Tracer& t, const Value& value, Kind kind);  ///< a number as a scalar node of this kind
NodeId stage_for_loop(Tracer& t, const Value& value,
                      DType loop);                  ///< an operand of a NumPy loop, weak ones checked
NodeId stage_index(Tracer& t, const Value& value);  ///< an integer (by __index__) as i64
std::optional<Kind> kind_of(const Value& value);    ///< of numbers and arrays
std::optional<int64_t> static_int(const Value& value);
void need_index_sized(Tracer& t, const Value& index);  ///< else raises IndexError as Python's sequences do
/// Reports a Python int that does not fit; Python's ints do not overflow, so no clause catches that.
void need_64_bits(Tracer& t, NodeId fits);
/// The loop or argument that a number depends on, and that can be known when compiling. `is_last`: also
/// numbers in dicts and instances, which may change from call to call.
std::optional<NeedsFact> source_of(const Tracer& t, NodeId number, nb::handle node, bool is_last = false);
void settle(const Tracer& t, Value& value, NodeId condition);
void settle(const Tracer& t, Conflict& conflict, NodeId condition);
void demand(Tracer& t, NodeId number, nb::handle node);  ///< of `source_of`, if there is one
nb::object require_static(Tracer& t, const Value& value, const char* what, nb::handle node);
Value stage_number(Tracer& t, const Value& value);  ///< a static number as a constant; others as they are
NodeId is_there(Tracer& t, const Maybe& maybe);     ///< neither None nor unbound
Value present(Tracer& t, const Value& value, const std::string& name, nb::handle node);  ///< a Maybe, checked
std::string type_name(const Tracer& t, const Value& value);  ///< as Python's messages name it
/// -1 or 1 for a known Python int that is below or above the range of 64 bits; 0: any other value.
int side_of_64_bits(const Value& value);
/// Whether it is an int that NumPy makes an object, because no integer dtype can hold it.
bool is_object_of_numpy(const Value& value);

}  // namespace ingot::frontend
