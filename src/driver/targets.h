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

/// The CPUs of a level of x86-64's psABI, 1 to 4, for code with no program around it, and of what the
/// environment asks for, INGOT_THREADS and INGOT_STREAMS.
codegen::Target ahead_of_time(int level);

/// The kind of code that the environment asks for, for tests: INGOT_VECTORS (`scalar`, `sse`, `avx2`,
/// `avx512`), INGOT_THREADS (`always`, `never`), INGOT_STREAMS (`always`).
codegen::Target asked_for();

}  // namespace ingot::driver
