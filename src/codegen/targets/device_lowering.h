#pragma once

namespace llvm {
class Module;
}  // namespace llvm

/// What LLVM has for any target, but no right instructions for GPUs.
namespace ingot::codegen {

/// Replaces instructions of a prepared module: the remainder of floats, elementary functions and `ldexp` by
/// calls of what `link_device_math` links, fences by those of GPUs.
void lower_for_devices(llvm::Module& module);

/// Throws base::InternalError, naming it, if a module holds what LLVM would end the process for.
void check_for_devices(const llvm::Module& module);

}  // namespace ingot::codegen
