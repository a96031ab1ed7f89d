#pragma once

#include <memory>

#include "ir/function.h"

namespace ingot::transform {

/// Follows the directives of the function's module, in their order: see directives.cpp. At the loop stage,
/// after `checks` and before all passes that choose loops; null: there are none for this function. The nests
/// that result are added to the module's text.
///
/// Throws base::Unsupported where a name is of no loop, or of several, and where a directive would change
/// what is computed.
std::unique_ptr<ir::Function> follow_directives(const ir::Function& function);

}  // namespace ingot::transform
