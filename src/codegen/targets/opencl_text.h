#pragma once

#include <llvm/IR/Module.h>

#include <string>

#include "codegen/targets/opencl_spaces.h"

namespace ingot::codegen {

/// @name Functions of every text, as modules call them
/// Waits for the block's threads, and makes their stores visible.
constexpr const char* kOpenClBarrier = "ingot_barrier";
/// Earlier stores of this thread are visible to the device before its later ones.
constexpr const char* kOpenClFence = "ingot_fence";

/// A module as OpenCL C (1.2, with `cl_khr_fp64` and 64-bit atomics). Kernels are the functions of the
/// convention SPIR_KERNEL; what is not defined is a function of OpenCL C, or one of those above. Buffers are
/// `__global uchar*`; a kernel that uses memory whose size the launch gives takes it as its last parameter,
/// `__local uchar*`. Values have the bits that LLVM's operations give, where the device rounds correctly and
/// keeps subnormal numbers. The module's names are changed. Throws base::Unsupported for what cannot be
/// expressed.
std::string opencl_text(llvm::Module& module);

}  // namespace ingot::codegen
