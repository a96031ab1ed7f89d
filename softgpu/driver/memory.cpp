#include "softgpu/driver/memory.h"

#include <cstdlib>
#include <cstring>
#include <memory>

// Memory: allocation, copies, sets.

namespace softgpu::driver {

namespace {

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

/// The bytes of a context's device memory; a fault where they are not all there.
std::byte* bytes_in(const void* handle, uint64_t address, uint64_t bytes) {
  Context* const context = Driver::instance().contexts.find(handle);
  std::byte* const found = context == nullptr ? nullptr : context->device.memory().bytes_at(address, bytes);
  if (found == nullptr)
    throw Fault(FaultKind::Illegal, "a copy of " + std::to_string(bytes) + " bytes between devices: " +
                                        (context == nullptr ? "there is no such context"
                                                            : context->device.memory().describe(address)));
  return found;
}

/// Where a side's first byte is; 0: it cannot be copied.
uint64_t begin_of(const Side& side, const Box& box) {
  const bool is_host = side.kind == 1;
  if (side.kind < 1 || side.kind > 4 || side.kind == 3 || side.level != 0) return 0;
  if (box.rows > 1 && side.pitch != 0 && side.pitch < side.x + box.bytes) return 0;
  const uint64_t base = is_host ? address_of(side.host) : side.device;
  return base + side.x + side.pitch * (side.y + side.height * side.z);
}

/// Pages of the host's that kernels may touch.
Result allocate_host(Context& context, void** memory, size_t bytes, bool is_managed) {
  if (memory == nullptr || bytes == 0) return kInvalidValue;
  void* const got = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  if (got == nullptr) return kOutOfMemory;
  Allocation* const made = context.device.memory().add_host(got, bytes);
  if (made == nullptr) {
    std::free(got);
    return kUnknown;
  }
  made->is_managed = is_managed;
  context.pinned[got] = made;
  *memory = got;
  return kSuccess;
}

Result free_host(Context& context, void* memory, bool is_managed) {
  const auto found = context.pinned.find(memory);
  if (found == context.pinned.end() || found->second->is_managed != is_managed) return kInvalidValue;
  context.device.memory().remove_host(*found->second);
  context.pinned.erase(found);
  std::free(memory);
  return kSuccess;
}

}  // namespace

Result copy_later(Context& context, uint64_t to, uint64_t from, size_t bytes, const void* handle) {
  Device& device = context.device;
  Stream* const stream = context.stream(handle);
  if (stream == nullptr) return kInvalidHandle;
  if (bytes == 0) return kSuccess;
  if (!is_sound(device.memory(), to, bytes) || !is_sound(device.memory(), from, bytes)) return kInvalidValue;
  Work work;
  work.type = Work::Copy;
  work.run = [=](Device& on) { on.copy(to, from, bytes); };
  if (stream->capture != nullptr) return submit(context, *stream, std::move(work));
  if (is_pageable(device.memory(), from, bytes) && !is_pageable(device.memory(), to, bytes)) {
    const auto* const source = reinterpret_cast<const std::byte*>(from);
    const auto staged = std::make_shared<std::vector<std::byte>>(source, source + bytes);
    work.run = [=](Device& on) { on.copy(to, address_of(staged->data()), bytes); };
    return submit(context, *stream, std::move(work));
  }
  const Result result = submit(context, *stream, std::move(work));
  if (result == kSuccess && is_pageable(device.memory(), to, bytes))
    device.run_until(device.now(stream->number));
  return result;
}

Result copy_between(uint64_t to, const void* to_handle, uint64_t from, const void* from_handle, size_t bytes,
                    const void* stream_handle) {
  return with_context([&](Context& context) {
    const Handles<Context>& contexts = Driver::instance().contexts;
    Context* const target = contexts.find(to_handle);
    Context* const source = contexts.find(from_handle);
    Stream* const stream = context.stream(stream_handle);
    if (target == nullptr || source == nullptr) return kInvalidContext;
    if (stream == nullptr) return kInvalidHandle;
    if (!is_sound(target->device.memory(), to, bytes) || !is_sound(source->device.memory(), from, bytes))
      return kInvalidValue;
    if (bytes == 0) return kSuccess;
    Work work;
    work.type = Work::Copy;
    work.run = [=](Device&) {
      std::memmove(bytes_in(to_handle, to, bytes), bytes_in(from_handle, from, bytes), bytes);
      Driver::instance().contexts.find(to_handle)->device.memory().mark_written(to, bytes);
    };
    return submit(context, *stream, std::move(work));
  });
}

Result fill_rows(Context& context, uint64_t to, uint64_t pitch, uint32_t value, uint32_t width,
                 size_t columns, size_t rows, const void* handle) {
  Stream* const stream = context.stream(handle);
  if (stream == nullptr) return kInvalidHandle;
  Result wrong = kSuccess;
  Work work = rows_fill(context, to, pitch, value, width, columns, rows, wrong);
  return wrong != kSuccess ? wrong : submit(context, *stream, std::move(work));
}

Result fill_later(Context& context, uint64_t to, uint32_t value, uint32_t width, size_t count,
                  const void* handle) {
  return fill_rows(context, to, 0, value, width, count, 1, handle);
}

Result pointer_attribute(Context& context, void* value, int which, uint64_t address) {
  const Allocation& found = *context.device.memory().near(address);
  switch (which) {
    case 1: *static_cast<void**>(value) = &context; return kSuccess;
    case 2: *static_cast<unsigned*>(value) = found.is_host && !found.is_managed ? 1 : 2; return kSuccess;
    case 3:
    case 4: *static_cast<uint64_t*>(value) = address; return kSuccess;
    case 6: return kSuccess;  // whether copies wait: they do as the calls specify
    case 7: *static_cast<uint64_t*>(value) = found.base; return kSuccess;  // a number of the allocation
    case 8: *static_cast<unsigned*>(value) = found.is_managed ? 1 : 0; return kSuccess;
    case 9: *static_cast<int*>(value) = context.ordinal; return kSuccess;
    case 11: *static_cast<uint64_t*>(value) = found.base; return kSuccess;
    case 12: *static_cast<size_t*>(value) = found.whole; return kSuccess;
    case 13: *static_cast<unsigned*>(value) = 1; return kSuccess;  // mapped
    default: return kNotSupported;
  }
}

Work box_copy(Context& context, const Box& box, Result& wrong) {
  Work work;
  work.type = Work::Copy;
  if (box.bytes == 0 || box.rows == 0 || box.layers == 0) return work;
  const uint64_t from = begin_of(box.from, box);
  const uint64_t to = begin_of(box.to, box);
  const auto extent = [&](const Side& side) {
    return box.bytes + side.pitch * (box.rows - 1 + side.height * (box.layers - 1));
  };
  Memory& memory = context.device.memory();
  if (from == 0 || to == 0 || !is_sound(memory, from, extent(box.from)) ||
      !is_sound(memory, to, extent(box.to)))
    wrong = box.from.kind == 3 || box.to.kind == 3 ? kNotSupported : kInvalidValue;
  work.run = [=](Device& device) {
    for (size_t layer = 0; layer < box.layers; ++layer)
      for (size_t row = 0; row < box.rows; ++row)
        device.copy(to + box.to.pitch * (row + box.to.height * layer),
                    from + box.from.pitch * (row + box.from.height * layer), box.bytes);
  };
  return work;
}

Work rows_fill(Context& context, uint64_t to, uint64_t pitch, uint32_t value, uint32_t width,
               uint64_t columns, uint64_t rows, Result& wrong) {
  Work work;
  work.type = Work::Fill;
  if ((width != 1 && width != 2 && width != 4) || columns > SIZE_MAX / 8 || to % width != 0 ||
      (rows > 1 && (pitch < columns * width || pitch % width != 0)) ||
      (rows != 0 && !is_sound(context.device.memory(), to, pitch * (rows - 1) + columns * width)))
    wrong = kInvalidValue;
  work.run = [=](Device& device) {
    for (uint64_t row = 0; row < rows; ++row) device.fill(to + row * pitch, value, width, columns);
  };
  return work;
}

}  // namespace softgpu::driver

using namespace softgpu;          // NOLINT(google-build-using-namespace): the functions are the ABI's, in no
using namespace softgpu::driver;  // NOLINT(google-build-using-namespace): namespace

SOFTGPU_API cuMemGetInfo_v2(size_t* available, size_t* total) {
  return with_context([&](Context& context) {
    if (available != nullptr) *available = context.device.memory().available();
    if (total != nullptr) *total = context.device.memory().total();
    return kSuccess;
  });
}

SOFTGPU_API cuMemAlloc_v2(uint64_t* address, size_t bytes) {
  return with_context([&](Context& context) {
    if (address == nullptr || bytes == 0) return kInvalidValue;
    const Allocation* const made = context.device.memory().allocate(bytes);
    if (made == nullptr) return kOutOfMemory;
    *address = made->base;
    return kSuccess;
  });
}

SOFTGPU_API cuMemFree_v2(uint64_t address) {
  return with_context([&](Context& context) {
    if (address == 0) return kSuccess;
    context.device.run_all();
    Allocation* const found = context.device.memory().starting(address);
    if (found != nullptr && found->is_managed)
      return free_host(context, reinterpret_cast<void*>(address), true);
    if (found == nullptr || found->is_host) return kInvalidValue;
    context.device.memory().free(*found);
    return kSuccess;
  });
}

SOFTGPU_API cuMemHostAlloc(void** memory, size_t bytes, unsigned flags) {
  return with_context([&](Context& context) {
    return flags > 7 ? kInvalidValue : allocate_host(context, memory, bytes, false);
  });
}

SOFTGPU_API cuMemFreeHost(void* memory) {
  return with_context([&](Context& context) {
    context.device.run_all();
    return free_host(context, memory, false);
  });
}

/// Host and device may touch it at any time.
SOFTGPU_API cuMemAllocManaged(uint64_t* address, size_t bytes, unsigned flags) {
  return with_context([&](Context& context) {
    if (address == nullptr || (flags != 1 && flags != 2)) return kInvalidValue;
    void* memory = nullptr;
    const Result result = allocate_host(context, &memory, bytes, true);
    if (result == kSuccess) *address = address_of(memory);
    return result;
  });
}

SOFTGPU_API cuMemHostRegister_v2(void* memory, size_t bytes, unsigned) {
  return with_context([&](Context& context) {
    if (memory == nullptr || bytes == 0) return kInvalidValue;
    return context.device.memory().add_host(memory, bytes) != nullptr ? kSuccess : kAlreadyRegistered;
  });
}

SOFTGPU_API cuMemHostUnregister(void* memory) {
  return with_context([&](Context& context) {
    context.device.run_all();
    Allocation* const found = context.device.memory().starting(address_of(memory));
    if (found == nullptr || !found->is_host || context.pinned.contains(memory)) return kNotRegistered;
    context.device.memory().remove_host(*found);
    return kSuccess;
  });
}

SOFTGPU_API cuMemHostGetDevicePointer_v2(uint64_t* address, void* memory, unsigned) {
  return with_context([&](Context& context) {
    if (address == nullptr || context.device.memory().bytes_at(address_of(memory), 1) == nullptr)
      return kInvalidValue;
    *address = address_of(memory);
    return kSuccess;
  });
}

SOFTGPU_API cuPointerGetAttribute(void* value, int which, uint64_t address) {
  return with_context([&](Context& context) -> Result {
    if (value == nullptr || context.device.memory().bytes_at(address, 1) == nullptr) return kInvalidValue;
    return pointer_attribute(context, value, which, address);
  });
}

SOFTGPU_API cuMemcpyHtoDAsync_v2(uint64_t to, const void* from, size_t bytes, void* stream) {
  return with_context(
      [&](Context& context) { return copy_later(context, to, address_of(from), bytes, stream); });
}

SOFTGPU_API cuMemcpyDtoHAsync_v2(void* to, uint64_t from, size_t bytes, void* stream) {
  return with_context(
      [&](Context& context) { return copy_later(context, address_of(to), from, bytes, stream); });
}

SOFTGPU_API cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void* stream) {
  return with_context([&](Context& context) { return copy_later(context, to, from, bytes, stream); });
}

SOFTGPU_API cuMemsetD8Async(uint64_t to, unsigned char value, size_t count, void* stream) {
  return with_context([&](Context& context) { return fill_later(context, to, value, 1, count, stream); });
}

/// Each context has memory of its own, so that copies are within one.
SOFTGPU_API cuMemcpyPeerAsync(uint64_t to, void* to_context, uint64_t from, void* from_context, size_t bytes,
                              void* stream) {
  if (to_context == from_context) return cuMemcpyDtoDAsync_v2(to, from, bytes, stream);
  return copy_between(to, to_context, from, from_context, bytes, stream);
}
