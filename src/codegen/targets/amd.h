#pragma once

#include <string_view>

namespace ingot::codegen {

class KernelTarget;

/// The kernel target of AMD's GPUs of a processor that LLVM names: `gfx90a`, `gfx942`, `gfx1100`. The code
/// that its driver's linker takes is an object. Lives until the program ends. Null for a processor that no
/// code is made for.
const KernelTarget* amd_target(std::string_view processor);

}  // namespace ingot::codegen
