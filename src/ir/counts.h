#pragma once

#include <vector>

#include "ir/function.h"

namespace ingot::ir {

/// Of each parameter of the entry, whether it may be a number that decides how much there is to do: how often
/// a loop runs, how long an array is that is made. Numbers that only decide what is raised, how arrays are
/// seen, or which branch is taken, do not. At the array stage.
std::vector<bool> may_count(const Module& module, FunctionId entry);

}  // namespace ingot::ir
