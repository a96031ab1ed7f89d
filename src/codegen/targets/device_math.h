#pragma once

namespace llvm {
class Function;
class Module;
}  // namespace llvm

namespace ingot::codegen {

/// Defines what a module for GPUs calls of the outside: the mathematics that CPUs have of the runtime and the
/// C library (`ingot_v1_math_*`, `ingot_v1_reduce_angles_*`, ...). They are compiled from the same sources,
/// have the same bits, and become internal functions of the module; what it does not need is not there.
///
/// What LLVM has no right code for becomes such calls, too (`lower_for_devices`).
///
/// Throws base::InternalError, naming it, if a declaration stays undefined.
void link_device_math(llvm::Module& module);

/// Makes a declaration one of a function that the device has.
void mark_of_device(llvm::Function& function);

}  // namespace ingot::codegen
