#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "softgpu/driver/state.h"
#include "softgpu/machine/device.h"

// Initialisation, the device, contexts, errors.

namespace softgpu::driver {

namespace {

struct Named {
  int number;
  const char* name;
  const char* text;
};

constexpr Named kErrors[] = {
    {kSuccess, "CUDA_SUCCESS", "no error"},
    {kInvalidValue, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {kNotInitialized, "CUDA_ERROR_NOT_INITIALIZED", "the driver is not initialized"},
    {kInvalidDevice, "CUDA_ERROR_INVALID_DEVICE", "no device of this number"},
    {kInvalidContext, "CUDA_ERROR_INVALID_CONTEXT", "no current context, or one that is gone"},
    {kNoBinary, "CUDA_ERROR_NO_BINARY_FOR_GPU", "the software device runs PTX only"},
    {kInvalidPtx, "CUDA_ERROR_INVALID_PTX", "PTX that cannot be loaded"},
    {kInvalidHandle, "CUDA_ERROR_INVALID_HANDLE", "no object of this handle"},
    {kNotFound, "CUDA_ERROR_NOT_FOUND", "nothing of this name"},
    {kNotReady, "CUDA_ERROR_NOT_READY", "operations are still waiting"},
    {kIllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS", "an access to memory that is not the kernel's"},
    {kOutOfResources, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many threads or too much shared memory"},
    {kTimeout, "CUDA_ERROR_LAUNCH_TIMEOUT", "the kernel ran too long"},
    {kAssert, "CUDA_ERROR_ASSERT", "an assertion of the kernel failed"},
    {kAlreadyRegistered, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", "the memory is registered already"},
    {kNotRegistered, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", "the memory is not registered"},
    {kStackError, "CUDA_ERROR_HARDWARE_STACK_ERROR", "the stack of a thread is full"},
    {kIllegalInstruction, "CUDA_ERROR_ILLEGAL_INSTRUCTION", "an instruction that cannot be executed"},
    {kMisaligned, "CUDA_ERROR_MISALIGNED_ADDRESS", "an access at an address that is not aligned"},
    {kLaunchFailed, "CUDA_ERROR_LAUNCH_FAILED", "the kernel failed"},
    {kTooLarge, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", "more blocks than run at once"},
    {kNotSupported, "CUDA_ERROR_NOT_SUPPORTED", "not supported by the software device"},
    {kNotPermitted, "CUDA_ERROR_NOT_PERMITTED", "a function that a stream calls may not call the driver"},
    {kCaptureUnsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "cannot be captured"},
    {kCaptureInvalidated, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "the capture was broken before"},
    {kCaptureUnmatched, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", "the stream did not begin this capture"},
    {kCaptureUnjoined, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "work of another stream is not waited for"},
    {kCaptureImplicit, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT", "the default stream waits for a captured one"},
    {kGraphUpdateFailed, "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE", "the graphs differ in their nodes"},
    {kPeerUnsupported, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED", "there is no other device"},
    {kPeerNotEnabled, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED", "there is no other device"},
    {kInvalidImage, "CUDA_ERROR_INVALID_IMAGE", "an image that is neither PTX nor a program"},
    {kFileNotFound, "CUDA_ERROR_FILE_NOT_FOUND", "there is no such file"},
    {kUnknown, "CUDA_ERROR_UNKNOWN", "an internal error"},
};

int attribute(int which) {
  switch (which) {
    case 1: return 1024;  // threads of a block
    case 2:
    case 3: return 1024;        // x, y of a block
    case 4: return 64;          // z
    case 5: return 2147483647;  // x of a grid
    case 6:
    case 7: return 65535;  // y, z
    case 8: return kSharedPerBlock;
    case 9: return 65536;        // constant memory
    case 10: return 32;          // a warp
    case 11: return 2147483647;  // pitch
    case 12:
    case 82: return 65536;    // registers
    case 13: return 1000000;  // kHz
    case 14: return 512;      // alignment of textures
    case 15:
    case 19:  // host memory can be mapped
    case 31:  // concurrent kernels
    case 41:  // unified addressing
    case 83:  // managed memory
    case 89:  // which both may touch at the same time
    case 91:  // the host's registered memory has one address
    case 78:  // priorities of streams
    case 79:
    case 80:
    case 95:             // cooperative launches
    case 115: return 1;  // pools
    case 16: return kMultiprocessors;
    case 36: return 1000000;  // kHz of the memory
    case 37: return 256;      // bits of its bus
    case 38: return 4 << 20;  // second cache
    case 39: return kThreadsPerMultiprocessor;
    case 40: return 2;  // engines of copies
    case 75: return kCapabilityMajor;
    case 76: return kCapabilityMinor;
    case 81: return kSharedPerMultiprocessor;
    case 97: return kSharedOptIn;
    case 106: return kBlocksPerMultiprocessor;
    case 111: return 1024;  // shared memory that the system takes
    default: return 0;
  }
}

Result text_of_error(int number, const char** text, const char* Named::* which) {
  const auto* const found = std::ranges::find(kErrors, number, &Named::number);
  if (text == nullptr || found == std::end(kErrors)) return kInvalidValue;
  *text = found->*which;
  return kSuccess;
}

}  // namespace

Context::~Context() {
  for (const auto& [memory, allocation] : pinned) {
    device.memory().remove_host(*allocation);
    std::free(memory);
  }
}

Stream* Context::stream(const void* handle) {
  const auto number = reinterpret_cast<uintptr_t>(handle);
  return number <= 2 ? &default_ : streams.find(handle);
}

Driver::Driver() {
  const uint64_t devices = environment("INGOT_EMULATOR_DEVICES", 1);
  primaries.resize(std::clamp<uint64_t>(devices, 1, kMostDevices));
  const char* const text = std::getenv("INGOT_EMULATOR_FAIL");
  if (text == nullptr || *text == '\0') return;
  char* end = nullptr;
  const uint64_t number = std::strtoull(text, &end, 10);
  const bool has_result = *end == ':' && end != text;
  const char* const result = has_result ? end + 1 : nullptr;
  const long wanted = has_result ? std::strtol(result, &end, 10) : 0;
  if (end == text || end == result || *end != '\0') {
    std::fprintf(stderr, "INGOT_EMULATOR_FAIL is n or n:result, not '%s': it is taken as not set\n", text);
    return;
  }
  until_failure = number;
  if (has_result) planned_failure = static_cast<Result>(wanted);
}

bool Context::break_captures() {
  bool any = false;
  streams.for_each([&](Stream& stream) {
    if (stream.capture == nullptr) return;
    stream.capture->is_broken = true;
    any = true;
  });
  return any;
}

bool& is_in_callback() {
  thread_local bool is_in = false;
  return is_in;
}

Driver& Driver::instance() {
  static Driver* const driver = new Driver;  // programs may call at exit, after static objects are destroyed
  return *driver;
}

std::vector<Context*>& current_contexts() {
  thread_local std::vector<Context*> stack;
  return stack;
}

Result result_of(const Fault& fault) {
  switch (fault.kind) {
    case FaultKind::Illegal: return kIllegalAddress;
    case FaultKind::Misaligned: return kMisaligned;
    case FaultKind::Timeout: return kTimeout;
    case FaultKind::Assertion: return kAssert;
    case FaultKind::Instruction: return kIllegalInstruction;
    case FaultKind::Stack: return kStackError;
    case FaultKind::Race:
    case FaultKind::Unwritten:
    case FaultKind::Barrier:
    case FaultKind::Deadlock:
    case FaultKind::Trap: return kLaunchFailed;
  }
  return kUnknown;
}

Context* new_context(Driver& driver, int device) {
  auto made = std::make_unique<Context>(DeviceOptions::of_environment(), device);
  made->own_number = ++driver.made;
  return driver.contexts.add(std::move(made));
}

void drop_context(Driver& driver, Context* context) {
  std::erase(current_contexts(), context);
  driver.libraries.for_each([&](Library& library) { library.modules.erase(context); });
  driver.contexts.remove(context);
}

}  // namespace softgpu::driver

using namespace softgpu;          // NOLINT(google-build-using-namespace): the functions are the ABI's, in no
using namespace softgpu::driver;  // NOLINT(google-build-using-namespace): namespace

SOFTGPU_API cuInit(unsigned flags) {
  return guarded(
      [&](Driver& driver) {
        if (flags != 0) return kInvalidValue;
        driver.is_initialized = true;
        return kSuccess;
      },
      false);
}

SOFTGPU_API cuDriverGetVersion(int* version) {
  if (version == nullptr) return kInvalidValue;
  *version = kVersion;
  return kSuccess;
}

SOFTGPU_API cuGetErrorName(int error, const char** name) { return text_of_error(error, name, &Named::name); }

SOFTGPU_API cuGetErrorString(int error, const char** text) {
  return text_of_error(error, text, &Named::text);
}

SOFTGPU_API cuDeviceGetCount(int* count) {
  return guarded([&](Driver& driver) {
    if (count == nullptr) return kInvalidValue;
    *count = static_cast<int>(driver.primaries.size());
    return kSuccess;
  });
}

SOFTGPU_API cuDeviceGet(int* device, int ordinal) {
  return guarded([&](Driver& driver) {
    if (device == nullptr) return kInvalidValue;
    if (!driver.has_device(ordinal)) return kInvalidDevice;
    *device = ordinal;
    return kSuccess;
  });
}

SOFTGPU_API cuDeviceGetName(char* name, int length, int device) {
  return guarded([&](Driver& driver) {
    if (!driver.has_device(device)) return kInvalidDevice;
    if (name == nullptr || length <= 0) return kInvalidValue;
    std::strncpy(name, "Ingot software device", static_cast<size_t>(length));
    name[length - 1] = '\0';
    return kSuccess;
  });
}

SOFTGPU_API cuDeviceGetAttribute(int* value, int which, int device) {
  return guarded([&](Driver& driver) {
    if (!driver.has_device(device)) return kInvalidDevice;
    if (value == nullptr || which <= 0) return kInvalidValue;
    *value = attribute(which);
    return kSuccess;
  });
}

SOFTGPU_API cuDeviceTotalMem_v2(size_t* bytes, int device) {
  return guarded([&](Driver& driver) {
    if (!driver.has_device(device)) return kInvalidDevice;
    if (bytes == nullptr) return kInvalidValue;
    *bytes = DeviceOptions::of_environment().memory;
    return kSuccess;
  });
}

SOFTGPU_API cuDeviceCanAccessPeer(int* can, int device, int peer) {
  return guarded([&](Driver& driver) {
    if (!driver.has_device(device) || !driver.has_device(peer)) return kInvalidDevice;
    if (can == nullptr) return kInvalidValue;
    *can = 0;
    return kSuccess;
  });
}

SOFTGPU_API cuDevicePrimaryCtxRetain(void** context, int device) {
  return guarded([&](Driver& driver) {
    if (!driver.has_device(device)) return kInvalidDevice;
    if (context == nullptr) return kInvalidValue;
    auto& [primary, uses] = driver.primaries[static_cast<size_t>(device)];
    if (primary == nullptr) primary = new_context(driver, device);
    primary->is_reset = false;
    ++uses;
    *context = primary;
    return kSuccess;
  });
}

/// All that was in the context goes. Its handle is the same when somebody retains it again, and none until
/// then.
SOFTGPU_API cuDevicePrimaryCtxReset_v2(int device) {
  return guarded([&](Driver& driver) {
    if (!driver.has_device(device)) return kInvalidDevice;
    auto& [primary, uses] = driver.primaries[static_cast<size_t>(device)];
    if (primary == nullptr) return kSuccess;
    driver.libraries.for_each([&](Library& library) { library.modules.erase(primary); });
    std::destroy_at(primary);
    std::construct_at(primary, DeviceOptions::of_environment(), device);
    primary->own_number = ++driver.made;
    primary->is_reset = true;
    uses = 0;
    return kSuccess;
  });
}

SOFTGPU_API cuDevicePrimaryCtxRelease_v2(int device) {
  return guarded([&](Driver& driver) {
    if (!driver.has_device(device)) return kInvalidDevice;
    auto& [primary, uses] = driver.primaries[static_cast<size_t>(device)];
    if (primary == nullptr || uses == 0) return kInvalidContext;
    if (--uses != 0) return kSuccess;
    drop_context(driver, primary);
    primary = nullptr;
    return kSuccess;
  });
}

SOFTGPU_API cuCtxSetCurrent(void* context) {
  return guarded([&](Driver& driver) {
    Context* const found = driver.contexts.find(context);
    if (context != nullptr && found == nullptr) return kInvalidContext;
    std::vector<Context*>& stack = current_contexts();
    if (!stack.empty()) stack.pop_back();
    if (found != nullptr) stack.push_back(found);
    return kSuccess;
  });
}

SOFTGPU_API cuCtxGetCurrent(void** context) {
  return guarded([&](Driver& driver) {
    if (context == nullptr) return kInvalidValue;
    const std::vector<Context*>& stack = current_contexts();
    *context = stack.empty() ? nullptr : driver.contexts.find(stack.back());
    return kSuccess;
  });
}

SOFTGPU_API cuCtxPushCurrent_v2(void* context) {
  return guarded([&](Driver& driver) {
    Context* const found = driver.contexts.find(context);
    if (found == nullptr) return kInvalidContext;
    current_contexts().push_back(found);
    return kSuccess;
  });
}

SOFTGPU_API cuCtxPopCurrent_v2(void** context) {
  return guarded([&](Driver&) {
    std::vector<Context*>& stack = current_contexts();
    if (stack.empty()) return kInvalidContext;
    if (context != nullptr) *context = stack.back();
    stack.pop_back();
    return kSuccess;
  });
}

SOFTGPU_API cuCtxEnablePeerAccess(void* peer, unsigned flags) {
  return with_context([&](Context& context) {
    if (flags != 0) return kInvalidValue;
    if (Driver::instance().contexts.find(peer) == nullptr || peer == &context) return kInvalidContext;
    return kPeerUnsupported;
  });
}

SOFTGPU_API cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  return with_context([&](Context&) {
    if (least != nullptr) *least = 0;
    if (greatest != nullptr) *greatest = kGreatestPriority;
    return kSuccess;
  });
}
