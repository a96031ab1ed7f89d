#pragma once

#include <cstdint>
#include <mutex>

namespace ingot::devices {

/// How often the process has been forked since the first call: a child counts one more than its parent.
uint64_t forks();

/// A mutex that nobody holds at the start of a forked child, even where another thread of the parent held it.
/// What it guards may be half done there.
std::mutex& fork_safe_mutex();

/// A driver that is open. It is never closed: its threads live as long as the process.
class OpenDriver {
 public:
  /// Whether the process is a child that was forked after the driver had been opened. Such a child cannot
  /// use it: the driver's threads are not there, and its locks may be held for ever.
  bool is_inherited() const { return forks_ != forks(); }

 protected:
  OpenDriver() = default;
  ~OpenDriver() = default;

  uint64_t forks_ = 0;  ///< before it was opened
};

}  // namespace ingot::devices
