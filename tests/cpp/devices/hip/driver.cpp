// HIP's functions on the software device, for tests of their callers: the code objects that it is given are
// PTX. The software device is a copy of its own.

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "devices/cuda_driver.h"
#include "devices/hip_driver.h"

namespace {

using namespace ingot::devices;

void* software_device() {
  static void* const library = dlmopen(LM_ID_NEWLM, INGOT_SOFTGPU_DRIVER, RTLD_NOW | RTLD_LOCAL);
  return library;
}

/// The software device's function of the same type.
template <class Function>
Function* find(const char* symbol) {
  return reinterpret_cast<Function*>(dlsym(software_device(), symbol));
}

struct Attribute {
  int hip;
  CudaAttribute cuda;
};
constexpr Attribute kAttributes[] = {
    {56, kCudaBlockThreads}, {29, kCudaGridX},       {30, kCudaGridY},
    {31, kCudaGridZ},        {74, kCudaBlockMemory}, {87, kCudaWarp},
    {63, kCudaProcessors},   {24, kCudaManaged},     {9, kCudaConcurrentManaged}};

}  // namespace

extern "C" {

CudaResult hipDeviceGetAttribute(int* value, int which, int device) {
  const auto* const known = std::ranges::find(kAttributes, which, &Attribute::hip);
  if (known == std::end(kAttributes)) return CudaResult{1};
  return find<CudaResult(int*, CudaAttribute, int)>("cuDeviceGetAttribute")(value, known->cuda, device);
}

CudaResult hipGetDevicePropertiesR0600(char* properties, int) {
  std::memset(properties, 0, 1472);
  std::strcpy(properties + 1160, "gfx90a:sramecc+:xnack-");
  return kCudaSuccess;
}

// Functions that differ in their names only.
#define INGOT_HIP_NAME(hip, cuda, parameters, arguments)           \
  CudaResult hip parameters {                                      \
    static auto* const called = find<CudaResult parameters>(cuda); \
    return called arguments;                                       \
  }
// clang-format off
INGOT_HIP_NAME(hipInit, "cuInit", (unsigned flags), (flags))
INGOT_HIP_NAME(hipDrvGetErrorName, "cuGetErrorName", (CudaResult result, const char** name), (result, name))
INGOT_HIP_NAME(hipDrvGetErrorString, "cuGetErrorString", (CudaResult result, const char** text), (result, text))
INGOT_HIP_NAME(hipGetDeviceCount, "cuDeviceGetCount", (int* count), (count))
INGOT_HIP_NAME(hipDeviceGet, "cuDeviceGet", (int* device, int ordinal), (device, ordinal))
INGOT_HIP_NAME(hipDeviceGetName, "cuDeviceGetName", (char* name, int bytes, int device), (name, bytes, device))
INGOT_HIP_NAME(hipDeviceTotalMem, "cuDeviceTotalMem_v2", (size_t* bytes, int device), (bytes, device))
INGOT_HIP_NAME(hipDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", (void** context, int device), (context, device))
INGOT_HIP_NAME(hipDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", (int device), (device))
INGOT_HIP_NAME(hipDevicePrimaryCtxReset, "cuDevicePrimaryCtxReset_v2", (int device), (device))
INGOT_HIP_NAME(hipCtxGetCurrent, "cuCtxGetCurrent", (void** context), (context))
INGOT_HIP_NAME(hipCtxSetCurrent, "cuCtxSetCurrent", (void* context), (context))
INGOT_HIP_NAME(hipCtxPushCurrent, "cuCtxPushCurrent_v2", (void* context), (context))
INGOT_HIP_NAME(hipCtxPopCurrent, "cuCtxPopCurrent_v2", (void** context), (context))
INGOT_HIP_NAME(hipDeviceGetStreamPriorityRange, "cuCtxGetStreamPriorityRange", (int* least, int* greatest), (least, greatest))
INGOT_HIP_NAME(hipMalloc, "cuMemAlloc_v2", (Address* address, size_t bytes), (address, bytes))
INGOT_HIP_NAME(hipFree, "cuMemFree_v2", (Address address), (address))
INGOT_HIP_NAME(hipHostMalloc, "cuMemHostAlloc", (void** memory, size_t bytes, unsigned flags), (memory, bytes, flags))
INGOT_HIP_NAME(hipHostFree, "cuMemFreeHost", (void* memory), (memory))
INGOT_HIP_NAME(hipHostGetDevicePointer, "cuMemHostGetDevicePointer_v2", (Address* address, void* memory, unsigned flags), (address, memory, flags))
INGOT_HIP_NAME(hipHostRegister, "cuMemHostRegister_v2", (void* memory, size_t bytes, unsigned flags), (memory, bytes, flags))
INGOT_HIP_NAME(hipHostUnregister, "cuMemHostUnregister", (void* memory), (memory))
INGOT_HIP_NAME(hipMemGetInfo, "cuMemGetInfo_v2", (size_t* available, size_t* total), (available, total))
INGOT_HIP_NAME(hipPointerGetAttribute, "cuPointerGetAttribute", (void* value, int which, Address address), (value, which, address))
INGOT_HIP_NAME(hipMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2", (Address to, const void* from, size_t bytes, void* stream), (to, from, bytes, stream))
INGOT_HIP_NAME(hipMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2", (void* to, Address from, size_t bytes, void* stream), (to, from, bytes, stream))
INGOT_HIP_NAME(hipMemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2", (Address to, Address from, size_t bytes, void* stream), (to, from, bytes, stream))
INGOT_HIP_NAME(hipMemsetD8Async, "cuMemsetD8Async", (Address to, unsigned char value, size_t count, void* stream), (to, value, count, stream))
INGOT_HIP_NAME(hipStreamCreateWithPriority, "cuStreamCreateWithPriority", (void** stream, unsigned flags, int priority), (stream, flags, priority))
INGOT_HIP_NAME(hipStreamDestroy, "cuStreamDestroy_v2", (void* stream), (stream))
INGOT_HIP_NAME(hipStreamQuery, "cuStreamQuery", (void* stream), (stream))
INGOT_HIP_NAME(hipStreamSynchronize, "cuStreamSynchronize", (void* stream), (stream))
INGOT_HIP_NAME(hipStreamWaitEvent, "cuStreamWaitEvent", (void* stream, void* event, unsigned flags), (stream, event, flags))
INGOT_HIP_NAME(hipEventCreateWithFlags, "cuEventCreate", (void** event, unsigned flags), (event, flags))
INGOT_HIP_NAME(hipEventDestroy, "cuEventDestroy_v2", (void* event), (event))
INGOT_HIP_NAME(hipEventRecord, "cuEventRecord", (void* event, void* stream), (event, stream))
INGOT_HIP_NAME(hipEventQuery, "cuEventQuery", (void* event), (event))
INGOT_HIP_NAME(hipEventSynchronize, "cuEventSynchronize", (void* event), (event))
INGOT_HIP_NAME(hipEventElapsedTime, "cuEventElapsedTime", (float* milliseconds, void* from, void* to), (milliseconds, from, to))
INGOT_HIP_NAME(hipModuleLoadDataEx, "cuModuleLoadDataEx", (void** module, const void* image, unsigned count, int* options, void** values), (module, image, count, options, values))
INGOT_HIP_NAME(hipModuleUnload, "cuModuleUnload", (void* module), (module))
INGOT_HIP_NAME(hipModuleGetFunction, "cuModuleGetFunction", (void** function, void* module, const char* name), (function, module, name))
INGOT_HIP_NAME(hipFuncGetAttribute, "cuFuncGetAttribute", (int* value, int which, void* function), (value, which, function))
INGOT_HIP_NAME(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor, "cuOccupancyMaxActiveBlocksPerMultiprocessor", (int* blocks, void* function, int threads, size_t dynamic), (blocks, function, threads, dynamic))
INGOT_HIP_NAME(hipModuleLaunchKernel, "cuLaunchKernel", (void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, void* stream, void** parameters, void** extra), (function, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra))
INGOT_HIP_NAME(hipModuleLaunchCooperativeKernel, "cuLaunchCooperativeKernel", (void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, void* stream, void** parameters), (function, gx, gy, gz, bx, by, bz, shared, stream, parameters))
// clang-format on
}
