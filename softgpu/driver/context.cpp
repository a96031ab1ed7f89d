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

/// The PCI address of a device.
std::string bus_of(int device) {
  const std::string number = std::to_string(device);
  return "0000:" + std::string(2 - number.size(), '0') + number + ":00.0";
}

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

}  // namespace

}  // namespace softgpu::driver

using namespace softgpu;          // NOLINT(google-build-using-namespace): the functions are the ABI's, in no
using namespace softgpu::driver;  // NOLINT(google-build-using-namespace): namespace

INGOT_DRIVER cuInit(unsigned flags) {
  return guarded(
      [&](Driver& driver) {
        if (flags != 0) return kInvalidValue;
        driver.is_initialized = true;
        return kSuccess;
      },
      false);
}

INGOT_DRIVER cuDriverGetVersion(int* version) {
  if (version == nullptr) return kInvalidValue;
  *version = kVersion;
  return kSuccess;
}

INGOT_DRIVER cuGetErrorName(int error, const char** name) { return text_of_error(error, name, &Named::name); }

INGOT_DRIVER cuGetErrorString(int error, const char** text) {
  return text_of_error(error, text, &Named::text);
}

INGOT_DRIVER cuDeviceGetCount(int* count) {
  return guarded([&](Driver& driver) {
    if (count == nullptr) return kInvalidValue;
    *count = static_cast<int>(driver.primaries.size());
    return kSuccess;
  });
}

INGOT_DRIVER cuDeviceGet(int* device, int ordinal) {
  return guarded([&](Driver& driver) {
    if (device == nullptr) return kInvalidValue;
    if (!driver.has_device(ordinal)) return kInvalidDevice;
    *device = ordinal;
    return kSuccess;
  });
}

INGOT_DRIVER cuDeviceGetName(char* name, int length, int device) {
  return guarded([&](Driver& driver) {
    if (!driver.has_device(device)) return kInvalidDevice;
    if (name == nullptr || length <= 0) return kInvalidValue;
    std::strncpy(name, "Ingot software device", static_cast<size_t>(length));
    name[length - 1] = '\0';
    return kSuccess;
  });
}

INGOT_DRIVER cuDeviceGetUuid(char* uuid, int device) {
  return guarded([&](Driver& driver) {
    if (!driver.has_device(device)) return kInvalidDevice;
    if (uuid == nullptr) return kInvalidValue;
    std::memcpy(uuid, "ingot-emulator-", 15);
    uuid[15] = static_cast<char>('0' + device);
    return kSuccess;
  });
}

INGOT_DRIVER cuDeviceGetUuid_v2(char* uuid, int device) { return cuDeviceGetUuid(uuid, device); }

INGOT_DRIVER cuDeviceGetAttribute(int* value, int which, int device) {
  return guarded([&](Driver& driver) {
    if (!driver.has_device(device)) return kInvalidDevice;
    if (value == nullptr || which <= 0) return kInvalidValue;
    *value = attribute(which);
    return kSuccess;
  });
}

INGOT_DRIVER cuDeviceTotalMem_v2(size_t* bytes, int device) {
  return guarded([&](Driver& driver) {
    if (!driver.has_device(device)) return kInvalidDevice;
    if (bytes == nullptr) return kInvalidValue;
    *bytes = DeviceOptions::of_environment().memory;
    return kSuccess;
  });
}

INGOT_DRIVER cuDeviceCanAccessPeer(int* can, int device, int peer) {
  return guarded([&](Driver& driver) {
    if (!driver.has_device(device) || !driver.has_device(peer)) return kInvalidDevice;
    if (can == nullptr) return kInvalidValue;
    *can = 0;
    return kSuccess;
  });
}

INGOT_DRIVER cuDeviceGetP2PAttribute(int* value, int, int device, int peer) {
  return guarded([&](Driver& driver) {
    if (value == nullptr) return kInvalidValue;
    if (!driver.has_device(device) || !driver.has_device(peer) || device == peer) return kInvalidDevice;
    *value = 0;
    return kSuccess;
  });
}

INGOT_DRIVER cuDeviceComputeCapability(int* major, int* minor, int device) {
  return guarded([&](Driver& driver) {
    if (!driver.has_device(device)) return kInvalidDevice;
    if (major == nullptr || minor == nullptr) return kInvalidValue;
    *major = kCapabilityMajor;
    *minor = kCapabilityMinor;
    return kSuccess;
  });
}

INGOT_DRIVER cuDeviceGetPCIBusId(char* name, int length, int device) {
  return guarded([&](Driver& driver) {
    if (!driver.has_device(device)) return kInvalidDevice;
    if (name == nullptr || length < 13) return kInvalidValue;
    std::memcpy(name, bus_of(device).c_str(), 13);
    return kSuccess;
  });
}

INGOT_DRIVER cuDeviceGetByPCIBusId(int* device, const char* name) {
  return guarded([&](Driver& driver) {
    if (device == nullptr || name == nullptr) return kInvalidValue;
    for (int number = 0; driver.has_device(number); ++number) {
      if (bus_of(number) != name && bus_of(number).substr(5) != name) continue;
      *device = number;
      return kSuccess;
    }
    return kInvalidDevice;
  });
}

INGOT_DRIVER cuDevicePrimaryCtxSetFlags_v2(int device, unsigned) {
  return guarded([&](Driver& driver) { return driver.has_device(device) ? kSuccess : kInvalidDevice; });
}

INGOT_DRIVER cuDevicePrimaryCtxRetain(void** context, int device) {
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
INGOT_DRIVER cuDevicePrimaryCtxReset_v2(int device) {
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

INGOT_DRIVER cuDevicePrimaryCtxRelease_v2(int device) {
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

INGOT_DRIVER cuDevicePrimaryCtxGetState(int device, unsigned* flags, int* active) {
  return guarded([&](Driver& driver) {
    if (!driver.has_device(device)) return kInvalidDevice;
    if (flags != nullptr) *flags = 0;
    const Context* const primary = driver.primaries[static_cast<size_t>(device)].context;
    if (active != nullptr) *active = primary != nullptr && !primary->is_reset ? 1 : 0;
    return kSuccess;
  });
}

INGOT_DRIVER cuCtxCreate_v2(void** context, unsigned, int device) {
  return guarded([&](Driver& driver) {
    if (!driver.has_device(device)) return kInvalidDevice;
    if (context == nullptr) return kInvalidValue;
    Context* const made = new_context(driver, device);
    current_contexts().push_back(made);
    *context = made;
    return kSuccess;
  });
}

/// `parameters` ask for kinds of execution that there are not here.
INGOT_DRIVER cuCtxCreate_v4(void** context, void* parameters, unsigned flags, int device) {
  return parameters != nullptr ? kNotSupported : cuCtxCreate_v2(context, flags, device);
}

INGOT_DRIVER cuCtxCreate_v3(void** context, void*, int count, unsigned flags, int device) {
  return count != 0 ? kNotSupported : cuCtxCreate_v2(context, flags, device);
}

INGOT_DRIVER cuCtxDestroy_v2(void* context) {
  return guarded([&](Driver& driver) {
    Context* const found = driver.contexts.find(context);
    const auto is_found = [&](const Driver::Primary& primary) { return primary.context == found; };
    if (found == nullptr || std::ranges::any_of(driver.primaries, is_found)) return kInvalidContext;
    found->device.run_all();
    drop_context(driver, found);
    return kSuccess;
  });
}

INGOT_DRIVER cuCtxSetCurrent(void* context) {
  return guarded([&](Driver& driver) {
    Context* const found = driver.contexts.find(context);
    if (context != nullptr && found == nullptr) return kInvalidContext;
    std::vector<Context*>& stack = current_contexts();
    if (!stack.empty()) stack.pop_back();
    if (found != nullptr) stack.push_back(found);
    return kSuccess;
  });
}

INGOT_DRIVER cuCtxGetCurrent(void** context) {
  return guarded([&](Driver& driver) {
    if (context == nullptr) return kInvalidValue;
    const std::vector<Context*>& stack = current_contexts();
    *context = stack.empty() ? nullptr : driver.contexts.find(stack.back());
    return kSuccess;
  });
}

INGOT_DRIVER cuCtxPushCurrent_v2(void* context) {
  return guarded([&](Driver& driver) {
    Context* const found = driver.contexts.find(context);
    if (found == nullptr) return kInvalidContext;
    current_contexts().push_back(found);
    return kSuccess;
  });
}

INGOT_DRIVER cuCtxPopCurrent_v2(void** context) {
  return guarded([&](Driver&) {
    std::vector<Context*>& stack = current_contexts();
    if (stack.empty()) return kInvalidContext;
    if (context != nullptr) *context = stack.back();
    stack.pop_back();
    return kSuccess;
  });
}

INGOT_DRIVER cuCtxGetDevice(int* device) {
  return with_context([&](Context& context) {
    if (device == nullptr) return kInvalidValue;
    *device = context.ordinal;
    return kSuccess;
  });
}

INGOT_DRIVER cuCtxSynchronize() {
  return with_context([&](Context& context) {
    if (context.break_captures()) return kCaptureUnsupported;
    context.device.run_all();
    return kSuccess;
  });
}

INGOT_DRIVER cuCtxSetLimit(int which, size_t value) {
  return with_context([&](Context& context) {
    if (which < 0 || which > 6) return kInvalidValue;
    context.limits[static_cast<size_t>(which)] = value;
    return kSuccess;
  });
}

INGOT_DRIVER cuCtxGetLimit(size_t* value, int which) {
  return with_context([&](Context& context) {
    if (value == nullptr || which < 0 || which > 6) return kInvalidValue;
    *value = context.limits[static_cast<size_t>(which)];
    return kSuccess;
  });
}

INGOT_DRIVER cuCtxGetApiVersion(void* handle, unsigned* version) {
  return guarded([&](Driver& driver) {
    if (handle != nullptr && driver.contexts.find(handle) == nullptr) return kInvalidContext;
    if (version == nullptr) return kInvalidValue;
    *version = 3020;
    return kSuccess;
  });
}

INGOT_DRIVER cuCtxGetFlags(unsigned* flags) {
  return with_context([&](Context&) {
    if (flags == nullptr) return kInvalidValue;
    *flags = 0;
    return kSuccess;
  });
}

INGOT_DRIVER cuCtxGetId(void* handle, uint64_t* number) {
  return guarded([&](Driver& driver) {
    const void* const of = handle != nullptr            ? handle
                           : current_contexts().empty() ? nullptr
                                                        : current_contexts().back();
    const Context* const found = driver.contexts.find(of);
    if (found == nullptr) return kInvalidContext;
    if (number == nullptr) return kInvalidValue;
    *number = found->own_number;
    return kSuccess;
  });
}

// Advice about caches and banks, which there are none of.

INGOT_DRIVER cuCtxGetCacheConfig(int* config) {
  return with_context([&](Context&) {
    if (config == nullptr) return kInvalidValue;
    *config = 0;
    return kSuccess;
  });
}

INGOT_DRIVER cuCtxSetCacheConfig(int) {
  return with_context([](Context&) { return kSuccess; });
}

INGOT_DRIVER cuCtxGetSharedMemConfig(int* config) { return cuCtxGetCacheConfig(config); }

INGOT_DRIVER cuCtxSetSharedMemConfig(int) { return cuCtxSetCacheConfig(0); }

INGOT_DRIVER cuCtxEnablePeerAccess(void* peer, unsigned flags) {
  return with_context([&](Context& context) {
    if (flags != 0) return kInvalidValue;
    if (Driver::instance().contexts.find(peer) == nullptr || peer == &context) return kInvalidContext;
    return kPeerUnsupported;
  });
}

INGOT_DRIVER cuCtxDisablePeerAccess(void* peer) {
  return with_context([&](Context&) {
    return Driver::instance().contexts.find(peer) == nullptr ? kInvalidContext : kPeerNotEnabled;
  });
}

INGOT_DRIVER cuProfilerStart() { return cuCtxSetCacheConfig(0); }

INGOT_DRIVER cuProfilerStop() { return cuCtxSetCacheConfig(0); }

INGOT_DRIVER cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  return with_context([&](Context&) {
    if (least != nullptr) *least = 0;
    if (greatest != nullptr) *greatest = kGreatestPriority;
    return kSuccess;
  });
}

INGOT_DRIVER cuGetProcAddress_v2(const char* name, void** function, int version, uint64_t, int* status) {
  if (name == nullptr || function == nullptr) return kInvalidValue;
  *function = function_named(name, version);
  if (status != nullptr) *status = *function != nullptr ? 0 : 1;
  return *function != nullptr ? kSuccess : kNotFound;
}

INGOT_DRIVER cuGetProcAddress(const char* name, void** function, int version, uint64_t flags) {
  return cuGetProcAddress_v2(name, function, version, flags, nullptr);
}

/// Tables of functions between the vendor's own libraries: there are none, and these do without.
INGOT_DRIVER cuGetExportTable(const void** table, const void*) {
  if (table == nullptr) return kInvalidValue;
  *table = nullptr;
  return kNotFound;
}

/// The whole message of the last fault or load error of the process, as much as fits.
INGOT_DRIVER ingot_emulator_last_error(char* text, size_t bytes) {
  return guarded(
      [&](Driver& driver) {
        if (text == nullptr || bytes == 0) return kInvalidValue;
        const size_t count = std::min(bytes - 1, driver.last_error.size());
        std::memcpy(text, driver.last_error.data(), count);
        text[count] = '\0';
        return kSuccess;
      },
      false);
}

/// How many instructions the threads of the context's launches have executed.
INGOT_DRIVER ingot_emulator_instructions(uint64_t* count) {
  return with_context([&](Context& context) {
    if (count == nullptr) return kInvalidValue;
    *count = context.device.counts().instructions;
    return kSuccess;
  });
}

/// Has the call that comes as the `call`-th from now, of any thread, do nothing and give this result; 0:
/// none. How many calls were missing to the one that was planned before.
INGOT_DRIVER ingot_emulator_fail(uint64_t call, int result, uint64_t* missing) {
  Driver& driver = Driver::instance();
  const std::lock_guard lock(driver.mutex);
  if (missing != nullptr) *missing = driver.until_failure;
  driver.until_failure = call;
  driver.planned_failure = static_cast<Result>(result);
  return kSuccess;
}

/// What there is in all contexts: bytes of device memory, and streams, events, modules and pinned blocks.
INGOT_DRIVER ingot_emulator_live(uint64_t* bytes, uint64_t* objects) {
  Driver& driver = Driver::instance();
  const std::lock_guard lock(driver.mutex);
  if (bytes == nullptr || objects == nullptr) return kInvalidValue;
  *bytes = *objects = 0;
  driver.contexts.for_each([&](Context& context) {
    const Memory& memory = context.device.memory();
    *bytes += memory.total() - memory.available();
    *objects +=
        context.streams.size() + context.events.size() + context.modules.size() + context.pinned.size();
  });
  return kSuccess;
}
