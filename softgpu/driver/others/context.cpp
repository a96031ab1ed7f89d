#include <algorithm>
#include <cstring>

#include "softgpu/driver/others/names.h"
#include "softgpu/driver/state.h"

// Devices and contexts, and the look-up of functions.

using namespace softgpu;          // NOLINT(google-build-using-namespace): the functions are the ABI's, in no
using namespace softgpu::driver;  // NOLINT(google-build-using-namespace): namespace

namespace {

/// The PCI address of a device.
std::string bus_of(int device) {
  const std::string number = std::to_string(device);
  return "0000:" + std::string(2 - number.size(), '0') + number + ":00.0";
}

}  // namespace

SOFTGPU_API cuDeviceGetUuid(char* uuid, int device) {
  return guarded([&](Driver& driver) {
    if (!driver.has_device(device)) return kInvalidDevice;
    if (uuid == nullptr) return kInvalidValue;
    std::memcpy(uuid, "ingot-emulator-", 15);
    uuid[15] = static_cast<char>('0' + device);
    return kSuccess;
  });
}

SOFTGPU_API cuDeviceGetUuid_v2(char* uuid, int device) { return cuDeviceGetUuid(uuid, device); }

SOFTGPU_API cuDeviceGetP2PAttribute(int* value, int, int device, int peer) {
  return guarded([&](Driver& driver) {
    if (value == nullptr) return kInvalidValue;
    if (!driver.has_device(device) || !driver.has_device(peer) || device == peer) return kInvalidDevice;
    *value = 0;
    return kSuccess;
  });
}

SOFTGPU_API cuDeviceComputeCapability(int* major, int* minor, int device) {
  return guarded([&](Driver& driver) {
    if (!driver.has_device(device)) return kInvalidDevice;
    if (major == nullptr || minor == nullptr) return kInvalidValue;
    *major = kCapabilityMajor;
    *minor = kCapabilityMinor;
    return kSuccess;
  });
}

SOFTGPU_API cuDeviceGetPCIBusId(char* name, int length, int device) {
  return guarded([&](Driver& driver) {
    if (!driver.has_device(device)) return kInvalidDevice;
    if (name == nullptr || length < 13) return kInvalidValue;
    std::memcpy(name, bus_of(device).c_str(), 13);
    return kSuccess;
  });
}

SOFTGPU_API cuDeviceGetByPCIBusId(int* device, const char* name) {
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

SOFTGPU_API cuDevicePrimaryCtxSetFlags_v2(int device, unsigned) {
  return guarded([&](Driver& driver) { return driver.has_device(device) ? kSuccess : kInvalidDevice; });
}

SOFTGPU_API cuDevicePrimaryCtxGetState(int device, unsigned* flags, int* active) {
  return guarded([&](Driver& driver) {
    if (!driver.has_device(device)) return kInvalidDevice;
    if (flags != nullptr) *flags = 0;
    const Context* const primary = driver.primaries[static_cast<size_t>(device)].context;
    if (active != nullptr) *active = primary != nullptr && !primary->is_reset ? 1 : 0;
    return kSuccess;
  });
}

SOFTGPU_API cuCtxCreate_v2(void** context, unsigned, int device) {
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
SOFTGPU_API cuCtxCreate_v4(void** context, void* parameters, unsigned flags, int device) {
  return parameters != nullptr ? kNotSupported : cuCtxCreate_v2(context, flags, device);
}

SOFTGPU_API cuCtxCreate_v3(void** context, void*, int count, unsigned flags, int device) {
  return count != 0 ? kNotSupported : cuCtxCreate_v2(context, flags, device);
}

SOFTGPU_API cuCtxDestroy_v2(void* context) {
  return guarded([&](Driver& driver) {
    Context* const found = driver.contexts.find(context);
    const auto is_found = [&](const Driver::Primary& primary) { return primary.context == found; };
    if (found == nullptr || std::ranges::any_of(driver.primaries, is_found)) return kInvalidContext;
    found->device.run_all();
    drop_context(driver, found);
    return kSuccess;
  });
}

SOFTGPU_API cuCtxGetDevice(int* device) {
  return with_context([&](Context& context) {
    if (device == nullptr) return kInvalidValue;
    *device = context.ordinal;
    return kSuccess;
  });
}

SOFTGPU_API cuCtxSynchronize() {
  return with_context([&](Context& context) {
    if (context.break_captures()) return kCaptureUnsupported;
    context.device.run_all();
    return kSuccess;
  });
}

SOFTGPU_API cuCtxSetLimit(int which, size_t value) {
  return with_context([&](Context& context) {
    if (which < 0 || which > 6) return kInvalidValue;
    context.limits[static_cast<size_t>(which)] = value;
    return kSuccess;
  });
}

SOFTGPU_API cuCtxGetLimit(size_t* value, int which) {
  return with_context([&](Context& context) {
    if (value == nullptr || which < 0 || which > 6) return kInvalidValue;
    *value = context.limits[static_cast<size_t>(which)];
    return kSuccess;
  });
}

SOFTGPU_API cuCtxGetApiVersion(void* handle, unsigned* version) {
  return guarded([&](Driver& driver) {
    if (handle != nullptr && driver.contexts.find(handle) == nullptr) return kInvalidContext;
    if (version == nullptr) return kInvalidValue;
    *version = 3020;
    return kSuccess;
  });
}

SOFTGPU_API cuCtxGetFlags(unsigned* flags) {
  return with_context([&](Context&) {
    if (flags == nullptr) return kInvalidValue;
    *flags = 0;
    return kSuccess;
  });
}

SOFTGPU_API cuCtxGetId(void* handle, uint64_t* number) {
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

SOFTGPU_API cuCtxGetCacheConfig(int* config) {
  return with_context([&](Context&) {
    if (config == nullptr) return kInvalidValue;
    *config = 0;
    return kSuccess;
  });
}

SOFTGPU_API cuCtxSetCacheConfig(int) {
  return with_context([](Context&) { return kSuccess; });
}

SOFTGPU_API cuCtxGetSharedMemConfig(int* config) { return cuCtxGetCacheConfig(config); }

SOFTGPU_API cuCtxSetSharedMemConfig(int) { return cuCtxSetCacheConfig(0); }

SOFTGPU_API cuCtxDisablePeerAccess(void* peer) {
  return with_context([&](Context&) {
    return Driver::instance().contexts.find(peer) == nullptr ? kInvalidContext : kPeerNotEnabled;
  });
}

SOFTGPU_API cuProfilerStart() { return cuCtxSetCacheConfig(0); }

SOFTGPU_API cuProfilerStop() { return cuCtxSetCacheConfig(0); }

SOFTGPU_API cuGetProcAddress_v2(const char* name, void** function, int version, uint64_t, int* status) {
  if (name == nullptr || function == nullptr) return kInvalidValue;
  *function = function_named(name, version);
  if (status != nullptr) *status = *function != nullptr ? 0 : 1;
  return *function != nullptr ? kSuccess : kNotFound;
}

SOFTGPU_API cuGetProcAddress(const char* name, void** function, int version, uint64_t flags) {
  return cuGetProcAddress_v2(name, function, version, flags, nullptr);
}

/// Tables of functions between the vendor's own libraries: there are none, and these do without.
SOFTGPU_API cuGetExportTable(const void** table, const void*) {
  if (table == nullptr) return kInvalidValue;
  *table = nullptr;
  return kNotFound;
}
