#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "softgpu/machine/memory.h"
#include "softgpu/machine/watch.h"

namespace softgpu {

/// A position in a stream: when as many of its operations are done, it is reached.
struct Moment {
  uint32_t stream = 0;
  uint64_t number = 0;
};

/// Bytes of an allocation that an operation touches, from `low` to before `high`: all, or those whose bit is
/// set in `bits`, bit k of word n for byte 64 n + k of the allocation.
struct Footprint {
  uint64_t low = 0;
  uint64_t high = 0;
  std::vector<uint64_t> bits{};

  bool meets(const Footprint& other) const;
  bool is_whole() const;
};

/// What a launch touches of global memory, in all.
class Touched {
 public:
  void add(const Allocation& where, uint64_t at, uint64_t bytes, Access access);
  /// Calls `fn(allocation, access, footprint)` for each.
  template <class Fn>
  void for_each(Fn&& fn) const {
    for (const auto& [where, kinds] : all_)
      for (size_t k = 0; k < kinds.size(); ++k)
        if (kinds[k].high != 0) fn(*where, static_cast<Access>(k), kinds[k]);
  }

 private:
  std::unordered_map<const Allocation*, std::array<Footprint, 3>> all_;
};

/// Watches the operations of a device's streams for races: two touch a byte, one of them writes, not both by
/// atomic or strong accesses, and neither comes after the other - by the order of a stream, by an event, or
/// because the host has waited for the one before it gave the other. Whether it is found does not depend on
/// the order in which they run.
class QueueWatch {
 public:
  /// An operation is put into a stream, after what it waits for.
  void put(uint32_t stream, std::span<const Moment> waits);
  /// The host has seen that a moment is reached: what it gives from now on comes after.
  void pass(const Moment& moment);
  /// ... that all is done.
  void pass_all();
  /// What is put into a stream from now on comes after all that is in the streams now.
  void gather(uint32_t stream);
  /// The operation before this moment touches memory. Throws Fault.
  void touch(const Moment& now, const std::string& who, const Allocation& where, Access access,
             const Footprint& footprint);

 private:
  using Clock = std::vector<uint64_t>;  ///< by stream: how many of its operations come before
  struct Touch {
    Moment when;
    Access access;
    Footprint footprint;
    std::string who;
  };

  Clock host_;
  std::vector<Clock> gathered_;             ///< by stream
  std::vector<std::vector<Clock>> clocks_;  ///< by stream, and by operation: what comes before it, and itself
  std::map<const Allocation*, std::vector<Touch>> touches_;

  static void join(Clock& into, const Clock& from);
  void join(Clock& into, const Moment& moment) const;
};

}  // namespace softgpu
