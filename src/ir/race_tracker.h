#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace ingot::ir {

enum class Access : uint8_t { Read, Write, Atomic };

/// Remembers, byte by byte, which iterations of a parallel loop (or threads, or blocks) touched what, and
/// finds two that touch one byte when one of them writes, or one of them is atomic and the other is not.
///
/// Fences order accesses: what an iteration did before a fence is no conflict for an iteration that has come
/// to a fence or an atomic access since. A memory model requires more, so races may be missed, but none is
/// reported falsely.
class RaceTracker {
 public:
  /// Notes an access by an iteration. False: another iteration's access to one of the bytes conflicts with
  /// it.
  bool note(uint32_t iteration, const void* address, size_t size, Access access);
  /// Notes a fence of an iteration.
  void fence(uint32_t iteration);
  /// Forgets bytes whose life begins anew.
  void forget(const void* address, size_t size);
  /// Forgets what these iterations did, alone or with others: they have waited for each other.
  void forget_iterations(uint32_t mask);
  /// Forgets all: the iterations have waited for each other.
  void clear() { pages_.clear(); }

 private:
  static constexpr size_t kPageBytes = 256;
  static constexpr uint32_t kNobody = 0;
  static constexpr uint32_t kSeveral = 0xffffffff;
  /// The iteration (+ 1), and the time of its last access.
  struct Mark {
    uint32_t by = kNobody;
    uint32_t at = 0;
  };
  /// The last read, write and atomic access.
  struct Marks {
    std::array<Mark, 3> of;
  };
  using Page = std::array<Marks, kPageBytes>;
  /// When an iteration came to fences, and when it last came to one or to an atomic access.
  struct Fences {
    std::vector<uint32_t> times;
    uint32_t last = 0;
  };

  bool is_ordered(const Mark& mark, uint32_t me) const;

  uint32_t now_ = 0;
  std::unordered_map<uint32_t, Fences> fences_;  ///< by iteration + 1
  std::unordered_map<uintptr_t, Page> pages_;
};

}  // namespace ingot::ir
