#pragma once

#include <memory>

#include "ir/function.h"

namespace ingot::transform {

/// At the array stage: what is read from a buffer that holds an array for nothing but being read - it is not
/// written, returned, carried, or given on - is that array, and the buffer goes. So statements that give
/// their value a name are no borders to `to_loops`, which evaluates chains of arrays in one nest.
std::unique_ptr<ir::Function> fuse(const ir::Function& function);

}  // namespace ingot::transform
