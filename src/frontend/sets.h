#pragma once

#include <set>
#include <string>

#include "base/error.h"

namespace ingot::frontend {

/// Asks for the fact that a set has elements that are not known when compiling (throws `Demand`), unless that
/// has been tried in vain. `site`: `made_at` of its cell; nothing is asked where that is empty.
void ask_for_staged_set(const std::set<std::string>& facts, const std::string& site,
                        const base::Place& place);

/// After a refusal: other facts about the sets of a function. Those whose elements were not known are to be
/// known, or else those for which loops were unrolled are not; whether there were some.
bool try_other_sets(std::set<std::string>& facts);

}  // namespace ingot::frontend
