#pragma once

#include <cstdint>
#include <mutex>

namespace ingot::devices {

/// How often the process has been forked since the first call: a child counts one more than its parent.
uint64_t forks();

/// A mutex that nobody holds at the start of a forked child, even where another thread of the parent held it.
/// What it guards may be half done there.
std::mutex& fork_safe_mutex();

}  // namespace ingot::devices
