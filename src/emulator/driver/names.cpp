#include <string_view>

#include "emulator/driver/state.h"

// The table of cuGetProcAddress. Here the functions are names only: whoever asks casts to their types.

extern "C" {
void cuCtxCreate_v2();
void cuCtxDestroy_v2();
void cuCtxGetCurrent();
void cuCtxGetDevice();
void cuCtxGetStreamPriorityRange();
void cuCtxPopCurrent_v2();
void cuCtxPushCurrent_v2();
void cuCtxSetCurrent();
void cuCtxSetLimit();
void cuCtxSynchronize();
void cuDeviceCanAccessPeer();
void cuDeviceGet();
void cuDeviceGetAttribute();
void cuDeviceGetCount();
void cuDeviceGetDefaultMemPool();
void cuDeviceGetMemPool();
void cuDeviceGetName();
void cuDeviceGetUuid_v2();
void cuDevicePrimaryCtxGetState();
void cuDevicePrimaryCtxRelease_v2();
void cuDevicePrimaryCtxReset_v2();
void cuDevicePrimaryCtxRetain();
void cuDeviceSetMemPool();
void cuDeviceTotalMem_v2();
void cuDriverGetVersion();
void cuEventCreate();
void cuEventDestroy_v2();
void cuEventElapsedTime_v2();
void cuEventQuery();
void cuEventRecord();
void cuEventSynchronize();
void cuFuncGetAttribute();
void cuFuncSetAttribute();
void cuFuncSetCacheConfig();
void cuGetErrorName();
void cuGetErrorString();
void cuGetProcAddress_v2();
void cuInit();
void cuLaunchCooperativeKernel();
void cuLaunchHostFunc();
void cuLaunchKernel();
void cuMemAllocAsync();
void cuMemAllocFromPoolAsync();
void cuMemAllocHost_v2();
void cuMemAlloc_v2();
void cuMemFreeAsync();
void cuMemFreeHost();
void cuMemFree_v2();
void cuMemGetAddressRange_v2();
void cuMemGetInfo_v2();
void cuMemHostAlloc();
void cuMemHostGetDevicePointer_v2();
void cuMemHostRegister_v2();
void cuMemHostUnregister();
void cuMemPoolGetAttribute();
void cuMemPoolSetAttribute();
void cuMemPoolTrimTo();
void cuMemcpy();
void cuMemcpyAsync();
void cuMemcpyDtoDAsync_v2();
void cuMemcpyDtoD_v2();
void cuMemcpyDtoHAsync_v2();
void cuMemcpyDtoH_v2();
void cuMemcpyHtoDAsync_v2();
void cuMemcpyHtoD_v2();
void cuMemsetD16Async();
void cuMemsetD16_v2();
void cuMemsetD32Async();
void cuMemsetD32_v2();
void cuMemsetD8Async();
void cuMemsetD8_v2();
void cuModuleGetFunction();
void cuModuleGetGlobal_v2();
void cuModuleGetLoadingMode();
void cuModuleLoadData();
void cuModuleLoadDataEx();
void cuModuleUnload();
void cuOccupancyMaxActiveBlocksPerMultiprocessor();
void cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags();
void cuPointerGetAttribute();
void cuStreamCreate();
void cuStreamCreateWithPriority();
void cuStreamDestroy_v2();
void cuStreamGetCtx();
void cuStreamGetFlags();
void cuStreamGetPriority();
void cuStreamIsCapturing();
void cuStreamQuery();
void cuStreamSynchronize();
void cuStreamWaitEvent();
}

namespace ingot::emulator::driver {

void* function_named(const char* name) {
  static constexpr struct {
    std::string_view name;
    void (*function)();
  } kFunctions[] = {
      {"cuCtxCreate", cuCtxCreate_v2},
      {"cuCtxDestroy", cuCtxDestroy_v2},
      {"cuCtxGetCurrent", cuCtxGetCurrent},
      {"cuCtxGetDevice", cuCtxGetDevice},
      {"cuCtxGetStreamPriorityRange", cuCtxGetStreamPriorityRange},
      {"cuCtxPopCurrent", cuCtxPopCurrent_v2},
      {"cuCtxPushCurrent", cuCtxPushCurrent_v2},
      {"cuCtxSetCurrent", cuCtxSetCurrent},
      {"cuCtxSetLimit", cuCtxSetLimit},
      {"cuCtxSynchronize", cuCtxSynchronize},
      {"cuDeviceCanAccessPeer", cuDeviceCanAccessPeer},
      {"cuDeviceGet", cuDeviceGet},
      {"cuDeviceGetAttribute", cuDeviceGetAttribute},
      {"cuDeviceGetCount", cuDeviceGetCount},
      {"cuDeviceGetDefaultMemPool", cuDeviceGetDefaultMemPool},
      {"cuDeviceGetMemPool", cuDeviceGetMemPool},
      {"cuDeviceGetName", cuDeviceGetName},
      {"cuDeviceGetUuid", cuDeviceGetUuid_v2},
      {"cuDevicePrimaryCtxGetState", cuDevicePrimaryCtxGetState},
      {"cuDevicePrimaryCtxRelease", cuDevicePrimaryCtxRelease_v2},
      {"cuDevicePrimaryCtxReset", cuDevicePrimaryCtxReset_v2},
      {"cuDevicePrimaryCtxRetain", cuDevicePrimaryCtxRetain},
      {"cuDeviceSetMemPool", cuDeviceSetMemPool},
      {"cuDeviceTotalMem", cuDeviceTotalMem_v2},
      {"cuDriverGetVersion", cuDriverGetVersion},
      {"cuEventCreate", cuEventCreate},
      {"cuEventDestroy", cuEventDestroy_v2},
      {"cuEventElapsedTime", cuEventElapsedTime_v2},
      {"cuEventQuery", cuEventQuery},
      {"cuEventRecord", cuEventRecord},
      {"cuEventSynchronize", cuEventSynchronize},
      {"cuFuncGetAttribute", cuFuncGetAttribute},
      {"cuFuncSetAttribute", cuFuncSetAttribute},
      {"cuFuncSetCacheConfig", cuFuncSetCacheConfig},
      {"cuGetErrorName", cuGetErrorName},
      {"cuGetErrorString", cuGetErrorString},
      {"cuGetProcAddress", cuGetProcAddress_v2},
      {"cuInit", cuInit},
      {"cuLaunchCooperativeKernel", cuLaunchCooperativeKernel},
      {"cuLaunchHostFunc", cuLaunchHostFunc},
      {"cuLaunchKernel", cuLaunchKernel},
      {"cuMemAlloc", cuMemAlloc_v2},
      {"cuMemAllocAsync", cuMemAllocAsync},
      {"cuMemAllocFromPoolAsync", cuMemAllocFromPoolAsync},
      {"cuMemAllocHost", cuMemAllocHost_v2},
      {"cuMemFree", cuMemFree_v2},
      {"cuMemFreeAsync", cuMemFreeAsync},
      {"cuMemFreeHost", cuMemFreeHost},
      {"cuMemGetAddressRange", cuMemGetAddressRange_v2},
      {"cuMemGetInfo", cuMemGetInfo_v2},
      {"cuMemHostAlloc", cuMemHostAlloc},
      {"cuMemHostGetDevicePointer", cuMemHostGetDevicePointer_v2},
      {"cuMemHostRegister", cuMemHostRegister_v2},
      {"cuMemHostUnregister", cuMemHostUnregister},
      {"cuMemPoolGetAttribute", cuMemPoolGetAttribute},
      {"cuMemPoolSetAttribute", cuMemPoolSetAttribute},
      {"cuMemPoolTrimTo", cuMemPoolTrimTo},
      {"cuMemcpy", cuMemcpy},
      {"cuMemcpyAsync", cuMemcpyAsync},
      {"cuMemcpyDtoD", cuMemcpyDtoD_v2},
      {"cuMemcpyDtoDAsync", cuMemcpyDtoDAsync_v2},
      {"cuMemcpyDtoH", cuMemcpyDtoH_v2},
      {"cuMemcpyDtoHAsync", cuMemcpyDtoHAsync_v2},
      {"cuMemcpyHtoD", cuMemcpyHtoD_v2},
      {"cuMemcpyHtoDAsync", cuMemcpyHtoDAsync_v2},
      {"cuMemsetD16", cuMemsetD16_v2},
      {"cuMemsetD16Async", cuMemsetD16Async},
      {"cuMemsetD32", cuMemsetD32_v2},
      {"cuMemsetD32Async", cuMemsetD32Async},
      {"cuMemsetD8", cuMemsetD8_v2},
      {"cuMemsetD8Async", cuMemsetD8Async},
      {"cuModuleGetFunction", cuModuleGetFunction},
      {"cuModuleGetGlobal", cuModuleGetGlobal_v2},
      {"cuModuleGetLoadingMode", cuModuleGetLoadingMode},
      {"cuModuleLoadData", cuModuleLoadData},
      {"cuModuleLoadDataEx", cuModuleLoadDataEx},
      {"cuModuleUnload", cuModuleUnload},
      {"cuOccupancyMaxActiveBlocksPerMultiprocessor", cuOccupancyMaxActiveBlocksPerMultiprocessor},
      {"cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
       cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags},
      {"cuPointerGetAttribute", cuPointerGetAttribute},
      {"cuStreamCreate", cuStreamCreate},
      {"cuStreamCreateWithPriority", cuStreamCreateWithPriority},
      {"cuStreamDestroy", cuStreamDestroy_v2},
      {"cuStreamGetCtx", cuStreamGetCtx},
      {"cuStreamGetFlags", cuStreamGetFlags},
      {"cuStreamGetPriority", cuStreamGetPriority},
      {"cuStreamIsCapturing", cuStreamIsCapturing},
      {"cuStreamQuery", cuStreamQuery},
      {"cuStreamSynchronize", cuStreamSynchronize},
      {"cuStreamWaitEvent", cuStreamWaitEvent},
  };
  for (const auto& known : kFunctions)
    if (known.name == name) return reinterpret_cast<void*>(known.function);
  return nullptr;
}

}  // namespace ingot::emulator::driver
