#pragma once

#include <memory>

#include "ir/function.h"

namespace ingot::transform {

/// Has loops carry the elements that each of their iterations loads and stores: see carry.cpp. At the loop
/// stage, before `schedule`; null: there are none.
std::unique_ptr<ir::Function> carry(const ir::Function& function);

}  // namespace ingot::transform
