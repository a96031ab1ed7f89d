#include "runtime/context.h"

#include <pthread.h>

#include <algorithm>

#include "base/error.h"
#include "runtime/allocator.h"
#include "runtime/buffer_list.h"

namespace ingot::runtime {

namespace {

constexpr uint32_t kNeverInterrupted = 0;
constexpr Hooks kNoHooks = {[](Context*) {}, nullptr};

/// What is left of the stack for the functions that compiled code calls.
constexpr size_t kStackReserve = size_t{128} << 10;

std::byte* find_stack_limit() {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return nullptr;
  void* lowest = nullptr;
  size_t size = 0;
  pthread_attr_getstack(&attributes, &lowest, &size);
  pthread_attr_destroy(&attributes);
  return static_cast<std::byte*>(lowest) + std::min(kStackReserve, size / 2);
}

/// Of the calling thread. Kept, because finding it reads a file of the system.
std::byte* stack_limit() {
  static thread_local std::byte* const limit = find_stack_limit();
  return limit;
}

}  // namespace

Context make_context(const volatile uint32_t* interrupt, const Hooks* hooks, void* user) {
  return {
      interrupt ? interrupt : &kNeverInterrupted, Error{}, nullptr, hooks ? hooks : &kNoHooks, user, nullptr};
}

void FreeBuffer::operator()(Buffer* buffer) const noexcept { Allocator::free(buffer); }

Call::Call(Context& context) : context_(context) {
  INGOT_ASSERT(context.buffers == nullptr, "runtime: the context is in use by another call");
  context_.error = Error{};
}

Call::~Call() { reset(); }

void Call::reset() {
  while (Buffer* buffer = context_.buffers) {
    unlink_buffer(context_, *buffer);
    Allocator::free(buffer);
  }
}

Status Call::run(Entry entry, void** slots) {
  reset();
  context_.error = Error{};
  context_.stack_limit = stack_limit();
  const Status status = entry(&context_, slots);
  context_.error.status = status;
  if (status != 0) reset();
  return status;
}

OwnedBuffer Call::take(Buffer* buffer) {
  if (!buffer || !is_linked(context_, *buffer)) return nullptr;
  unlink_buffer(context_, *buffer);
  return OwnedBuffer(buffer);
}

}  // namespace ingot::runtime
