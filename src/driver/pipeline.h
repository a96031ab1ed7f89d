#pragma once

#include <span>
#include <string_view>

#include "base/machine.h"

namespace ingot::driver {

/// The passes that take a function from either stage to the loop stage as a machine runs it, in this order.
std::span<const std::string_view> pipeline_of(const base::Machine& machine);

/// The passes that come last, also for functions that are given at the loop stage: they decide what goes past
/// the caches, what threads share, how many lanes a loop has, and how long a buffer lives.
std::span<const std::string_view> decisions_of(const base::Machine& machine);

}  // namespace ingot::driver
