#include <cstdlib>
#include <memory>

#include "emulator/driver/state.h"

// Memory: allocation, copies, sets.

using namespace ingot::emulator;  // NOLINT(google-build-using-namespace): the functions are the ABI's, in no
using namespace ingot::emulator::driver;  // NOLINT(google-build-using-namespace): namespace

namespace {

uint64_t address_of(const void* memory) { return reinterpret_cast<uint64_t>(memory); }

/// Whether a copy may touch the range: the host's memory, or device memory that is there or will be.
bool is_sound(Memory& memory, uint64_t address, uint64_t bytes) {
  if (!memory.is_device_address(address)) return address >= 4096;
  const Allocation* const found = memory.near(address);
  return found != nullptr && found->state != Allocation::Freed && address - found->base <= found->whole &&
         bytes <= found->whole - (address - found->base);
}

/// Whether the device reaches memory of the host only through a copy of the driver's.
bool is_pageable(Memory& memory, uint64_t address, uint64_t bytes) {
  return !memory.is_device_address(address) && memory.bytes_at(address, bytes) == nullptr;
}

Result copy_later(Context& context, uint64_t to, uint64_t from, size_t bytes, const void* handle) {
  Device& device = context.device;
  const Stream* const stream = context.stream(handle);
  if (stream == nullptr) return kInvalidHandle;
  if (bytes == 0) return kSuccess;
  if (!is_sound(device.memory(), to, bytes) || !is_sound(device.memory(), from, bytes)) return kInvalidValue;
  if (is_pageable(device.memory(), from, bytes) && !is_pageable(device.memory(), to, bytes)) {
    const auto* const source = reinterpret_cast<const std::byte*>(from);
    const auto staged = std::make_shared<std::vector<std::byte>>(source, source + bytes);
    device.enqueue(stream->number, [=](Device& on) { on.copy(to, address_of(staged->data()), bytes); });
    return kSuccess;
  }
  device.enqueue(stream->number, [=](Device& on) { on.copy(to, from, bytes); });
  if (is_pageable(device.memory(), to, bytes)) device.run_until(device.now(stream->number));
  return kSuccess;
}

Result copy_now(Context& context, uint64_t to, uint64_t from, size_t bytes) {
  const Result result = copy_later(context, to, from, bytes, nullptr);
  if (result == kSuccess) context.device.run_until(context.device.now(Device::kDefault));
  return result;
}

Result fill_later(Context& context, uint64_t to, uint32_t value, uint32_t width, size_t count,
                  const void* handle) {
  const Stream* const stream = context.stream(handle);
  if (stream == nullptr) return kInvalidHandle;
  if (count > SIZE_MAX / 8 || to % width != 0 || !is_sound(context.device.memory(), to, count * width))
    return kInvalidValue;
  context.device.enqueue(stream->number, [=](Device& on) { on.fill(to, value, width, count); });
  return kSuccess;
}

Result fill_now(Context& context, uint64_t to, uint32_t value, uint32_t width, size_t count) {
  const Result result = fill_later(context, to, value, width, count, nullptr);
  if (result == kSuccess) context.device.run_until(context.device.now(Device::kDefault));
  return result;
}

Result allocate_later(Context& context, uint64_t* address, size_t bytes, const void* handle) {
  const Stream* const stream = context.stream(handle);
  if (stream == nullptr) return kInvalidHandle;
  if (address == nullptr || bytes == 0) return kInvalidValue;
  Allocation* made = context.device.memory().allocate(bytes, true);
  if (made == nullptr) {
    context.device.run_all();  // what waits may give memory back
    made = context.device.memory().allocate(bytes, true);
  }
  if (made == nullptr) return kOutOfMemory;
  context.device.enqueue(stream->number, [made](Device& device) { device.memory().begin(*made); });
  *address = made->base;
  return kSuccess;
}

/// The one pool of the device.
char pool_handle;

}  // namespace

INGOT_DRIVER cuMemGetInfo_v2(size_t* available, size_t* total) {
  return with_context([&](Context& context) {
    if (available != nullptr) *available = context.device.memory().available();
    if (total != nullptr) *total = context.device.memory().total();
    return kSuccess;
  });
}

INGOT_DRIVER cuMemAlloc_v2(uint64_t* address, size_t bytes) {
  return with_context([&](Context& context) {
    if (address == nullptr || bytes == 0) return kInvalidValue;
    const Allocation* const made = context.device.memory().allocate(bytes);
    if (made == nullptr) return kOutOfMemory;
    *address = made->base;
    return kSuccess;
  });
}

INGOT_DRIVER cuMemFree_v2(uint64_t address) {
  return with_context([&](Context& context) {
    if (address == 0) return kSuccess;
    context.device.run_all();
    Allocation* const found = context.device.memory().starting(address);
    if (found == nullptr || found->is_host) return kInvalidValue;
    context.device.memory().free(*found);
    return kSuccess;
  });
}

INGOT_DRIVER cuMemAllocAsync(uint64_t* address, size_t bytes, void* stream) {
  return with_context([&](Context& context) { return allocate_later(context, address, bytes, stream); });
}

INGOT_DRIVER cuMemAllocFromPoolAsync(uint64_t* address, size_t bytes, void* pool, void* stream) {
  return with_context([&](Context& context) {
    return pool == &pool_handle ? allocate_later(context, address, bytes, stream) : kInvalidValue;
  });
}

INGOT_DRIVER cuMemFreeAsync(uint64_t address, void* handle) {
  return with_context([&](Context& context) {
    const Stream* const stream = context.stream(handle);
    if (stream == nullptr) return kInvalidHandle;
    Allocation* const found = context.device.memory().starting(address);
    if (found == nullptr || found->is_host) return kInvalidValue;
    context.device.enqueue(stream->number, [found](Device& device) { device.memory().free(*found); });
    return kSuccess;
  });
}

INGOT_DRIVER cuDeviceGetDefaultMemPool(void** pool, int device) {
  return guarded([&](Driver&) {
    if (device != 0) return kInvalidDevice;
    if (pool == nullptr) return kInvalidValue;
    *pool = &pool_handle;
    return kSuccess;
  });
}

INGOT_DRIVER cuDeviceGetMemPool(void** pool, int device) { return cuDeviceGetDefaultMemPool(pool, device); }

INGOT_DRIVER cuDeviceSetMemPool(int device, void* pool) {
  return guarded([&](Driver&) {
    if (device != 0) return kInvalidDevice;
    return pool == &pool_handle ? kSuccess : kInvalidValue;
  });
}

INGOT_DRIVER cuMemPoolSetAttribute(void* pool, int which, void* value) {
  return with_context([&](Context& context) {
    if (pool != &pool_handle || value == nullptr || which <= 0) return kInvalidValue;
    context.pool[which] = which < 4 ? *static_cast<uint32_t*>(value) : *static_cast<uint64_t*>(value);
    return kSuccess;
  });
}

INGOT_DRIVER cuMemPoolGetAttribute(void* pool, int which, void* value) {
  return with_context([&](Context& context) {
    if (pool != &pool_handle || value == nullptr || which <= 0) return kInvalidValue;
    const Memory& memory = context.device.memory();
    const bool is_size = which == 5 || which == 7;  // what is reserved, and used, now
    const uint64_t found = is_size ? memory.total() - memory.available() : context.pool[which];
    if (which < 4) *static_cast<uint32_t*>(value) = static_cast<uint32_t>(found);
    else *static_cast<uint64_t*>(value) = found;
    return kSuccess;
  });
}

INGOT_DRIVER cuMemPoolTrimTo(void* pool, size_t) { return pool == &pool_handle ? kSuccess : kInvalidValue; }

INGOT_DRIVER cuMemHostAlloc(void** memory, size_t bytes, unsigned) {
  return with_context([&](Context& context) {
    if (memory == nullptr || bytes == 0) return kInvalidValue;
    void* const got = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    if (got == nullptr) return kOutOfMemory;
    Allocation* const made = context.device.memory().add_host(got, bytes);
    if (made == nullptr) {
      std::free(got);
      return kUnknown;
    }
    context.pinned[got] = made;
    *memory = got;
    return kSuccess;
  });
}

INGOT_DRIVER cuMemAllocHost_v2(void** memory, size_t bytes) { return cuMemHostAlloc(memory, bytes, 0); }

INGOT_DRIVER cuMemFreeHost(void* memory) {
  return with_context([&](Context& context) {
    context.device.run_all();
    const auto found = context.pinned.find(memory);
    if (found == context.pinned.end()) return kInvalidValue;
    context.device.memory().remove_host(*found->second);
    context.pinned.erase(found);
    std::free(memory);
    return kSuccess;
  });
}

INGOT_DRIVER cuMemHostRegister_v2(void* memory, size_t bytes, unsigned) {
  return with_context([&](Context& context) {
    if (memory == nullptr || bytes == 0) return kInvalidValue;
    return context.device.memory().add_host(memory, bytes) != nullptr ? kSuccess : kAlreadyRegistered;
  });
}

INGOT_DRIVER cuMemHostUnregister(void* memory) {
  return with_context([&](Context& context) {
    context.device.run_all();
    Allocation* const found = context.device.memory().starting(address_of(memory));
    if (found == nullptr || !found->is_host || context.pinned.contains(memory)) return kNotRegistered;
    context.device.memory().remove_host(*found);
    return kSuccess;
  });
}

INGOT_DRIVER cuMemHostGetDevicePointer_v2(uint64_t* address, void* memory, unsigned) {
  return with_context([&](Context& context) {
    if (address == nullptr || context.device.memory().bytes_at(address_of(memory), 1) == nullptr)
      return kInvalidValue;
    *address = address_of(memory);
    return kSuccess;
  });
}

INGOT_DRIVER cuPointerGetAttribute(void* value, int which, uint64_t address) {
  return with_context([&](Context& context) {
    Memory& memory = context.device.memory();
    if (value == nullptr || memory.bytes_at(address, 1) == nullptr) return kInvalidValue;
    const Allocation& found = *memory.near(address);
    switch (which) {
      case 1: *static_cast<void**>(value) = &context; return kSuccess;
      case 2: *static_cast<unsigned*>(value) = found.is_host ? 1 : 2; return kSuccess;  // kind of memory
      case 3:
      case 4: *static_cast<uint64_t*>(value) = address; return kSuccess;
      case 8: *static_cast<unsigned*>(value) = 0; return kSuccess;  // managed
      case 9: *static_cast<int*>(value) = 0; return kSuccess;       // device
      case 11: *static_cast<uint64_t*>(value) = found.base; return kSuccess;
      case 12: *static_cast<size_t*>(value) = found.whole; return kSuccess;
      default: return kNotSupported;
    }
  });
}

INGOT_DRIVER cuMemGetAddressRange_v2(uint64_t* base, size_t* bytes, uint64_t address) {
  return with_context([&](Context& context) {
    if (context.device.memory().bytes_at(address, 1) == nullptr) return kNotFound;
    const Allocation& found = *context.device.memory().near(address);
    if (base != nullptr) *base = found.base;
    if (bytes != nullptr) *bytes = found.whole;
    return kSuccess;
  });
}

INGOT_DRIVER cuMemcpyHtoD_v2(uint64_t to, const void* from, size_t bytes) {
  return with_context([&](Context& context) { return copy_now(context, to, address_of(from), bytes); });
}

INGOT_DRIVER cuMemcpyDtoH_v2(void* to, uint64_t from, size_t bytes) {
  return with_context([&](Context& context) { return copy_now(context, address_of(to), from, bytes); });
}

INGOT_DRIVER cuMemcpyDtoD_v2(uint64_t to, uint64_t from, size_t bytes) {
  return with_context([&](Context& context) { return copy_now(context, to, from, bytes); });
}

INGOT_DRIVER cuMemcpy(uint64_t to, uint64_t from, size_t bytes) { return cuMemcpyDtoD_v2(to, from, bytes); }

INGOT_DRIVER cuMemcpyHtoDAsync_v2(uint64_t to, const void* from, size_t bytes, void* stream) {
  return with_context(
      [&](Context& context) { return copy_later(context, to, address_of(from), bytes, stream); });
}

INGOT_DRIVER cuMemcpyDtoHAsync_v2(void* to, uint64_t from, size_t bytes, void* stream) {
  return with_context(
      [&](Context& context) { return copy_later(context, address_of(to), from, bytes, stream); });
}

INGOT_DRIVER cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void* stream) {
  return with_context([&](Context& context) { return copy_later(context, to, from, bytes, stream); });
}

INGOT_DRIVER cuMemcpyAsync(uint64_t to, uint64_t from, size_t bytes, void* stream) {
  return cuMemcpyDtoDAsync_v2(to, from, bytes, stream);
}

INGOT_DRIVER cuMemsetD8_v2(uint64_t to, unsigned char value, size_t count) {
  return with_context([&](Context& context) { return fill_now(context, to, value, 1, count); });
}

INGOT_DRIVER cuMemsetD16_v2(uint64_t to, unsigned short value, size_t count) {
  return with_context([&](Context& context) { return fill_now(context, to, value, 2, count); });
}

INGOT_DRIVER cuMemsetD32_v2(uint64_t to, unsigned value, size_t count) {
  return with_context([&](Context& context) { return fill_now(context, to, value, 4, count); });
}

INGOT_DRIVER cuMemsetD8Async(uint64_t to, unsigned char value, size_t count, void* stream) {
  return with_context([&](Context& context) { return fill_later(context, to, value, 1, count, stream); });
}

INGOT_DRIVER cuMemsetD16Async(uint64_t to, unsigned short value, size_t count, void* stream) {
  return with_context([&](Context& context) { return fill_later(context, to, value, 2, count, stream); });
}

INGOT_DRIVER cuMemsetD32Async(uint64_t to, unsigned value, size_t count, void* stream) {
  return with_context([&](Context& context) { return fill_later(context, to, value, 4, count, stream); });
}
