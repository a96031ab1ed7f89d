#include "runtime/context.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <new>
#include <span>

#include "base/error.h"
#include "runtime/allocator.h"
#include "runtime/buffer_list.h"
#include "runtime/errand.h"
#include "runtime/symbols.h"

namespace ingot::runtime {

namespace {

/// Never written, since neither interrupts nor watches are requested.
const uint32_t kNoAttention = 0;
constexpr Hooks kNoHooks = {[](Context*) -> Status { return 0; }, nullptr};

/// The part of the stack that is left to the functions that compiled code calls, Python's among them.
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
  static thread_local std::byte* const limit = []() -> std::byte* {
    const size_t used = std::min(stack().size(), kMostStack);
    return used == 0 ? nullptr : stack().last(used).data() + std::min(kStackReserve, used / 2);
  }();
  return limit;
}

/// How many polls at most do not read the clock.
constexpr uint32_t kMostUnread = 15;

/// Much cheaper to read than the time, which would dominate a short call. Processors count between one and
/// five of these a nanosecond.
int64_t ticks() { return static_cast<int64_t>(__builtin_ia32_rdtsc()); }

/// Sets the fields of an error that are read before it is raised. Its other arguments are read only where a
/// site has stored them: setting all of them would cost more than a small function does.
void clear(Error& error) {
  error.status = 0;
  error.site = 0;
  error.caller_count = 0;
  static_assert(Error::kLocation == 1 && Error::kIsRefusal == 2);
  error.arguments[0] = error.arguments[1] = error.arguments[2] = 0;
}

}  // namespace

Context make_context(uint32_t* attention, const Hooks* hooks, void* user) {
  if (attention == nullptr) attention = const_cast<uint32_t*>(&kNoAttention);
  Context context;  // set one by one: GCC zeroes the struct with slow string instructions
  context.attention = attention;
  clear(context.error);
  context.buffers = nullptr;
  context.hooks = hooks != nullptr ? hooks : &kNoHooks;
  context.user = user;
  context.stack_limit = nullptr;
  context.next_look = 0;
  context.last_read = 0;
  context.unread = 0;
  context.skipped = 0;
  context.device = nullptr;
  context.float_state = 0;
  context.functions = nullptr;
  return context;
}

void set_stack_limit(Context& context) { context.stack_limit = stack_limit(); }

size_t stack_left() {
  const std::byte* const here = static_cast<std::byte*>(__builtin_frame_address(0));
  return stack().empty() ? SIZE_MAX : static_cast<size_t>(here - stack().data());
}

void watch_length(Context& context) {
  if (context.attention == &kNoAttention) return;
  context.next_look = 0;
  context.unread = context.skipped = 0;
  const std::atomic_ref attention(*context.attention);
  if ((attention.load(std::memory_order_relaxed) & Context::kLength) == 0)
    attention.fetch_or(Context::kLength, std::memory_order_relaxed);
}

void unwatch_length(Context& context) {
  if (context.attention == &kNoAttention) return;
  std::atomic_ref(*context.attention).fetch_and(~Context::kLength, std::memory_order_relaxed);
}

void ingot_v1_let_go(Context* context) noexcept {
  if (context->hooks->let_go != nullptr) context->hooks->let_go(context);
}

Status ingot_v1_poll(Context* context) noexcept {
  const uint32_t wanted = std::atomic_ref(*context->attention).load(std::memory_order_relaxed);
  if ((wanted & Context::kInterrupt) != 0) {
    const Status status = status_of(base::ExceptionKind::KeyboardInterrupt);
    context->error = Error{status, Error::kNoSite, {}, 0, {}};
    return status;
  }
  if ((wanted & Context::kLength) == 0) return 0;
  if (context->unread > 0) {
    --context->unread;
    return 0;
  }
  const int64_t now = ticks();
  if (context->next_look == 0) {
    context->next_look = now + kLongCall;
    context->last_read = now;
    return 0;
  }
  // The faster polls follow each other, the fewer of them read the clock.
  const bool is_fast = now - context->last_read < kLongCall;
  context->skipped = is_fast ? std::min(2 * context->skipped + 1, kMostUnread) : 0;
  context->unread = context->skipped;
  context->last_read = now;
  if (now < context->next_look) return 0;
  context->next_look = now + kBetweenLooks;
  return context->hooks->long_call(context);
}

ErrandMemory::ErrandMemory(size_t bytes) : buffer_(Allocator::allocate(static_cast<int64_t>(bytes))) {
  if (buffer_ == nullptr) throw std::bad_alloc();
}

bool may_leave_errands(Context& context) {
  bool (*const ask)(Context*) = context.hooks->may_leave_errands;
  return ask != nullptr && ask(&context);
}

Status run_errand(Context& context, const std::shared_ptr<Errand>& errand) {
  if (may_leave_errands(context)) return context.hooks->run_errand(&context, errand);
  errand->run();
  return 0;
}

void FreeBuffer::operator()(Buffer* buffer) const noexcept { free_buffer(buffer); }

Call::Call(Context& context) : context_(context) {
  INGOT_ASSERT(context.buffers == nullptr, "runtime: the context is in use by another call");
  clear(context_.error);
}

Call::~Call() { reset(); }

void Call::reset() {
  while (Buffer* buffer = context_.buffers) {
    unlink_buffer(context_, *buffer);
    free_buffer(buffer);
  }
  Allocator::free_temporaries();
}

Status Call::run(Entry entry, void** slots) {
  reset();
  clear(context_.error);
  set_stack_limit(context_);
  outer_state_ = base::FloatState::current();
  const base::FloatState own = context_.device != nullptr ? base::FloatState() : outer_state_.without_traps();
  context_.float_state = own.word();
  if (own != outer_state_) [[unlikely]]
    own.set();
  const Status status = entry(&context_, slots);
  // A callback may have changed the outer one meanwhile.
  if (own != outer_state_) [[unlikely]]
    outer_state_.set();
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
