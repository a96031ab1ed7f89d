#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "base/machine.h"
#include "ir/function.h"

namespace ingot::transform {

/// A pass as a pipeline lists it: from a function, a new one; null: it stays as it is.
struct Pass {
  std::string_view name;
  std::unique_ptr<ir::Function> (*run)(const ir::Function&, const base::Machine&);
  ir::Stage after;  ///< the stage its functions are at; Both: that of the function given
};

/// All passes, by name.
std::span<const Pass> passes();
/// The pass of this name, or null.
const Pass* find_pass(std::string_view name);

/// Runs a pass on every function that is defined.
void run_on_all(ir::Module& module, const Pass& pass, const base::Machine& machine);

}  // namespace ingot::transform
