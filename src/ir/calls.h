#pragma once

#include <vector>

#include "ir/function.h"

namespace ingot::ir {

/// By function: whether it may call itself, perhaps through others.
std::vector<bool> recursive_functions(const Module& module);

}  // namespace ingot::ir
