#pragma once

#include <vector>

#include "ir/function.h"

namespace ingot::transform {

/// By parameter: whether the function, or what it calls, may write into the memory that the parameter shows.
/// At the loop stage.
std::vector<bool> written_parameters(const ir::Function& function);

}  // namespace ingot::transform
