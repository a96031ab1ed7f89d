#pragma once

#include <memory>

#include "ir/function.h"

namespace ingot::transform {

/// At the array stage: what is read from a buffer that holds an array, before the buffer is used for anything
/// but being read - it is written, returned, carried, or given on - is that array. So statements that give
/// their value a name are no borders to `to_loops`, which evaluates chains of arrays in one nest; buffers
/// that nothing else uses go.
std::unique_ptr<ir::Function> fuse(const ir::Function& function);

}  // namespace ingot::transform
