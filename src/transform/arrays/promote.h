#pragma once

#include <memory>

#include "ir/function.h"

namespace ingot::transform {

/// Loops and branches carry arrays of floats as values where they carried their memory, if only the iteration
/// that makes that memory writes to it, before it yields it, and only its elements and lengths are used. So
/// each iteration has a value of its own, which needs no shadow for derivatives. At the array stage, after
/// `simplify`. Null: there is none.
std::unique_ptr<ir::Function> promote(const ir::Function& function);

}  // namespace ingot::transform
