#pragma once

#include <set>
#include <string>

#include "base/error.h"
#include "frontend/tracer/tracer.h"

namespace ingot::frontend {

/// Asks for the fact that a set has unknown elements (throws NeedsFact), unless that has been tried in vain.
/// `site`: `made_at` of its cell; if it is empty, does nothing.
void ask_for_staged_set(const std::set<std::string>& facts, const std::string& site,
                        const base::SourceLocation& location);

/// After a refusal: changes the facts about a function's sets. Sets with unknown elements become known ones;
/// if there are none, sets for which loops were unrolled become unknown ones. Whether a fact has changed.
bool try_other_sets(std::set<std::string>& facts);

nb::object history_of(Tracer& t, const Set& set, nb::handle node);
nb::object host_set(Tracer& t, const Set& set,
                    nb::handle node);  ///< a new one, of the same elements and order
void need_hashable(Tracer& t, const Value& value, nb::handle node);
Value eval_set(Tracer& t, nb::handle e);
Value eval_set_comp(Tracer& t, nb::handle e);
std::vector<Value> elements_of_set(Tracer& t, const Set& set, nb::handle node);

}  // namespace ingot::frontend
