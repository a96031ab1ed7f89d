#pragma once

#include "frontend/kinds/value_kind.h"

namespace ingot::frontend {

/// Whether inner functions have the same code and variables, except for their values.
bool same_definition(const Definition& x, const Definition& y);
/// An inner function with other numbers for the cells of its variables.
std::shared_ptr<const Definition> renumbered(const Definition& definition, const ValueKind::Renumber& object);

}  // namespace ingot::frontend
