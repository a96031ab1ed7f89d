#pragma once

#include "runtime/abi.h"
#include "runtime/allocator.h"

namespace ingot::runtime {

/// Makes `buffer`, which belongs to no call, one of `context`'s.
inline void link_buffer(Context& context, Buffer& buffer) {
  buffer.owner = &context;
  buffer.previous = nullptr;
  buffer.next = context.buffers;
  if (buffer.next) buffer.next->previous = &buffer;
  context.buffers = &buffer;
}

/// Whether `buffer` was allocated by `context`'s call and still belongs to it.
inline bool is_linked(const Context& context, const Buffer& buffer) { return buffer.owner == &context; }

/// Takes `buffer` out of `context`'s list; then it belongs to no call.
inline void unlink_buffer(Context& context, Buffer& buffer) {
  (buffer.previous ? buffer.previous->next : context.buffers) = buffer.next;
  if (buffer.next) buffer.next->previous = buffer.previous;
  buffer.owner = nullptr;
  buffer.next = buffer.previous = nullptr;
}

/// Gives back an allocated buffer that no call owns, to the allocator that it came from.
inline void free_buffer(Buffer* buffer) noexcept {
  if (buffer != nullptr && buffer->release != nullptr) buffer->release(buffer);
  else Allocator::free(buffer);
}

}  // namespace ingot::runtime
