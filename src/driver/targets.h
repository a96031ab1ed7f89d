#pragma once

#include <string>
#include <vector>

#include "codegen/targets/target.h"

namespace ingot::driver {

/// The targets available here, by LLVM's names.
struct Targets {
  std::string cpu;                   ///< this one
  std::vector<std::string> devices;  ///< generations of GPUs, oldest first
};
Targets targets();

/// The CPUs of a level of x86-64's psABI, 1 to 4, for code without an embedding program, and of what the
/// environment requests, INGOT_THREADS and INGOT_STREAMS.
codegen::Target ahead_of_time(int level);

/// The target that the environment requests, for tests: INGOT_VECTORS (`scalar`, `sse`, `avx2`, `avx512`),
/// INGOT_THREADS (`always`, `never`), INGOT_STREAMS (`always`).
codegen::Target asked_for();

}  // namespace ingot::driver
