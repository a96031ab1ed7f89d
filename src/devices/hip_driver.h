#pragma once

#include "devices/cuda_driver.h"

/// HIP, the driver of AMD's GPUs: the CUDA driver's functions and objects under other names and numbers.
namespace ingot::devices {

/// HIP of ROCm 6.0 or later, of these names or paths: the driver, and the linker that it comes with. Throws
/// DeviceError with the reason if that cannot be.
std::unique_ptr<CudaDriver> open_hip(const std::string& path, const std::string& linker);

/// What HIP calls a function of the CUDA driver that is used here: "hipInit" of "cuInit". Empty: it has none.
std::string hip_name(std::string_view symbol);

}  // namespace ingot::devices
