#pragma once

namespace llvm {
class Module;
}  // namespace llvm

/// Operations that LLVM has for any target, but without right instructions for GPUs.
namespace ingot::codegen {

/// Replaces instructions of a prepared module: the remainder of floats, elementary functions and `ldexp` by
/// calls of what `link_device_math` links.
void lower_for_devices(llvm::Module& module);

/// Replaces fences by those of NVIDIA's GPUs, which LLVM has no code for.
void lower_fences(llvm::Module& module);

/// The operations that LLVM has code for besides those of all devices.
struct Selected {
  const char* intrinsics;        ///< of names that begin so: `llvm.nvvm.`
  bool orders_accesses = false;  ///< fences, and atomic loads and stores of any order
};
/// Throws base::InternalError, naming it, if a module has an operation for which LLVM would end the process.
void check_for_devices(const llvm::Module& module, const Selected& selected);

}  // namespace ingot::codegen
