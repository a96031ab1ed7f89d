#pragma once

#include "frontend/tracer/tracer.h"

/// Methods of lists and dicts.
namespace ingot::frontend {

Value new_list(Tracer& t, std::vector<Value> values);
Value new_dict(Tracer& t, std::vector<nb::object> keys, std::vector<Value> values);
Value static_value(Tracer& t, const nb::object& object);  ///< a host list becomes a list of the shadow heap
void replay(Tracer& t, const Reference& container, const char* method, const std::vector<Value>& arguments,
            nb::handle node);
Value change_list(Tracer& t, const Reference& list, const char* method, std::vector<Value> arguments,
                  std::vector<Value> added, nb::handle node);
Value remove_from_dict(Tracer& t, const Reference& dict, const char* method,
                       const std::vector<Value>& arguments, nb::handle node);
std::vector<size_t> indices_of(Tracer& t, const Slice& slice, size_t size, nb::handle node);
NodeId index_of_equal(Tracer& t, const std::vector<Value>& values, const Value& wanted, nb::handle node);
Value list_method(Tracer& t, const Reference& list, const std::string& name, Call& call);
Value count_of_equal(Tracer& t, const std::vector<Value>& values, const Value& wanted, nb::handle node);
Value dict_method(Tracer& t, const Reference& dict, const std::string& name, Call& call);
std::vector<Value> sorted_values(Tracer& t, const std::vector<Value>& values, Call& call);
std::vector<std::pair<Value, Value>> items_of(Tracer& t, const Value& mapping, nb::handle node);

}  // namespace ingot::frontend
