#pragma once

#include <vector>

#include "ir/function.h"

namespace ingot::ir {

/// By function: whether it may call itself, perhaps through others.
std::vector<bool> recursive_functions(const Module& module);

/// By function, whether a condition holds of it or of one that it calls, perhaps through others.
std::vector<bool> functions_reaching(const Module& module, bool (*holds)(const Function&));

}  // namespace ingot::ir
