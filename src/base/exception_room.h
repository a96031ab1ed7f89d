#pragma once

#include <cxxabi.h>

namespace ingot::base {

/// Allocates the memory of this thread's first exception, whose failure would otherwise end the process.
inline void make_room_for_exceptions() {
  [[maybe_unused]] void* const volatile room = abi::__cxa_get_globals();  // declared as if it did nothing
}

}  // namespace ingot::base
