#pragma once

#include <cstdint>

/// The clock of profiles: the processor's own where it runs evenly, else the system's.
namespace ingot::profile {

/// Whether the processor counts evenly, whatever it does: then its clock is read in a few nanoseconds.
extern const bool counts_evenly;

int64_t system_nanoseconds();

/// In units that `seconds` knows, from a start that the process has.
inline int64_t ticks() {
  return counts_evenly ? static_cast<int64_t>(__builtin_ia32_rdtsc()) : system_nanoseconds();
}

/// What ticks come to: measured by both clocks when it is asked for first, from when the package was loaded
/// on, at least some milliseconds; the same from then on.
class Scale {
 public:
  Scale();
  double seconds(int64_t ticks) const { return static_cast<double>(ticks) * seconds_per_tick_; }
  int64_t ticks_of(double seconds) const { return static_cast<int64_t>(seconds / seconds_per_tick_); }
  /// Nanoseconds of the system's monotonic clock, which all processes of a machine share, at a time.
  int64_t nanoseconds_at(int64_t time) const;

 private:
  double seconds_per_tick_;
  int64_t ticks_;
  int64_t nanoseconds_;  ///< at these
};

}  // namespace ingot::profile
