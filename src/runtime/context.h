#pragma once

#include <memory>

#include "base/float_state.h"
#include "runtime/abi.h"

namespace ingot::runtime {

/// A context without error and buffers. Null for `attention`: the call can neither be interrupted nor
/// watched; null for `hooks`: a long call makes no callback.
Context make_context(uint32_t* attention = nullptr, const Hooks* hooks = nullptr, void* user = nullptr);

/// Sets `Context::stack_limit` to that of the calling thread.
void set_stack_limit(Context& context);

/// How many bytes of the calling thread's stack are left; the largest number where that is not known.
size_t stack_left();

/// A watched call is long if it polls later than this after its first poll: short calls read no clock.
inline constexpr int64_t kLongCall = 30'000;  // ticks of the processor's clock: about 10 microseconds
/// A long call is checked again after this time: between 20 and 100 milliseconds.
inline constexpr int64_t kBetweenLooks = 100'000'000;

/// Watches the duration of the context's call from now on: if it is long, polls call `Hooks::long_call`, the
/// first time after `kLongCall`, then every `kBetweenLooks`, until the watch ends. The clock is not read at
/// each of many polls, so that these stay cheap.
void watch_length(Context& context);
/// Ends the watch, if it has not ended.
void unwatch_length(Context& context);

struct FreeBuffer {
  void operator()(Buffer* buffer) const noexcept;
};

/// An allocated buffer that no call owns.
using OwnedBuffer = std::unique_ptr<Buffer, FreeBuffer>;

/// One use of a context: resets it, runs an entry, and frees all buffers of the call that are not taken.
///
///   Call call(context);
///   if (call.run(entry, slots) != 0) report(context.error);
///   else keep(call.take(view.buffer));
class Call {
 public:
  /// Clears the context's error. Throws base::InternalError if another call is using the context.
  explicit Call(Context& context);
  /// Frees the allocated buffers that were not taken.
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  /// Runs `entry`. If it fails, `Context::error` has the reason and every buffer that it allocated has been
  /// freed; if it succeeds, they live as long as this object or until they are taken.
  ///
  /// The code runs in the thread's floating-point state, with traps off: lanes compute values that the
  /// program does not request. Code for a device, which has a state of its own, runs in the default one.
  Status run(Entry entry, void** slots);

  /// During `run`: the state that the thread had before and gets back at the end.
  base::FloatState& outer_state() { return outer_state_; }

  /// Passes on the buffer of a result. Null if it does not belong to this call: an argument's, or one taken
  /// before (two results may view the same buffer).
  OwnedBuffer take(Buffer* buffer);

 private:
  void reset();

  Context& context_;
  base::FloatState outer_state_;
};

}  // namespace ingot::runtime
