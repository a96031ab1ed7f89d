#include "softgpu/driver/memory.h"

#include <cstring>

// Memory: calls that wait, rectangles and boxes, pools, advice.

using namespace softgpu;          // NOLINT(google-build-using-namespace): the functions are the ABI's, in no
using namespace softgpu::driver;  // NOLINT(google-build-using-namespace): namespace

namespace {

/// After what was put into the default stream: waits for it.
Result finish(Context& context, Result result) {
  if (result == kSuccess) context.device.run_until(context.device.now(Device::kDefault));
  return result;
}

Result copy_now(Context& context, uint64_t to, uint64_t from, size_t bytes) {
  return finish(context, copy_later(context, to, from, bytes, nullptr));
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

Result advise(uint64_t address, size_t bytes) {
  return with_context([&](Context& context) {
    const Allocation* const found = context.device.memory().near(address);
    return found != nullptr && found->is_managed && found->holds(address, bytes) ? kSuccess : kInvalidValue;
  });
}

/// The one pool of the device.
char pool_handle;

/// The layout of CUDA_MEMCPY2D.
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

Result copy_box(Context& context, const Box& box, const void* handle) {
  Stream* const stream = context.stream(handle);
  if (stream == nullptr) return kInvalidHandle;
  Result wrong = kSuccess;
  Work work = box_copy(context, box, wrong);
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

SOFTGPU_API cuMemAlloc_v2(uint64_t* address, size_t bytes);
SOFTGPU_API cuMemHostAlloc(void** memory, size_t bytes, unsigned flags);
SOFTGPU_API cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void* stream);

SOFTGPU_API cuMemAllocAsync(uint64_t* address, size_t bytes, void* stream) {
  return with_context([&](Context& context) { return allocate_later(context, address, bytes, stream); });
}

SOFTGPU_API cuMemAllocFromPoolAsync(uint64_t* address, size_t bytes, void* pool, void* stream) {
  return with_context([&](Context& context) {
    return pool == &pool_handle ? allocate_later(context, address, bytes, stream) : kInvalidValue;
  });
}

SOFTGPU_API cuMemFreeAsync(uint64_t address, void* handle) {
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

SOFTGPU_API cuDeviceGetDefaultMemPool(void** pool, int device) {
  return guarded([&](Driver&) {
    if (!Driver::instance().has_device(device)) return kInvalidDevice;
    if (pool == nullptr) return kInvalidValue;
    *pool = &pool_handle;
    return kSuccess;
  });
}

SOFTGPU_API cuDeviceGetMemPool(void** pool, int device) { return cuDeviceGetDefaultMemPool(pool, device); }

SOFTGPU_API cuDeviceSetMemPool(int device, void* pool) {
  return guarded([&](Driver&) {
    if (!Driver::instance().has_device(device)) return kInvalidDevice;
    return pool == &pool_handle ? kSuccess : kInvalidValue;
  });
}

SOFTGPU_API cuMemPoolSetAttribute(void* pool, int which, void* value) {
  return with_context([&](Context& context) {
    if (pool != &pool_handle || value == nullptr || which <= 0) return kInvalidValue;
    context.pool[which] = which < 4 ? *static_cast<uint32_t*>(value) : *static_cast<uint64_t*>(value);
    return kSuccess;
  });
}

SOFTGPU_API cuMemPoolGetAttribute(void* pool, int which, void* value) {
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

SOFTGPU_API cuMemPoolTrimTo(void* pool, size_t) { return pool == &pool_handle ? kSuccess : kInvalidValue; }

SOFTGPU_API cuMemAllocHost_v2(void** memory, size_t bytes) { return cuMemHostAlloc(memory, bytes, 0); }

SOFTGPU_API cuMemHostGetFlags(unsigned* flags, void* memory) {
  return with_context([&](Context& context) {
    if (flags == nullptr || !context.pinned.contains(memory)) return kInvalidValue;
    *flags = 2;  // kernels may touch it
    return kSuccess;
  });
}

SOFTGPU_API cuMemAdvise(uint64_t address, size_t bytes, int, int) { return advise(address, bytes); }

struct MemoryLocation {
  int type, number;
};

SOFTGPU_API cuMemAdvise_v2(uint64_t address, size_t bytes, int, MemoryLocation) {
  return advise(address, bytes);
}

SOFTGPU_API cuMemPrefetchAsync(uint64_t address, size_t bytes, int, void*) { return advise(address, bytes); }

SOFTGPU_API cuMemPrefetchAsync_v2(uint64_t address, size_t bytes, MemoryLocation, unsigned, void*) {
  return advise(address, bytes);
}

SOFTGPU_API cuStreamAttachMemAsync(void*, uint64_t address, size_t, unsigned) { return advise(address, 1); }

SOFTGPU_API cuMemAllocPitch_v2(uint64_t* address, size_t* pitch, size_t bytes, size_t rows, unsigned) {
  if (pitch == nullptr || bytes == 0 || rows == 0) return kInvalidValue;
  *pitch = (bytes + 511) / 512 * 512;
  return cuMemAlloc_v2(address, *pitch * rows);
}

/// Of a pointer that is not the device's, attributes are 0.
SOFTGPU_API cuPointerGetAttributes(unsigned count, const int* which, void** values, uint64_t address) {
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

SOFTGPU_API cuMemGetAddressRange_v2(uint64_t* base, size_t* bytes, uint64_t address) {
  return with_context([&](Context& context) {
    if (context.device.memory().bytes_at(address, 1) == nullptr) return kNotFound;
    const Allocation& found = *context.device.memory().near(address);
    if (base != nullptr) *base = found.base;
    if (bytes != nullptr) *bytes = found.whole;
    return kSuccess;
  });
}

SOFTGPU_API cuMemcpyHtoD_v2(uint64_t to, const void* from, size_t bytes) {
  return with_context([&](Context& context) { return copy_now(context, to, address_of(from), bytes); });
}

SOFTGPU_API cuMemcpyDtoH_v2(void* to, uint64_t from, size_t bytes) {
  return with_context([&](Context& context) { return copy_now(context, address_of(to), from, bytes); });
}

SOFTGPU_API cuMemcpyDtoD_v2(uint64_t to, uint64_t from, size_t bytes) {
  return with_context([&](Context& context) { return copy_now(context, to, from, bytes); });
}

SOFTGPU_API cuMemcpy(uint64_t to, uint64_t from, size_t bytes) { return cuMemcpyDtoD_v2(to, from, bytes); }

SOFTGPU_API cuMemcpyAsync(uint64_t to, uint64_t from, size_t bytes, void* stream) {
  return cuMemcpyDtoDAsync_v2(to, from, bytes, stream);
}

SOFTGPU_API cuMemsetD8_v2(uint64_t to, unsigned char value, size_t count) {
  return with_context([&](Context& context) { return fill_now(context, to, value, 1, count); });
}

SOFTGPU_API cuMemsetD16_v2(uint64_t to, unsigned short value, size_t count) {
  return with_context([&](Context& context) { return fill_now(context, to, value, 2, count); });
}

SOFTGPU_API cuMemsetD32_v2(uint64_t to, unsigned value, size_t count) {
  return with_context([&](Context& context) { return fill_now(context, to, value, 4, count); });
}

SOFTGPU_API cuMemsetD16Async(uint64_t to, unsigned short value, size_t count, void* stream) {
  return with_context([&](Context& context) { return fill_later(context, to, value, 2, count, stream); });
}

SOFTGPU_API cuMemsetD32Async(uint64_t to, unsigned value, size_t count, void* stream) {
  return with_context([&](Context& context) { return fill_later(context, to, value, 4, count, stream); });
}

SOFTGPU_API cuMemsetD2D8_v2(uint64_t to, size_t pitch, unsigned char value, size_t columns, size_t rows) {
  return with_context(
      [&](Context& context) { return fill_rows_now(context, to, pitch, value, 1, columns, rows); });
}

SOFTGPU_API cuMemsetD2D16_v2(uint64_t to, size_t pitch, unsigned short value, size_t columns, size_t rows) {
  return with_context(
      [&](Context& context) { return fill_rows_now(context, to, pitch, value, 2, columns, rows); });
}

SOFTGPU_API cuMemsetD2D32_v2(uint64_t to, size_t pitch, unsigned value, size_t columns, size_t rows) {
  return with_context(
      [&](Context& context) { return fill_rows_now(context, to, pitch, value, 4, columns, rows); });
}

SOFTGPU_API cuMemsetD2D8Async(uint64_t to, size_t pitch, unsigned char value, size_t columns, size_t rows,
                              void* stream) {
  return with_context(
      [&](Context& context) { return fill_rows(context, to, pitch, value, 1, columns, rows, stream); });
}

SOFTGPU_API cuMemsetD2D16Async(uint64_t to, size_t pitch, unsigned short value, size_t columns, size_t rows,
                               void* stream) {
  return with_context(
      [&](Context& context) { return fill_rows(context, to, pitch, value, 2, columns, rows, stream); });
}

SOFTGPU_API cuMemsetD2D32Async(uint64_t to, size_t pitch, unsigned value, size_t columns, size_t rows,
                               void* stream) {
  return with_context(
      [&](Context& context) { return fill_rows(context, to, pitch, value, 4, columns, rows, stream); });
}

SOFTGPU_API cuMemcpy2D_v2(const Rectangle* flat) {
  return with_context([&](Context& context) { return copy_rectangle(context, flat, nullptr); });
}

SOFTGPU_API cuMemcpy2DUnaligned_v2(const Rectangle* flat) { return cuMemcpy2D_v2(flat); }

SOFTGPU_API cuMemcpy2DAsync_v2(const Rectangle* flat, void* stream) {
  return with_context([&](Context& context) { return copy_rectangle(context, flat, stream); });
}

SOFTGPU_API cuMemcpy3D_v2(const Box* box) {
  return with_context(
      [&](Context& context) { return box == nullptr ? kInvalidValue : copy_box(context, *box, nullptr); });
}

SOFTGPU_API cuMemcpy3DAsync_v2(const Box* box, void* stream) {
  return with_context(
      [&](Context& context) { return box == nullptr ? kInvalidValue : copy_box(context, *box, stream); });
}

SOFTGPU_API cuMemcpyPeer(uint64_t to, void* to_context, uint64_t from, void* from_context, size_t bytes) {
  if (to_context == from_context) return cuMemcpyDtoD_v2(to, from, bytes);
  const Result result = copy_between(to, to_context, from, from_context, bytes, nullptr);
  return result != kSuccess ? result
                            : with_context([](Context& context) { return finish(context, kSuccess); });
}
