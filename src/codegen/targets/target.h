#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/machine.h"

namespace ingot::codegen {

class Instructions;
class KernelTarget;

/// The CPU that code is made for, and the device whose host it is.
struct Target {
  std::string cpu;        ///< LLVM's name: `znver4`
  std::string features;   ///< LLVM's list: `+avx2,-avx512f`
  std::string needs;      ///< features that code may use: features of base/cpu.h, commas between
  int level = 1;          ///< of the x86-64 psABI, 1 to 4
  base::Machine machine;  ///< its properties for passes
  const Instructions* instructions = {};  ///< the CPU's operations; never null
  /// The target of kernels, where arrays are on a device: then the machine has kernels. Null: there are none.
  const KernelTarget* kernels = {};
  /// For launches that a program writes out: the most threads of a block, which is promised; 0: as many as
  /// there may be. And how many blocks should fit on a processor, which the compiler is asked for; 0: any
  /// number.
  unsigned most_threads = 0;
  unsigned fewest_blocks = 0;

  /// The CPU this runs on.
  static Target host();
  /// Any x86-64 CPU of a psABI level.
  static Target generic(int level);
  /// Any x86-64 CPU, without vectors, by the portable instructions alone.
  static Target portable();
  /// The target that a word names: `scalar` is the portable CPU; `sse`, `avx2` and `avx512` are the CPUs of
  /// levels 2 to 4; any other word is this CPU.
  static Target named(std::string_view word);

  /// The same CPU as the host of a device that takes this kind of code (`devices::Properties::code`): `sm_90`
  /// is PTX for GPUs of compute capability 9.0, `gfx942` an object for a GPU of AMD's, `opencl` is OpenCL C.
  /// Throws base::InternalError for one that no code is made for. `has_products`: whether a library of the
  /// device multiplies matrices.
  Target with_device(std::string_view code, bool has_products = false) const;

  bool operator==(const Target&) const = default;
};

}  // namespace ingot::codegen
