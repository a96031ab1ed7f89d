#pragma once

#include <cstdint>

/// Where signals are handled.
namespace ingot::bindings {

/// Finds Python's main thread, the one in which Python's handlers of signals run.
void find_main_thread();
bool is_main_thread();
/// In the main thread, which need not have the GIL: handles the signals that have come. Whether a handler has
/// raised something, which is pending then.
bool is_interrupted();
/// What functions give that compiled code calls, and that have been left so.
inline constexpr int32_t kInterrupted = -1;

}  // namespace ingot::bindings
