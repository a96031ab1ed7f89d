#pragma once

#include <memory>

#include "ir/function.h"

namespace ingot::transform {

/// Loops and branches carry arrays of floats as values where they carried their memory, if nobody writes to
/// that memory but the iteration that makes it, before it hands it on, and all that is asked of it is its
/// elements and lengths. So each iteration has a value of its own, which derivatives need no shadow of. At
/// the array stage, after `simplify`. Null: there is none.
std::unique_ptr<ir::Function> promote(const ir::Function& function);

}  // namespace ingot::transform
