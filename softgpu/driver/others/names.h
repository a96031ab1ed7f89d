#pragma once

namespace softgpu::driver {

/// The function of this name without suffix (`cuMemAlloc`) in the form that a program for this version of
/// CUDA gets, or null.
void* function_named(const char* name, int version);

}  // namespace softgpu::driver
