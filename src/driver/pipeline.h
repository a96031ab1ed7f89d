#pragma once

#include <span>
#include <string_view>

#include "base/machine.h"
#include "driver/phase_scope.h"
#include "ir/function.h"

namespace ingot::driver {

/// The passes that make a program of a frontend's functions, at the array stage, in this order.
std::span<const std::string_view> front();

/// The passes that take a function from either stage to the loop stage as a machine runs it, in this order.
std::span<const std::string_view> pipeline_of(const base::Machine& machine);

/// The passes that come last, also for functions that are given at the loop stage: they decide what goes past
/// the caches, what threads share, how many lanes a loop has, and how long a buffer lives.
std::span<const std::string_view> decisions_of(const base::Machine& machine);

/// Runs passes on every function of a module, each as a phase of the report; functions that the entries do
/// not reach are then dropped. `stage`: the stage of the functions before.
void run_passes(ir::Module& module, std::span<const ir::FunctionId> entries,
                std::span<const std::string_view> names, const base::Machine& machine, ir::Stage stage,
                Report& report);

}  // namespace ingot::driver
