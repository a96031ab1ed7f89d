#pragma once

#include <cxxabi.h>

namespace ingot::base {

/// Asks for what this thread's first exception would ask for, and end the process where there is no memory.
inline void make_room_for_exceptions() {
  [[maybe_unused]] void* const volatile room = abi::__cxa_get_globals();  // declared as if it did nothing
}

}  // namespace ingot::base
