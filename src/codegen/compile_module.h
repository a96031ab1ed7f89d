#pragma once

#include <functional>

#include "codegen/compile.h"
#include "codegen/unit.h"

namespace ingot::codegen {

/// Makes an LLVM module, lets `emit` fill it, and gives its object.
Compiled compile_module(const ir::Module& source, const Target& target, const Options& options,
                        const std::function<void(Unit&)>& emit);

}  // namespace ingot::codegen
