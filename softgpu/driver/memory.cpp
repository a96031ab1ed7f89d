#include <cstdlib>
#include <cstring>
#include <memory>

#include "softgpu/driver/state.h"

// Memory: allocation, copies, sets.

using namespace softgpu;          // NOLINT(google-build-using-namespace): the functions are the ABI's, in no
using namespace softgpu::driver;  // NOLINT(google-build-using-namespace): namespace

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

/// A copy from the memory of one context to that of another, in a stream of the current one.
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

/// After what was put into the default stream: waits for it.
Result finish(Context& context, Result result) {
  if (result == kSuccess) context.device.run_until(context.device.now(Device::kDefault));
  return result;
}

Result copy_now(Context& context, uint64_t to, uint64_t from, size_t bytes) {
  return finish(context, copy_later(context, to, from, bytes, nullptr));
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

Result fill_now(Context& context, uint64_t to, uint32_t value, uint32_t width, size_t count) {
  return finish(context, fill_later(context, to, value, width, count, nullptr));
}

Result fill_rows_now(Context& context, uint64_t to, uint64_t pitch, uint32_t value, uint32_t width,
                     size_t columns, size_t rows) {
  return finish(context, fill_rows(context, to, pitch, value, width, columns, rows, nullptr));
}

Result allocate_later(Context& context, uint64_t* address, size_t bytes, const void* handle) {
  const Stream* const stream = context.stream(handle);
  if (stream == nullptr) return kInvalidHandle;
  if (stream->capture != nullptr) return kCaptureUnsupported;
  if (address == nullptr || bytes == 0) return kInvalidValue;
  Allocation* made = context.device.memory().allocate(bytes, true);
  if (made == nullptr) {
    context.device.run_all();  // waiting operations may free memory
    made = context.device.memory().allocate(bytes, true);
  }
  if (made == nullptr) return kOutOfMemory;
  context.device.enqueue(stream->number, [made](Device& device) { device.memory().begin(*made); });
  *address = made->base;
  return kSuccess;
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

Result advise(uint64_t address, size_t bytes) {
  return with_context([&](Context& context) {
    const Allocation* const found = context.device.memory().near(address);
    return found != nullptr && found->is_managed && found->holds(address, bytes) ? kSuccess : kInvalidValue;
  });
}

/// The one pool of the device.
char pool_handle;

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

/// The layouts of CUDA_MEMCPY2D and CUDA_MEMCPY3D.
struct Side {
  size_t x, y, z, level;
  int kind;
  const void* host;
  uint64_t device;
  void* array;
  void* reserved;
  size_t pitch, height;
};
struct Box {
  Side from, to;
  size_t bytes, rows, layers;
};
struct FlatSide {
  size_t x, y;
  int kind;
  const void* host;
  uint64_t device;
  void* array;
  size_t pitch;
};
struct Rectangle {
  FlatSide from, to;
  size_t bytes, rows;
};

Side of_flat(const FlatSide& side) {
  return {side.x, side.y, 0, 0, side.kind, side.host, side.device, side.array, nullptr, side.pitch, 0};
}

/// Where a side's first byte is; 0: it cannot be copied.
uint64_t begin_of(const Side& side, const Box& box) {
  const bool is_host = side.kind == 1;
  if (side.kind < 1 || side.kind > 4 || side.kind == 3 || side.level != 0) return 0;
  if (box.rows > 1 && side.pitch != 0 && side.pitch < side.x + box.bytes) return 0;
  const uint64_t base = is_host ? address_of(side.host) : side.device;
  return base + side.x + side.pitch * (side.y + side.height * side.z);
}

Result copy_box(Context& context, const Box& box, const void* handle) {
  Stream* const stream = context.stream(handle);
  if (stream == nullptr) return kInvalidHandle;
  Result wrong = kSuccess;
  Work work = box_copy(context, &box, wrong);
  if (wrong != kSuccess) return wrong;
  const bool is_captured = stream->capture != nullptr;
  const Result result = submit(context, *stream, std::move(work));
  // Pageable memory is read and written before the call returns.
  if (result == kSuccess && !is_captured) context.device.run_until(context.device.now(stream->number));
  return result;
}

Result copy_rectangle(Context& context, const Rectangle* flat, const void* handle) {
  if (flat == nullptr) return kInvalidValue;
  return copy_box(context, {of_flat(flat->from), of_flat(flat->to), flat->bytes, flat->rows, 1}, handle);
}

}  // namespace

namespace softgpu::driver {

Work box_copy(Context& context, const void* description, Result& wrong) {
  const Box box = *static_cast<const Box*>(description);
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
    if (found != nullptr && found->is_managed)
      return free_host(context, reinterpret_cast<void*>(address), true);
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
    if (stream->capture != nullptr) return kCaptureUnsupported;
    Allocation* const found = context.device.memory().starting(address);
    if (found == nullptr || found->is_host) return kInvalidValue;
    context.device.enqueue(stream->number, [found](Device& device) { device.memory().free(*found); });
    return kSuccess;
  });
}

INGOT_DRIVER cuDeviceGetDefaultMemPool(void** pool, int device) {
  return guarded([&](Driver&) {
    if (!Driver::instance().has_device(device)) return kInvalidDevice;
    if (pool == nullptr) return kInvalidValue;
    *pool = &pool_handle;
    return kSuccess;
  });
}

INGOT_DRIVER cuDeviceGetMemPool(void** pool, int device) { return cuDeviceGetDefaultMemPool(pool, device); }

INGOT_DRIVER cuDeviceSetMemPool(int device, void* pool) {
  return guarded([&](Driver&) {
    if (!Driver::instance().has_device(device)) return kInvalidDevice;
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
    const bool is_size = which == 5 || which == 7;  // memory reserved, and used, now
    const uint64_t found = is_size ? memory.total() - memory.available() : context.pool[which];
    if (which < 4) *static_cast<uint32_t*>(value) = static_cast<uint32_t>(found);
    else *static_cast<uint64_t*>(value) = found;
    return kSuccess;
  });
}

INGOT_DRIVER cuMemPoolTrimTo(void* pool, size_t) { return pool == &pool_handle ? kSuccess : kInvalidValue; }

INGOT_DRIVER cuMemHostAlloc(void** memory, size_t bytes, unsigned flags) {
  return with_context([&](Context& context) {
    return flags > 7 ? kInvalidValue : allocate_host(context, memory, bytes, false);
  });
}

INGOT_DRIVER cuMemAllocHost_v2(void** memory, size_t bytes) { return cuMemHostAlloc(memory, bytes, 0); }

INGOT_DRIVER cuMemFreeHost(void* memory) {
  return with_context([&](Context& context) {
    context.device.run_all();
    return free_host(context, memory, false);
  });
}

INGOT_DRIVER cuMemHostGetFlags(unsigned* flags, void* memory) {
  return with_context([&](Context& context) {
    if (flags == nullptr || !context.pinned.contains(memory)) return kInvalidValue;
    *flags = 2;  // kernels may touch it
    return kSuccess;
  });
}

/// Host and device may touch it at any time.
INGOT_DRIVER cuMemAllocManaged(uint64_t* address, size_t bytes, unsigned flags) {
  return with_context([&](Context& context) {
    if (address == nullptr || (flags != 1 && flags != 2)) return kInvalidValue;
    void* memory = nullptr;
    const Result result = allocate_host(context, &memory, bytes, true);
    if (result == kSuccess) *address = address_of(memory);
    return result;
  });
}

INGOT_DRIVER cuMemAdvise(uint64_t address, size_t bytes, int, int) { return advise(address, bytes); }

struct MemoryLocation {
  int type, number;
};

INGOT_DRIVER cuMemAdvise_v2(uint64_t address, size_t bytes, int, MemoryLocation) {
  return advise(address, bytes);
}

INGOT_DRIVER cuMemPrefetchAsync(uint64_t address, size_t bytes, int, void*) { return advise(address, bytes); }

INGOT_DRIVER cuMemPrefetchAsync_v2(uint64_t address, size_t bytes, MemoryLocation, unsigned, void*) {
  return advise(address, bytes);
}

INGOT_DRIVER cuStreamAttachMemAsync(void*, uint64_t address, size_t, unsigned) { return advise(address, 1); }

INGOT_DRIVER cuMemAllocPitch_v2(uint64_t* address, size_t* pitch, size_t bytes, size_t rows, unsigned) {
  if (pitch == nullptr || bytes == 0 || rows == 0) return kInvalidValue;
  *pitch = (bytes + 511) / 512 * 512;
  return cuMemAlloc_v2(address, *pitch * rows);
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
  return with_context([&](Context& context) -> Result {
    if (value == nullptr || context.device.memory().bytes_at(address, 1) == nullptr) return kInvalidValue;
    return pointer_attribute(context, value, which, address);
  });
}

/// Of a pointer that is not the device's, attributes are 0.
INGOT_DRIVER cuPointerGetAttributes(unsigned count, const int* which, void** values, uint64_t address) {
  return with_context([&](Context& context) -> Result {
    if (which == nullptr || values == nullptr) return kInvalidValue;
    const bool is_known = context.device.memory().bytes_at(address, 1) != nullptr;
    for (unsigned k = 0; k < count; ++k) {
      const bool is_wide = which[k] == 1 || which[k] == 3 || which[k] == 4 || which[k] == 7 || which[k] >= 11;
      std::memset(values[k], 0, is_wide ? 8 : 4);
      if (!is_known) continue;
      if (const Result result = pointer_attribute(context, values[k], which[k], address); result != kSuccess)
        return result;
    }
    return kSuccess;
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

INGOT_DRIVER cuMemsetD2D8_v2(uint64_t to, size_t pitch, unsigned char value, size_t columns, size_t rows) {
  return with_context(
      [&](Context& context) { return fill_rows_now(context, to, pitch, value, 1, columns, rows); });
}

INGOT_DRIVER cuMemsetD2D16_v2(uint64_t to, size_t pitch, unsigned short value, size_t columns, size_t rows) {
  return with_context(
      [&](Context& context) { return fill_rows_now(context, to, pitch, value, 2, columns, rows); });
}

INGOT_DRIVER cuMemsetD2D32_v2(uint64_t to, size_t pitch, unsigned value, size_t columns, size_t rows) {
  return with_context(
      [&](Context& context) { return fill_rows_now(context, to, pitch, value, 4, columns, rows); });
}

INGOT_DRIVER cuMemsetD2D8Async(uint64_t to, size_t pitch, unsigned char value, size_t columns, size_t rows,
                               void* stream) {
  return with_context(
      [&](Context& context) { return fill_rows(context, to, pitch, value, 1, columns, rows, stream); });
}

INGOT_DRIVER cuMemsetD2D16Async(uint64_t to, size_t pitch, unsigned short value, size_t columns, size_t rows,
                                void* stream) {
  return with_context(
      [&](Context& context) { return fill_rows(context, to, pitch, value, 2, columns, rows, stream); });
}

INGOT_DRIVER cuMemsetD2D32Async(uint64_t to, size_t pitch, unsigned value, size_t columns, size_t rows,
                                void* stream) {
  return with_context(
      [&](Context& context) { return fill_rows(context, to, pitch, value, 4, columns, rows, stream); });
}

INGOT_DRIVER cuMemcpy2D_v2(const Rectangle* flat) {
  return with_context([&](Context& context) { return copy_rectangle(context, flat, nullptr); });
}

INGOT_DRIVER cuMemcpy2DUnaligned_v2(const Rectangle* flat) { return cuMemcpy2D_v2(flat); }

INGOT_DRIVER cuMemcpy2DAsync_v2(const Rectangle* flat, void* stream) {
  return with_context([&](Context& context) { return copy_rectangle(context, flat, stream); });
}

INGOT_DRIVER cuMemcpy3D_v2(const Box* box) {
  return with_context(
      [&](Context& context) { return box == nullptr ? kInvalidValue : copy_box(context, *box, nullptr); });
}

INGOT_DRIVER cuMemcpy3DAsync_v2(const Box* box, void* stream) {
  return with_context(
      [&](Context& context) { return box == nullptr ? kInvalidValue : copy_box(context, *box, stream); });
}

/// Each context has memory of its own, so that copies are within one.
INGOT_DRIVER cuMemcpyPeerAsync(uint64_t to, void* to_context, uint64_t from, void* from_context, size_t bytes,
                               void* stream) {
  if (to_context == from_context) return cuMemcpyDtoDAsync_v2(to, from, bytes, stream);
  return copy_between(to, to_context, from, from_context, bytes, stream);
}

INGOT_DRIVER cuMemcpyPeer(uint64_t to, void* to_context, uint64_t from, void* from_context, size_t bytes) {
  if (to_context == from_context) return cuMemcpyDtoD_v2(to, from, bytes);
  const Result result = copy_between(to, to_context, from, from_context, bytes, nullptr);
  return result != kSuccess ? result
                            : with_context([](Context& context) { return finish(context, kSuccess); });
}
