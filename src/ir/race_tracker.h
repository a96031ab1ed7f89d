#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace ingot::ir {

enum class Access : uint8_t { Read, Write, Atomic };

/// Remembers, byte by byte, which turns of a parallel loop (or threads, or blocks) touched what, and finds
/// two that touch one byte when one of them writes, or one of them is atomic and the other is not.
class RaceTracker {
 public:
  /// Notes an access by a turn. False: another turn's access to one of the bytes conflicts with it.
  bool note(uint32_t turn, const void* address, size_t size, Access access);
  /// Forgets bytes whose life begins anew.
  void forget(const void* address, size_t size);
  /// Forgets all: the turns have waited for each other.
  void clear() { pages_.clear(); }

 private:
  static constexpr size_t kPageBytes = 256;
  static constexpr uint32_t kNobody = 0;
  static constexpr uint32_t kSeveral = 0xffffffff;
  /// Who (turn + 1) read, wrote, changed atomically.
  struct Marks {
    std::array<uint32_t, 3> by{kNobody, kNobody, kNobody};
  };
  using Page = std::array<Marks, kPageBytes>;

  std::unordered_map<uintptr_t, Page> pages_;
};

}  // namespace ingot::ir
