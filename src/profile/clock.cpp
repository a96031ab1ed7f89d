#include "profile/clock.h"

#include <cpuid.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <limits>

namespace ingot::profile {

namespace {

constexpr int64_t kLeastNanoseconds = 20'000'000;

bool has_even_clock() {
  constexpr unsigned kPowerManagement = 0x80000007;
  constexpr unsigned kInvariant = 1U << 8;
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(kPowerManagement, &a, &b, &c, &d) != 0 && (d & kInvariant) != 0;
}

/// Both clocks at one time.
struct Pair {
  int64_t ticks;
  int64_t nanoseconds;

  /// Of several readings, the one that took least.
  static Pair read() {
    Pair best{};
    int64_t least = std::numeric_limits<int64_t>::max();
    for (int i = 0; i < 5; ++i) {
      const int64_t before = ticks_now();
      const int64_t there = system_nanoseconds();
      const int64_t took = ticks_now() - before;
      if (took >= least) continue;
      least = took;
      best = {before + took / 2, there};
    }
    return best;
  }
  static int64_t ticks_now() { return profile::ticks(); }
};

}  // namespace

const bool counts_evenly = has_even_clock();

namespace {

const Pair first = Pair::read();

}  // namespace

int64_t system_nanoseconds() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

namespace {

double measured_tick() {
  if (!counts_evenly) return 1e-9;
  Pair now = Pair::read();
  while (now.nanoseconds - first.nanoseconds < kLeastNanoseconds) now = Pair::read();
  return static_cast<double>(now.nanoseconds - first.nanoseconds) * 1e-9 /
         static_cast<double>(now.ticks - first.ticks);
}

}  // namespace

Scale::Scale() {
  static const double tick = measured_tick();
  const Pair now = Pair::read();
  seconds_per_tick_ = tick;
  ticks_ = now.ticks;
  nanoseconds_ = now.nanoseconds;
}

int64_t Scale::nanoseconds_at(int64_t time) const {
  return nanoseconds_ + std::llround(seconds(time - ticks_) * 1e9);
}

}  // namespace ingot::profile
