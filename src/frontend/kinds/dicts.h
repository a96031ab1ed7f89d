#pragma once

#include "frontend/tracer/tracer.h"

/// Dicts of the shadow heap: of known keys, or of unknown ones (`mappings.h`).
namespace ingot::frontend {

Dict new_dict(Tracer& t, std::vector<nb::object> keys, std::vector<Value> values);
void put(Tracer& t, Dict dict, const Value& key, Value value, nb::handle node);
Value dict_method(Tracer& t, Dict dict, const std::string& name, Call& call);
/// An operator that sets have, and the keys and items of dicts.
bool is_of_sets(Operator op);
/// Whether it is the keys or items of a dict, which have these operators.
bool is_like_set(const Value& value);
/// The items of a dict of known keys, or the pairs that an iterable has.
std::vector<std::pair<Value, Value>> items_of(Tracer& t, const Value& mapping, nb::handle node);

}  // namespace ingot::frontend
