#include <algorithm>
#include <cstring>

#include "softgpu/driver/state.h"

// What the device has of its own: its messages, counts, and calls that fail by plan.

using namespace softgpu;          // NOLINT(google-build-using-namespace): the functions are the ABI's, in no
using namespace softgpu::driver;  // NOLINT(google-build-using-namespace): namespace

/// The whole message of the last fault or load error of the process, as much as fits.
SOFTGPU_API ingot_emulator_last_error(char* text, size_t bytes) {
  return guarded(
      [&](Driver& driver) {
        if (text == nullptr || bytes == 0) return kInvalidValue;
        const size_t count = std::min(bytes - 1, driver.last_error.size());
        std::memcpy(text, driver.last_error.data(), count);
        text[count] = '\0';
        return kSuccess;
      },
      false);
}

/// How many instructions the threads of the context's launches have executed.
SOFTGPU_API ingot_emulator_instructions(uint64_t* count) {
  return with_context([&](Context& context) {
    if (count == nullptr) return kInvalidValue;
    *count = context.device.counts().instructions;
    return kSuccess;
  });
}

/// Has the call that comes as the `call`-th from now, of any thread, do nothing and give this result; 0:
/// none. How many calls were missing to the one that was planned before.
SOFTGPU_API ingot_emulator_fail(uint64_t call, int result, uint64_t* missing) {
  Driver& driver = Driver::instance();
  const std::lock_guard lock(driver.mutex);
  if (missing != nullptr) *missing = driver.until_failure;
  driver.until_failure = call;
  driver.planned_failure = static_cast<Result>(result);
  return kSuccess;
}

/// What there is in all contexts: bytes of device memory, and streams, events, modules and pinned blocks.
SOFTGPU_API ingot_emulator_live(uint64_t* bytes, uint64_t* objects) {
  Driver& driver = Driver::instance();
  const std::lock_guard lock(driver.mutex);
  if (bytes == nullptr || objects == nullptr) return kInvalidValue;
  *bytes = *objects = 0;
  driver.contexts.for_each([&](Context& context) {
    const Memory& memory = context.device.memory();
    *bytes += memory.total() - memory.available();
    *objects +=
        context.streams.size() + context.events.size() + context.modules.size() + context.pinned.size();
  });
  return kSuccess;
}
