#include "devices/hip_driver.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "devices/comgr.h"

namespace ingot::devices {

namespace {

struct Names {
  std::string_view cuda;
  std::string_view hip;
};

/// Where the names differ in more than their first characters and a version at the end.
constexpr Names kNames[] = {
    {"cuGetErrorName", "hipDrvGetErrorName"},
    {"cuGetErrorString", "hipDrvGetErrorString"},
    {"cuDeviceGetCount", "hipGetDeviceCount"},
    {"cuCtxGetStreamPriorityRange", "hipDeviceGetStreamPriorityRange"},
    {"cuMemAlloc_v2", "hipMalloc"},
    {"cuMemFree_v2", "hipFree"},
    {"cuMemHostAlloc", "hipHostMalloc"},
    {"cuMemFreeHost", "hipHostFree"},
    {"cuMemHostGetDevicePointer_v2", "hipHostGetDevicePointer"},
    {"cuMemHostRegister_v2", "hipHostRegister"},
    {"cuMemHostUnregister", "hipHostUnregister"},
    {"cuEventCreate", "hipEventCreateWithFlags"},
    {"cuFuncSetAttribute", ""},
    {"cuDriverGetVersion", ""},
    {"cuLinkCreate_v2", ""},
    {"cuLinkAddData_v2", ""},
    {"cuLinkComplete", ""},
    {"cuLinkDestroy", ""},
    {"cuOccupancyMaxActiveBlocksPerMultiprocessor", "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor"},
    {"cuLaunchKernel", "hipModuleLaunchKernel"},
    {"cuLaunchCooperativeKernel", "hipModuleLaunchCooperativeKernel"},
};

/// hipDeviceAttribute_t. 0 where GPUs of AMD's have none.
int hip_attribute(CudaAttribute which) {
  switch (which) {
    case kCudaBlockThreads: return 56;
    case kCudaGridX: return 29;
    case kCudaGridY: return 30;
    case kCudaGridZ: return 31;
    case kCudaBlockMemory:
    case kCudaBlockMemoryOptIn: return 74;
    case kCudaWarp: return 87;
    case kCudaProcessors: return 63;
    case kCudaCapabilityMajor: return 23;
    case kCudaCapabilityMinor: return 61;
    case kCudaManaged: return 24;
    case kCudaConcurrentManaged: return 9;
    case kCudaCopyEngines: return 0;
  }
  return 0;
}

/// hipDeviceProp_t of ROCm 6, and where the processor's name is in it: "gfx90a:sramecc+:xnack-".
constexpr size_t kPropertiesSize = 1472;
constexpr size_t kProcessorOffset = 1160;
constexpr size_t kProcessorBytes = 256;

}  // namespace

std::string hip_name(std::string_view symbol) {
  const auto* const other = std::ranges::find(kNames, symbol, &Names::cuda);
  if (other != std::end(kNames)) return std::string(other->hip);
  if (symbol.ends_with("_v2")) symbol.remove_suffix(3);
  return "hip" + std::string(symbol.substr(2));
}

std::unique_ptr<CudaDriver> open_hip(const std::string& path, const std::string& linker) {
  const std::shared_ptr<const Comgr> comgr = Comgr::open(linker);
  CudaDialect dialect;
  dialect.symbol = hip_name;
  dialect.attribute = hip_attribute;
  dialect.code = [](void* library, int device) {
    const auto properties =
        reinterpret_cast<CudaResult (*)(void*, int)>(dlsym(library, "hipGetDevicePropertiesR0600"));
    if (properties == nullptr) throw DeviceError("the driver is older than ROCm 6.0");
    // Space for fields that later versions may add at its end.
    std::array<char, 2 * kPropertiesSize> all{};
    if (properties(all.data(), device) != kCudaSuccess)
      throw DeviceError("the driver does not report the processor");
    const char* const name = all.data() + kProcessorOffset;
    return std::string(name, std::min(strcspn(name, ":"), kProcessorBytes));
  };
  dialect.link = [comgr](std::string_view object, const std::string& processor) {
    return comgr->link(object, processor);
  };
  return CudaDriver::open(path, std::move(dialect));
}

}  // namespace ingot::devices
