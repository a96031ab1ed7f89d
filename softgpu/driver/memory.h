#pragma once

#include "softgpu/driver/state.h"

/// Copies and sets.
namespace softgpu::driver {

inline uint64_t address_of(const void* memory) { return reinterpret_cast<uint64_t>(memory); }

/// The layout of CUDA_MEMCPY3D, and of one side of it.
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

/// Puts a copy into a stream. What it reads of pageable memory, it reads now; where it writes such memory, it
/// is done when this returns.
Result copy_later(Context& context, uint64_t to, uint64_t from, size_t bytes, const void* handle);
/// A copy from the memory of one context to that of another, in a stream of the current one.
Result copy_between(uint64_t to, const void* to_handle, uint64_t from, const void* from_handle, size_t bytes,
                    const void* stream_handle);
/// A copy of a box of bytes; `wrong` is not kSuccess where it cannot be done.
Work box_copy(Context& context, const Box& box, Result& wrong);

/// Rows of elements of `width` bytes.
Work rows_fill(Context& context, uint64_t to, uint64_t pitch, uint32_t value, uint32_t width,
               uint64_t columns, uint64_t rows, Result& wrong);
/// Puts that into a stream, or one row of it.
Result fill_rows(Context& context, uint64_t to, uint64_t pitch, uint32_t value, uint32_t width,
                 size_t columns, size_t rows, const void* handle);
Result fill_later(Context& context, uint64_t to, uint32_t value, uint32_t width, size_t count,
                  const void* handle);

/// CUpointer_attribute of an address that is the device's.
Result pointer_attribute(Context& context, void* value, int which, uint64_t address);

}  // namespace softgpu::driver
