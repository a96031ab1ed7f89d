#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "devices/device.h"
#include "devices/forks.h"

/// The CUDA driver's ABI, as far as it is used here: its names and numbers, written anew.
namespace ingot::devices {

/// CUresult.
enum CudaResult : int {
  kCudaSuccess = 0,
  kCudaOutOfMemory = 2,
  kCudaNotReady = 600,
};

/// Whether a context that has returned it returns it for all later calls: a kernel has failed, or the device
/// has.
bool is_lasting(CudaResult result);

/// CUdevice_attribute.
enum CudaAttribute : int {
  kCudaBlockThreads = 1,
  kCudaGridX = 5,
  kCudaGridY = 6,
  kCudaGridZ = 7,
  kCudaBlockMemory = 8,
  kCudaWarp = 10,
  kCudaProcessors = 16,
  kCudaCopyEngines = 40,
  kCudaCapabilityMajor = 75,
  kCudaCapabilityMinor = 76,
  kCudaManaged = 83,
  kCudaConcurrentManaged = 89,
  kCudaBlockMemoryOptIn = 97,
};

/// CUfunction_attribute.
enum CudaFunctionAttribute : int {
  kCudaSharedBytes = 1,
  kCudaLocalBytes = 3,
  kCudaRegisters = 4,
  kCudaMostDynamic = 8,
};

/// CUjit_option.
enum CudaLoadOption : int { kCudaMaxRegisters = 0, kCudaErrorLog = 5, kCudaErrorLogBytes = 6 };

constexpr unsigned kCudaStreamNonBlocking = 1;
constexpr unsigned kCudaEventNoTiming = 2;
constexpr unsigned kCudaPinnedMapped = 2;
constexpr unsigned kCudaManagedGlobal = 1;
constexpr int kCudaPointerMemoryType = 2;  ///< CUpointer_attribute

/// CUDA_KERNEL_NODE_PARAMS_v2.
struct CudaKernelNode {
  struct CudaFunctionObject* function;
  unsigned grid[3];
  unsigned block[3];
  unsigned shared;
  void** parameters;
  void** extra;
  void* kernel;
  void* context;  ///< null: the current one
};
/// CUDA_MEMSET_NODE_PARAMS.
struct CudaFillNode {
  Address to;
  size_t pitch;
  unsigned value;
  unsigned width;  ///< bytes of an element
  size_t columns;
  size_t rows;
};
/// Source or destination of a CUDA_MEMCPY3D.
struct CudaCopySide {
  size_t x, y, z, level;
  int kind;  ///< CUmemorytype
  const void* host;
  Address device;
  void* array;
  void* reserved;
  size_t pitch;
  size_t height;
};
/// CUDA_MEMCPY3D.
struct CudaCopyNode {
  CudaCopySide from;
  CudaCopySide to;
  size_t bytes;
  size_t rows;
  size_t layers;
};
/// CUkernelNodeAttrValue.
union CudaAttributeValue {
  int number;
  char padding[64];
};
constexpr int kCudaMemoryOfDevice = 2;        ///< CUmemorytype
constexpr int kCudaAttributeCooperative = 2;  ///< CUkernelNodeAttrID

using CudaContextHandle = struct CudaContextObject*;
using CudaStreamHandle = struct CudaStreamObject*;
using CudaEventHandle = struct CudaEventObject*;
using CudaModuleHandle = struct CudaModuleObject*;
using CudaFunctionHandle = struct CudaFunctionObject*;
using CudaGraphHandle = struct CudaGraphObject*;
using CudaGraphExecHandle = struct CudaGraphExecObject*;
using CudaNodeHandle = struct CudaNodeObject*;
using CudaLinkHandle = struct CudaLinkObject*;

// name here, name of the ABI, parameters
// clang-format off
#define INGOT_CUDA_FUNCTIONS(FUNCTION)                                                                              \
  FUNCTION(init, "cuInit", (unsigned flags))                                                                        \
  FUNCTION(error_name, "cuGetErrorName", (CudaResult result, const char** name))                                    \
  FUNCTION(error_text, "cuGetErrorString", (CudaResult result, const char** text))                                  \
  FUNCTION(device_count, "cuDeviceGetCount", (int* count))                                                          \
  FUNCTION(device_get, "cuDeviceGet", (int* device, int ordinal))                                                   \
  FUNCTION(device_name, "cuDeviceGetName", (char* name, int bytes, int device))                                     \
  FUNCTION(device_memory, "cuDeviceTotalMem_v2", (size_t* bytes, int device))                                       \
  FUNCTION(device_attribute, "cuDeviceGetAttribute", (int* value, CudaAttribute which, int device))                 \
  FUNCTION(primary_retain, "cuDevicePrimaryCtxRetain", (CudaContextHandle* context, int device))                    \
  FUNCTION(primary_release, "cuDevicePrimaryCtxRelease_v2", (int device))                                           \
  FUNCTION(primary_reset, "cuDevicePrimaryCtxReset_v2", (int device))                                               \
  FUNCTION(context_get, "cuCtxGetCurrent", (CudaContextHandle* context))                                            \
  FUNCTION(context_set, "cuCtxSetCurrent", (CudaContextHandle context))                                             \
  FUNCTION(context_push, "cuCtxPushCurrent_v2", (CudaContextHandle context))                                        \
  FUNCTION(context_pop, "cuCtxPopCurrent_v2", (CudaContextHandle* context))                                         \
  FUNCTION(context_priorities, "cuCtxGetStreamPriorityRange", (int* least, int* greatest))                          \
  FUNCTION(memory_allocate, "cuMemAlloc_v2", (Address* address, size_t bytes))                                      \
  FUNCTION(memory_free, "cuMemFree_v2", (Address address))                                                          \
  FUNCTION(pinned_allocate, "cuMemHostAlloc", (void** memory, size_t bytes, unsigned flags))                        \
  FUNCTION(pinned_free, "cuMemFreeHost", (void* memory))                                                            \
  FUNCTION(pinned_address, "cuMemHostGetDevicePointer_v2", (Address* address, void* memory, unsigned flags))        \
  FUNCTION(pinned_register, "cuMemHostRegister_v2", (void* memory, size_t bytes, unsigned flags))                   \
  FUNCTION(pinned_unregister, "cuMemHostUnregister", (void* memory))                                                \
  FUNCTION(memory_info, "cuMemGetInfo_v2", (size_t* available, size_t* total))                                      \
  FUNCTION(pointer_attribute, "cuPointerGetAttribute", (void* value, int which, Address address))                   \
  FUNCTION(copy_to_device, "cuMemcpyHtoDAsync_v2",                                                                  \
           (Address to, const void* from, size_t bytes, CudaStreamHandle stream))                                   \
  FUNCTION(copy_to_host, "cuMemcpyDtoHAsync_v2", (void* to, Address from, size_t bytes, CudaStreamHandle stream))   \
  FUNCTION(copy_on_device, "cuMemcpyDtoDAsync_v2", (Address to, Address from, size_t bytes, CudaStreamHandle stream)) \
  FUNCTION(fill_bytes, "cuMemsetD8Async", (Address to, unsigned char value, size_t count, CudaStreamHandle stream)) \
  FUNCTION(stream_create, "cuStreamCreateWithPriority", (CudaStreamHandle* stream, unsigned flags, int priority))   \
  FUNCTION(stream_destroy, "cuStreamDestroy_v2", (CudaStreamHandle stream))                                         \
  FUNCTION(stream_query, "cuStreamQuery", (CudaStreamHandle stream))                                                \
  FUNCTION(stream_synchronize, "cuStreamSynchronize", (CudaStreamHandle stream))                                    \
  FUNCTION(stream_wait, "cuStreamWaitEvent", (CudaStreamHandle stream, CudaEventHandle event, unsigned flags))      \
  FUNCTION(event_create, "cuEventCreate", (CudaEventHandle* event, unsigned flags))                                 \
  FUNCTION(event_destroy, "cuEventDestroy_v2", (CudaEventHandle event))                                             \
  FUNCTION(event_record, "cuEventRecord", (CudaEventHandle event, CudaStreamHandle stream))                         \
  FUNCTION(event_query, "cuEventQuery", (CudaEventHandle event))                                                    \
  FUNCTION(event_synchronize, "cuEventSynchronize", (CudaEventHandle event))                                        \
  FUNCTION(event_elapsed, "cuEventElapsedTime", (float* milliseconds, CudaEventHandle from, CudaEventHandle to))    \
  FUNCTION(version, "cuDriverGetVersion", (int* version))                                                           \
  FUNCTION(link_create, "cuLinkCreate_v2",                                                                          \
           (unsigned count, int* options, void** values, CudaLinkHandle* link))                                     \
  FUNCTION(link_add, "cuLinkAddData_v2",                                                                            \
           (CudaLinkHandle link, int kind, void* data, size_t bytes, const char* name, unsigned count,              \
            int* options, void** values))                                                                           \
  FUNCTION(link_complete, "cuLinkComplete", (CudaLinkHandle link, void** image, size_t* bytes))                     \
  FUNCTION(link_destroy, "cuLinkDestroy", (CudaLinkHandle link))                                                    \
  FUNCTION(module_load, "cuModuleLoadDataEx",                                                                       \
           (CudaModuleHandle* module, const void* image, unsigned count, int* options, void** values))              \
  FUNCTION(module_unload, "cuModuleUnload", (CudaModuleHandle module))                                              \
  FUNCTION(module_function, "cuModuleGetFunction",                                                                  \
           (CudaFunctionHandle* function, CudaModuleHandle module, const char* name))                               \
  FUNCTION(function_get, "cuFuncGetAttribute",                                                                      \
           (int* value, CudaFunctionAttribute which, CudaFunctionHandle function))                                  \
  FUNCTION(function_set, "cuFuncSetAttribute",                                                                      \
           (CudaFunctionHandle function, CudaFunctionAttribute which, int value))                                   \
  FUNCTION(resident_blocks, "cuOccupancyMaxActiveBlocksPerMultiprocessor",                                          \
           (int* blocks, CudaFunctionHandle function, int threads, size_t dynamic))                                 \
  FUNCTION(launch, "cuLaunchKernel",                                                                                \
           (CudaFunctionHandle function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,           \
            unsigned bz, unsigned shared, CudaStreamHandle stream, void** parameters, void** extra))                \
  FUNCTION(launch_cooperative, "cuLaunchCooperativeKernel",                                                         \
           (CudaFunctionHandle function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,           \
            unsigned bz, unsigned shared, CudaStreamHandle stream, void** parameters))

// The same, of functions that a driver may lack.
#define INGOT_CUDA_MORE_FUNCTIONS(FUNCTION)                                                                         \
  FUNCTION(managed_allocate, "cuMemAllocManaged", (Address* address, size_t bytes, unsigned flags))                 \
  FUNCTION(copy_between, "cuMemcpyPeerAsync",                                                                       \
           (Address to, CudaContextHandle to_context, Address from, CudaContextHandle from_context, size_t bytes,   \
            CudaStreamHandle stream))                                                                               \
  FUNCTION(can_access_peer, "cuDeviceCanAccessPeer", (int* can, int device, int peer))                              \
  FUNCTION(enable_peer, "cuCtxEnablePeerAccess", (CudaContextHandle peer, unsigned flags))                          \
  FUNCTION(graph_create, "cuGraphCreate", (CudaGraphHandle* graph, unsigned flags))                                 \
  FUNCTION(graph_destroy, "cuGraphDestroy", (CudaGraphHandle graph))                                                \
  FUNCTION(graph_add_kernel, "cuGraphAddKernelNode_v2",                                                             \
           (CudaNodeHandle* node, CudaGraphHandle graph, const CudaNodeHandle* after, size_t count,                 \
            const CudaKernelNode* parameters))                                                                      \
  FUNCTION(graph_add_copy, "cuGraphAddMemcpyNode",                                                                  \
           (CudaNodeHandle* node, CudaGraphHandle graph, const CudaNodeHandle* after, size_t count,                 \
            const CudaCopyNode* parameters, CudaContextHandle context))                                             \
  FUNCTION(graph_add_fill, "cuGraphAddMemsetNode",                                                                  \
           (CudaNodeHandle* node, CudaGraphHandle graph, const CudaNodeHandle* after, size_t count,                 \
            const CudaFillNode* parameters, CudaContextHandle context))                                             \
  FUNCTION(graph_set_attribute, "cuGraphKernelNodeSetAttribute",                                                    \
           (CudaNodeHandle node, int which, const CudaAttributeValue* value))                                       \
  FUNCTION(graph_instantiate, "cuGraphInstantiateWithFlags",                                                        \
           (CudaGraphExecHandle* exec, CudaGraphHandle graph, unsigned long long flags))                            \
  FUNCTION(exec_destroy, "cuGraphExecDestroy", (CudaGraphExecHandle exec))                                          \
  FUNCTION(exec_launch, "cuGraphLaunch", (CudaGraphExecHandle exec, CudaStreamHandle stream))                       \
  FUNCTION(exec_set_kernel, "cuGraphExecKernelNodeSetParams_v2",                                                    \
           (CudaGraphExecHandle exec, CudaNodeHandle node, const CudaKernelNode* parameters))                       \
  FUNCTION(exec_set_copy, "cuGraphExecMemcpyNodeSetParams",                                                         \
           (CudaGraphExecHandle exec, CudaNodeHandle node, const CudaCopyNode* parameters,                          \
            CudaContextHandle context))                                                                             \
  FUNCTION(exec_set_fill, "cuGraphExecMemsetNodeSetParams",                                                         \
           (CudaGraphExecHandle exec, CudaNodeHandle node, const CudaFillNode* parameters,                          \
            CudaContextHandle context))
// clang-format on

/// The differences of another vendor's driver with these functions.
struct CudaDialect {
  /// Its name of a function; empty: it has none, and the function here is null.
  std::string (*symbol)(std::string_view cuda) = nullptr;
  int (*attribute)(CudaAttribute which) = nullptr;  ///< its number
  /// Of a device: the name of its kind of code (`devices::Properties::code`).
  std::function<std::string(void* library, int device)> code{};
  /// Converts the code to what `module_load` takes.
  std::function<std::string(std::string_view code, const std::string& kind)> link{};
};

class CudaDriver : public OpenDriver {
 public:
  /// Opens the shared object of this name or path and starts the driver. Throws DeviceError with the reason
  /// if that cannot be: nothing there, too old, no device.
  static std::unique_ptr<CudaDriver> open(const std::string& path, CudaDialect dialect = {});

  /// The name of a device's kind of code; `capability`: of NVIDIA's, times ten.
  std::string code_of(int device, int capability) const;
  /// Whether devices are NVIDIA's or like them: of a compute capability, with warps that kernels may rely on.
  bool has_capabilities() const { return dialect_.code == nullptr; }
  /// Of a device: an attribute, by the driver's own number.
  CudaResult attribute(int* value, CudaAttribute which, int device) const {
    return device_attribute(
        value, dialect_.attribute ? static_cast<CudaAttribute>(dialect_.attribute(which)) : which, device);
  }
  /// The code for devices of this kind as `module_load` takes it. Throws DeviceError with a linker's words.
  std::string loadable(std::string_view code, const std::string& kind) const {
    return dialect_.link ? dialect_.link(code, kind) : std::string(code);
  }

#define INGOT_CUDA_MEMBER(name, symbol, parameters) CudaResult(*name) parameters = nullptr;
  INGOT_CUDA_FUNCTIONS(INGOT_CUDA_MEMBER)
  INGOT_CUDA_MORE_FUNCTIONS(INGOT_CUDA_MEMBER)
#undef INGOT_CUDA_MEMBER

  /// The path it was opened by.
  const std::string& path() const { return path_; }
  bool has_graphs() const;

  /// Whether it is the software device's, which takes PTX alone.
  bool is_software() const { return last_error_ != nullptr; }

  /// What a result means, in the driver's words: "out of memory (CUDA_ERROR_OUT_OF_MEMORY)". Of a lasting
  /// one, the cause that the software device gives.
  std::string text(CudaResult result) const;

 private:
  CudaDriver() = default;

  CudaDialect dialect_{};
  void* library_ = nullptr;
  std::string path_{};
  int (*last_error_)(char* text, size_t bytes) = nullptr;
};

}  // namespace ingot::devices
