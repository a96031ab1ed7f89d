#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/abi.h"

namespace ingot::runtime {

/// Where the memory of allocated buffers comes from. A buffer's header and its data are one block; the data
/// starts `kHeader` bytes after the header. Usable from any thread.
class Allocator {
 public:
  static constexpr size_t kAlignment = 64;
  static constexpr size_t kHeader = 64;
  static constexpr int64_t kMaxBytes = int64_t{1} << 47;  ///< what a process can address

  /// A buffer of `bytes` bytes, their values unspecified, that belongs to no call yet; its data is aligned to
  /// `kAlignment` and never null. Null if `bytes` is negative or above `kMaxBytes`, or memory has run out.
  static Buffer* allocate(int64_t bytes) noexcept;
  /// Gives back what `allocate` returned. Null is allowed.
  static void free(Buffer* buffer) noexcept;
};

}  // namespace ingot::runtime
