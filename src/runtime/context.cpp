#include "runtime/context.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <span>

#include "base/error.h"
#include "runtime/allocator.h"
#include "runtime/buffer_list.h"
#include "runtime/symbols.h"

namespace ingot::runtime {

namespace {

/// Never written, since neither an interrupt nor a watch is asked for.
const uint32_t kNoAttention = 0;
constexpr Hooks kNoHooks = {[](Context*) {}, nullptr, nullptr};

/// What is left of the stack for the functions that compiled code calls, Python's among them.
constexpr size_t kStackReserve = size_t{512} << 10;

/// How much of a stack is used at most: one without a limit would take all memory.
constexpr size_t kMostStack = size_t{256} << 20;

std::span<std::byte> find_stack() {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return {};
  void* lowest = nullptr;
  size_t size = 0;
  pthread_attr_getstack(&attributes, &lowest, &size);
  pthread_attr_destroy(&attributes);
  return {static_cast<std::byte*>(lowest), size};
}

/// Of the calling thread; empty: not known. Kept, because finding it reads a file of the system.
std::span<std::byte> stack() {
  static thread_local const std::span<std::byte> found = find_stack();
  return found;
}

std::byte* stack_limit() {
  const size_t used = std::min(stack().size(), kMostStack);
  return used == 0 ? nullptr : stack().last(used).data() + std::min(kStackReserve, used / 2);
}

/// Much cheaper to read than the time, which is all that a short call would do. Processors count between one
/// and five of these a nanosecond.
int64_t ticks() { return static_cast<int64_t>(__builtin_ia32_rdtsc()); }

}  // namespace

Context make_context(uint32_t* attention, const Hooks* hooks, void* user) {
  if (attention == nullptr) attention = const_cast<uint32_t*>(&kNoAttention);
  Context context;  // set one by one: GCC zeroes the whole with slow string instructions
  context.attention = attention;
  context.error.status = 0;
  context.error.site = 0;
  context.buffers = nullptr;
  context.hooks = hooks != nullptr ? hooks : &kNoHooks;
  context.user = user;
  context.stack_limit = nullptr;
  context.watched_since = 0;
  context.polls = 0;
  return context;
}

void set_stack_limit(Context& context) { context.stack_limit = stack_limit(); }

size_t stack_left() {
  const std::byte* const here = static_cast<std::byte*>(__builtin_frame_address(0));
  return stack().empty() ? SIZE_MAX : static_cast<size_t>(here - stack().data());
}

void watch_length(Context& context) {
  if (context.attention == &kNoAttention) return;
  context.watched_since = ticks();
  context.polls = 0;
  std::atomic_ref(*context.attention).fetch_or(Context::kLength, std::memory_order_relaxed);
}

void unwatch_length(Context& context) {
  if (context.attention == &kNoAttention) return;
  std::atomic_ref(*context.attention).fetch_and(~Context::kLength, std::memory_order_relaxed);
}

Status ingot_v1_poll(Context* context) noexcept {
  const std::atomic_ref attention(*context->attention);
  const uint32_t wanted = attention.load(std::memory_order_relaxed);
  if ((wanted & Context::kInterrupt) != 0) {
    Status status = status_of(base::ExceptionKind::KeyboardInterrupt);
    if (context->hooks->interrupt != nullptr) {
      attention.fetch_and(~Context::kInterrupt, std::memory_order_relaxed);
      status = context->hooks->interrupt(context);
    }
    if (status != 0) {
      context->error = Error{status, Error::kNoSite, {}};
      return status;
    }
  }
  if ((wanted & Context::kLength) == 0) return 0;
  // The first, second, fourth and eighth poll, then every sixteenth.
  const uint32_t number = ++context->polls;
  if ((number & (number - 1)) != 0 && number % 16 != 0) return 0;
  if (ticks() - context->watched_since > kLongCall) {
    unwatch_length(*context);
    context->hooks->long_call(context);
  }
  return 0;
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
  set_stack_limit(context_);
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
