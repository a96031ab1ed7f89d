#include "runtime/context.h"

#include "base/error.h"
#include "runtime/allocator.h"
#include "runtime/buffer_list.h"

namespace ingot::runtime {

namespace {

constexpr uint32_t kNeverInterrupted = 0;
constexpr Hooks kNoHooks = {[](Context*) {}};

}  // namespace

Context make_context(const volatile uint32_t* interrupt, const Hooks* hooks, void* user) {
  return {interrupt ? interrupt : &kNeverInterrupted, Error{}, nullptr, hooks ? hooks : &kNoHooks, user};
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
