#pragma once

#include "frontend/tracer/tracer.h"

/// What lists and dicts of the shadow heap, and instances, have in common: their structure is known, their
/// elements are staged. Containers are given by their number.
namespace ingot::frontend {

/// Adds one to the shadow heap.
uint32_t new_container(Tracer& t, HeapObject object);
/// A value as a container holds it; refuses it if it holds the container.
Value stored_in(Tracer& t, uint32_t container, Value value, nb::handle node);
/// Stores a value in the caller's own container, now or when the call ends, even by an exception. `position`:
/// the number of the element; none: it is added.
void write_back(Tracer& t, uint32_t container, std::optional<size_t> position, const nb::object& key,
                const Value& value, nb::handle node);
/// Calls a method of the caller's own container, if it is one.
void replay(Tracer& t, uint32_t container, const char* method, const std::vector<Value>& arguments,
            nb::handle node);
/// What a method of a container of the host returns, which shows what a change does.
nb::object host_change(Tracer& t, const nb::object& container, const char* method,
                       const nb::tuple& arguments);
/// Refuses the use of an object that belongs to the caller.
void need_own(Tracer& t, const HeapObject& object, nb::handle node);
/// Whether an element is this value already; only of joined objects, which are not changed.
bool is_held(const Tracer& t, uint32_t container, size_t position, const Value& value);
/// The description of an object that the function has made, which may be one of the caller's if it is a
/// joined one.
Description described_joined(Tracer& t, uint32_t object, Outward& outward,
                             const std::function<Description()>& own);
/// Adds the cells, hidden arguments for the numbers that are stored in the caller's containers: an element
/// of `tags` holds the kind, that of `ints`, `floats` or `complexes` the value.
void add_cells(Tracer& t);
NodeId cell_of(Tracer& t, int container, const char* what);
/// `list op= right` and `dict op= right` where no rule of theirs has answered: by the operator of `right`;
/// else raises, or refuses it.
Value by_other_in_place(Tracer& t, Operator op, const Value& value, const Value& right, nb::handle node);

}  // namespace ingot::frontend
