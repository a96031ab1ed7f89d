#pragma once

namespace llvm {
class Function;
class Module;
}  // namespace llvm

namespace ingot::codegen {

/// Defines the external functions of a module for GPUs: the mathematics that CPUs take from the runtime and
/// the C library (`ingot_v1_math_*`, `ingot_v1_reduce_angles_*`, ...). They are compiled from the same
/// sources, have the same bits, and become internal functions of the module; unneeded ones are left out.
///
/// Operations that LLVM has no right code for become such calls, too (`lower_for_devices`).
///
/// Throws base::InternalError, naming it, if a declaration stays undefined.
void link_device_math(llvm::Module& module);

/// Marks a declaration as a function of the device.
void mark_of_device(llvm::Function& function);

}  // namespace ingot::codegen
