#pragma once

#include <string>
#include <vector>

#include "codegen/targets/target.h"

namespace ingot::driver {

/// What code can be made for here, by LLVM's names.
struct Targets {
  std::string cpu;                   ///< this one
  std::vector<std::string> devices;  ///< generations of GPUs, oldest first
};
Targets targets();

/// The kind of code that the environment asks for, for tests: INGOT_VECTORS (`scalar`, `sse`, `avx2`,
/// `avx512`), INGOT_THREADS (`always`, `never`), INGOT_STREAMS (`always`).
codegen::Target asked_for();

}  // namespace ingot::driver
