#pragma once

#include "frontend/tracer/tracer.h"

/// Dicts of keys that are not known when compiling, as list buffers of keys and values.
namespace ingot::frontend {

const HeapObject* mapping(const Tracer& t, const Value& value);  ///< null: not a dict of unknown keys
bool is_of_mapping(const Tracer& t, const Value& list);          ///< the keys or the values of one
Dict make_dict(Tracer& t, nb::handle node);
/// If a key is not known and the dict can become one of unknown keys, asks for that.
void ask_for_mapping(Tracer& t, Dict dict, const Value& key, nb::handle node);
Value by_dicts(Tracer& t, const char* name, const HeapObject& dict, std::vector<Value> more, nb::handle node,
               bool with_values = true);
void put_in_mapping(Tracer& t, Dict dict, const Value& key, const Value& value, nb::handle node);
void refuse_while_iterated(Tracer& t, const HeapObject& dict, nb::handle node);
Value mapping_method(Tracer& t, Dict dict, const std::string& name, Call& call);
void by_update(Tracer& t, Dict dict, const Value& other, nb::handle node);

}  // namespace ingot::frontend
