#pragma once

namespace ingot::codegen {

class KernelTarget;

/// How kernels are written for devices that take OpenCL C. Lives until the program ends.
const KernelTarget& opencl_target();

}  // namespace ingot::codegen
