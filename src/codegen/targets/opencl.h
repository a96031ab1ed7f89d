#pragma once

namespace ingot::codegen {

class KernelTarget;

/// The kernel target of devices that take OpenCL C. Lives until the program ends.
const KernelTarget& opencl_target();

}  // namespace ingot::codegen
