#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "runtime/abi.h"

namespace ingot::runtime {

/// The allocator's memory, in bytes of whole blocks, headers and rounding included.
struct MemoryUse {
  int64_t limit;   ///< the most that is kept
  int64_t kept;    ///< of freed blocks, for the next buffers
  int64_t in_use;  ///< of buffers
  int64_t peak;    ///< the most that was ever in use
};

/// Where the memory of allocated buffers comes from. A buffer's header and its data are one block; the data
/// starts `kHeader` bytes after the header. Freed blocks stay mapped, up to a limit, and the next buffer of
/// about the same size gets the one that was freed last: a fresh block costs a page fault for every page.
/// When the limit is passed, the blocks that were freed first are unmapped; when an allocation fails, all
/// are, and it is tried again. Usable from any thread, and in a forked child.
///
/// Under the address sanitizer, kept blocks and the bytes that rounding adds are poisoned.
class Allocator {
 public:
  static constexpr size_t kAlignment = 64;
  static constexpr size_t kHeader = 128;
  /// The data of large blocks begins so many bytes after a page. NumPy's large arrays begin 16 bytes after
  /// one, and a loop that reads from such an array what is little before what it writes, modulo pages, waits
  /// for its own stores: for those past the caches, several iterations.
  static constexpr size_t kIntoPage = 2048;
  static constexpr size_t kLarge = size_t{2} << 20;       ///< blocks from here on are mappings, in huge pages
  static constexpr int64_t kMaxBytes = int64_t{1} << 47;  ///< what a process can address

  /// A buffer of `bytes` bytes, their values unspecified, that belongs to no call yet; its data is aligned to
  /// `kAlignment` and never null. Null if `bytes` is negative or above `kMaxBytes`, or memory has run out.
  static Buffer* allocate(int64_t bytes) noexcept;
  /// Gives back what `allocate` returned and no call owns. Null is allowed.
  static void free(Buffer* buffer) noexcept;
  /// As `allocate`, for a buffer that the running call frees itself: a small one is, where there is one, what
  /// `keep_temporary` has kept on this thread, which takes no lock.
  static Buffer* allocate_temporary(int64_t bytes) noexcept;
  /// Keeps a small buffer that no call owns for `allocate_temporary` on this thread, until
  /// `free_temporaries`; false: it is not small, or enough are kept, and `free` has to have it. What is kept
  /// counts as in use.
  static bool keep_temporary(Buffer* buffer) noexcept;
  /// Frees what `keep_temporary` has kept on this thread.
  static void free_temporaries() noexcept;
  /// The same bytes, as many as fit, in a buffer of `bytes` bytes, instead of one that no call owns. Null,
  /// and `buffer` stays as it is, where `allocate` gives null.
  static Buffer* reallocate(Buffer* buffer, int64_t bytes) noexcept;
  /// The buffer that `allocate` made, by its data.
  static Buffer* buffer_of(void* data) noexcept;

  /// For tests: of the blocks requested from the system from now on, this one, counted from 1, is refused; 0:
  /// none is. Returns how many were still to come before the one that was to be refused.
  static int64_t fail_at(int64_t number) noexcept;

  static MemoryUse use() noexcept;
  /// From now on at most `bytes` are kept; the excess is unmapped. Negative numbers are 0.
  static void set_limit(int64_t bytes) noexcept;
  /// Gives kept blocks back until at most `bytes` are kept.
  static void trim(int64_t bytes) noexcept;
};

/// The limit that a string gives, such as the environment variable INGOT_KEPT_MEMORY, which holds from the
/// first allocation: a decimal number. Nothing for any other string. Without the variable, or with such a
/// string, the limit is an eighth of the memory that this process may use.
std::optional<int64_t> parse_kept_limit(std::string_view text);

}  // namespace ingot::runtime
