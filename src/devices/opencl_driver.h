#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "devices/forks.h"

/// OpenCL's ABI, as far as it is used here: its names and numbers, written anew.
namespace ingot::devices {

/// cl_int, as a result.
enum OpenClResult : int {
  kOpenClSuccess = 0,
  kOpenClNoMemory = -4,
  kOpenClNoResources = -5,
  kOpenClNoHostMemory = -6,
  kOpenClNoDevices = -1,
};

/// cl_device_info.
enum OpenClDeviceInfo : unsigned {
  kOpenClDeviceProcessors = 0x1002,
  kOpenClDeviceBlockThreads = 0x1004,
  kOpenClDeviceAddressBits = 0x100d,
  kOpenClDeviceFloats = 0x101b,
  kOpenClDeviceMemory = 0x101f,
  kOpenClDeviceBlockMemory = 0x1023,
  kOpenClDeviceIsLittle = 0x1026,
  kOpenClDeviceName = 0x102b,
  kOpenClDeviceExtensions = 0x1030,
  kOpenClDeviceDoubles = 0x1032,
  kOpenClDeviceSharing = 0x1053,
};

/// cl_device_fp_config.
constexpr uint64_t kOpenClFloatSubnormals = 1, kOpenClFloatSpecials = 2, kOpenClFloatNearest = 4,
                   kOpenClFloatFma = 32, kOpenClFloatRoundsQuotients = 128;
/// cl_device_svm_capabilities.
constexpr uint64_t kOpenClSharesBuffers = 1;

constexpr uint64_t kOpenClAnyDevice = 0xffffffff;     ///< cl_device_type
constexpr unsigned kOpenClQueueProperties = 0x1093;   ///< cl_queue_info, of `queue_create`
constexpr uint64_t kOpenClQueueTimes = 2;             ///< cl_command_queue_properties
constexpr uint64_t kOpenClReadWrite = 1;              ///< cl_svm_mem_flags
constexpr unsigned kOpenClBuildLog = 0x1183;          ///< cl_program_build_info
constexpr unsigned kOpenClKernelParameters = 0x1191;  ///< cl_kernel_info
constexpr unsigned kOpenClKernelThreads = 0x11b0, kOpenClKernelShared = 0x11b2,
                   kOpenClKernelPrivate = 0x11b4;  ///< cl_kernel_work_group_info
constexpr unsigned kOpenClParameterSpace = 0x1196, kOpenClParameterType = 0x1198;  ///< cl_kernel_arg_info
constexpr unsigned kOpenClSpaceGlobal = 0x119b, kOpenClSpaceLocal = 0x119c, kOpenClSpaceConstant = 0x119d;
constexpr unsigned kOpenClEventStatus = 0x11d3;  ///< cl_event_info
constexpr int kOpenClEventComplete = 0;
constexpr unsigned kOpenClEventEnd = 0x1283;  ///< cl_profiling_info

using OpenClPlatformHandle = struct OpenClPlatformObject*;
using OpenClDeviceHandle = struct OpenClDeviceObject*;
using OpenClContextHandle = struct OpenClContextObject*;
using OpenClQueueHandle = struct OpenClQueueObject*;
using OpenClEventHandle = struct OpenClEventObject*;
using OpenClProgramHandle = struct OpenClProgramObject*;
using OpenClKernelHandle = struct OpenClKernelObject*;

// name here, name of the ABI, what it gives, parameters
// clang-format off
#define INGOT_OPENCL_FUNCTIONS(FUNCTION)                                                                             \
  FUNCTION(platforms, "clGetPlatformIDs", OpenClResult,                                                              \
           (unsigned most, OpenClPlatformHandle* platforms, unsigned* count))                                        \
  FUNCTION(device_list, "clGetDeviceIDs", OpenClResult,                                                              \
           (OpenClPlatformHandle platform, uint64_t type, unsigned most, OpenClDeviceHandle* devices,                \
            unsigned* count))                                                                                        \
  FUNCTION(device_info, "clGetDeviceInfo", OpenClResult,                                                             \
           (OpenClDeviceHandle device, OpenClDeviceInfo what, size_t bytes, void* value, size_t* size))              \
  FUNCTION(context_create, "clCreateContext", OpenClContextHandle,                                                   \
           (const intptr_t* properties, unsigned count, const OpenClDeviceHandle* devices,                           \
            void (*notify)(const char*, const void*, size_t, void*), void* given, OpenClResult* result))             \
  FUNCTION(queue_create, "clCreateCommandQueueWithProperties", OpenClQueueHandle,                                    \
           (OpenClContextHandle context, OpenClDeviceHandle device, const uint64_t* properties,                      \
            OpenClResult* result))                                                                                   \
  FUNCTION(queue_release, "clReleaseCommandQueue", OpenClResult, (OpenClQueueHandle queue))                          \
  FUNCTION(queue_flush, "clFlush", OpenClResult, (OpenClQueueHandle queue))                                          \
  FUNCTION(queue_finish, "clFinish", OpenClResult, (OpenClQueueHandle queue))                                        \
  FUNCTION(memory_allocate, "clSVMAlloc", void*,                                                                     \
           (OpenClContextHandle context, uint64_t flags, size_t bytes, unsigned alignment))                          \
  FUNCTION(memory_free, "clSVMFree", void, (OpenClContextHandle context, void* memory))                              \
  FUNCTION(copy, "clEnqueueSVMMemcpy", OpenClResult,                                                                 \
           (OpenClQueueHandle queue, unsigned waits, void* to, const void* from, size_t bytes, unsigned count,       \
            const OpenClEventHandle* after, OpenClEventHandle* event))                                               \
  FUNCTION(fill, "clEnqueueSVMMemFill", OpenClResult,                                                                \
           (OpenClQueueHandle queue, void* to, const void* pattern, size_t pattern_bytes, size_t bytes,              \
            unsigned count, const OpenClEventHandle* after, OpenClEventHandle* event))                               \
  FUNCTION(marker, "clEnqueueMarkerWithWaitList", OpenClResult,                                                      \
           (OpenClQueueHandle queue, unsigned count, const OpenClEventHandle* after, OpenClEventHandle* event))      \
  FUNCTION(bar, "clEnqueueBarrierWithWaitList", OpenClResult,                                                        \
           (OpenClQueueHandle queue, unsigned count, const OpenClEventHandle* after, OpenClEventHandle* event))      \
  FUNCTION(event_info, "clGetEventInfo", OpenClResult,                                                               \
           (OpenClEventHandle event, unsigned what, size_t bytes, void* value, size_t* size))                        \
  FUNCTION(event_time, "clGetEventProfilingInfo", OpenClResult,                                                      \
           (OpenClEventHandle event, unsigned what, size_t bytes, void* value, size_t* size))                        \
  FUNCTION(event_wait, "clWaitForEvents", OpenClResult, (unsigned count, const OpenClEventHandle* events))           \
  FUNCTION(event_retain, "clRetainEvent", OpenClResult, (OpenClEventHandle event))                                   \
  FUNCTION(event_release, "clReleaseEvent", OpenClResult, (OpenClEventHandle event))                                 \
  FUNCTION(event_callback, "clSetEventCallback", OpenClResult,                                                       \
           (OpenClEventHandle event, int status, void (*call)(OpenClEventHandle, int, void*), void* given))          \
  FUNCTION(program_create, "clCreateProgramWithSource", OpenClProgramHandle,                                         \
           (OpenClContextHandle context, unsigned count, const char** texts, const size_t* lengths,                  \
            OpenClResult* result))                                                                                   \
  FUNCTION(program_build, "clBuildProgram", OpenClResult,                                                            \
           (OpenClProgramHandle program, unsigned count, const OpenClDeviceHandle* devices, const char* options,     \
            void (*notify)(OpenClProgramHandle, void*), void* given))                                                \
  FUNCTION(program_build_info, "clGetProgramBuildInfo", OpenClResult,                                                \
           (OpenClProgramHandle program, OpenClDeviceHandle device, unsigned what, size_t bytes, void* value,        \
            size_t* size))                                                                                           \
  FUNCTION(program_release, "clReleaseProgram", OpenClResult, (OpenClProgramHandle program))                         \
  FUNCTION(kernel_create, "clCreateKernel", OpenClKernelHandle,                                                      \
           (OpenClProgramHandle program, const char* name, OpenClResult* result))                                    \
  FUNCTION(kernel_retain, "clRetainKernel", OpenClResult, (OpenClKernelHandle kernel))                               \
  FUNCTION(kernel_release, "clReleaseKernel", OpenClResult, (OpenClKernelHandle kernel))                             \
  FUNCTION(kernel_info, "clGetKernelInfo", OpenClResult,                                                             \
           (OpenClKernelHandle kernel, unsigned what, size_t bytes, void* value, size_t* size))                      \
  FUNCTION(kernel_block_info, "clGetKernelWorkGroupInfo", OpenClResult,                                              \
           (OpenClKernelHandle kernel, OpenClDeviceHandle device, unsigned what, size_t bytes, void* value,          \
            size_t* size))                                                                                           \
  FUNCTION(parameter_info, "clGetKernelArgInfo", OpenClResult,                                                       \
           (OpenClKernelHandle kernel, unsigned index, unsigned what, size_t bytes, void* value, size_t* size))      \
  FUNCTION(argument, "clSetKernelArg", OpenClResult,                                                                 \
           (OpenClKernelHandle kernel, unsigned index, size_t bytes, const void* value))                             \
  FUNCTION(argument_address, "clSetKernelArgSVMPointer", OpenClResult,                                               \
           (OpenClKernelHandle kernel, unsigned index, const void* address))                                         \
  FUNCTION(launch, "clEnqueueNDRangeKernel", OpenClResult,                                                           \
           (OpenClQueueHandle queue, OpenClKernelHandle kernel, unsigned axes, const size_t* first,                  \
            const size_t* threads, const size_t* block, unsigned count, const OpenClEventHandle* after,              \
            OpenClEventHandle* event))
// clang-format on

class OpenClDriver : public OpenDriver {
 public:
  /// Opens the shared object of this name or path. Throws DeviceError with the reason if that cannot be.
  static std::unique_ptr<OpenClDriver> open(const std::string& path);

// NOLINTNEXTLINE(bugprone-macro-parentheses): a type
#define INGOT_OPENCL_MEMBER(name, symbol, gives, parameters) gives(*name) parameters = nullptr;
  INGOT_OPENCL_FUNCTIONS(INGOT_OPENCL_MEMBER)
#undef INGOT_OPENCL_MEMBER

  /// What a result means: "CL_INVALID_VALUE (-30)".
  static std::string text(OpenClResult result);

 private:
  OpenClDriver() = default;
};

}  // namespace ingot::devices
