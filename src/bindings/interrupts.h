#pragma once

/// Where signals are handled.
namespace ingot::bindings {

/// Finds Python's main thread, the one in which Python's handlers of signals run.
void find_main_thread();
bool is_main_thread();

}  // namespace ingot::bindings
