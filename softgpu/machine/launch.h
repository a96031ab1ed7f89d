#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "softgpu/machine/fault.h"
#include "softgpu/machine/program.h"

namespace softgpu {

class Touched;

struct LaunchOptions {
  /// 0: blocks one after the other and warps in their order; else in an order drawn from it, up to eight
  /// blocks alternately.
  uint64_t seed = 0;
  bool all_resident = false;  ///< all blocks are there from the beginning, as in a cooperative launch
  /// Blocks that are there at once, at most, where some wait for others.
  uint32_t most_resident = 64;
  uint64_t limit = uint64_t{1} << 40;  ///< instructions of threads until Timeout
  bool finds_races = false;            ///< races on shared and global memory are faults
  std::string* printed = nullptr;      ///< what printf of the kernel writes is added to it
  Touched* touched = nullptr;          ///< where `finds_races`: what it touches is added to it
};

struct LaunchShape {
  std::array<uint32_t, 3> grid{1, 1, 1};
  std::array<uint32_t, 3> block{1, 1, 1};
  uint32_t dynamic_shared = 0;
};

struct LaunchCounts {
  uint64_t instructions = 0;  ///< of threads
  uint64_t issues = 0;        ///< of warps
};

/// Runs a kernel to its end: every block, its warps alternately in lock step. `parameters` have the layout
/// that the kernel declares (`Function::parameters`). Threads that diverge join again at the immediate
/// post-dominator of the branch; paths that wait let the others go on. Where all blocks that have begun wait
/// for a change in memory - they load an address again and again by strong accesses or atomics - and nothing
/// changes, further blocks begin; if none can, that is a Fault. Throws Fault; memory then keeps what was
/// written until there.
LaunchCounts run_kernel(const Program& program, const Function& kernel, const LaunchShape& shape,
                        const std::vector<std::byte>& parameters, Memory& memory,
                        const LaunchOptions& options = {});

}  // namespace softgpu
