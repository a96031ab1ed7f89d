#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "base/exception.h"

/// The entry ABI: what compiled code and its callers agree on, the same for code compiled in this process,
/// read from the disk cache, compiled ahead of time, or called from C++. Everything here is plain data.
/// Code and runtime are of one build: saved code names it, and libraries hold a runtime of their own.
///
/// An entry is `Status fn(Context*, void** slots)`. The slots are those of the parameters, then those of the
/// results, in order:
///  - a scalar: the address of the element (bool: one byte 0 or 1), aligned to it;
///  - a view of rank r: the address of a `ViewSlot` followed by r lengths and r strides;
///  - a buffer: the address of a `Buffer*`.
/// Results are written only when the status is 0. Nothing unwinds through an entry.
///
/// Symbols: code names the outside only by the symbols that `runtime/symbols.h` lists.
namespace ingot::runtime {
struct Hooks;
}

namespace ingot::entry {

/// 0, or 1 + the number of a `base::ExceptionKind`; the rest is in `Context::error`.
using Status = int32_t;

constexpr Status status_of(base::ExceptionKind kind) { return 1 + static_cast<Status>(kind); }
/// Of a status that is not 0.
constexpr base::ExceptionKind exception_of(Status status) {
  return static_cast<base::ExceptionKind>(status - 1);
}

/// Memory that views are views of: the host's, or, in calls of device code, the device's, whose addresses the
/// host cannot touch. Those of arguments are made by the caller (on its stack) for the call;
/// those that the code allocates belong to the call, which passes those that results view to the caller.
struct Buffer {
  std::byte* data;  ///< never null; of allocated ones aligned to 64 bytes
  int64_t size;     ///< bytes
  /// Of allocated ones: the Context of the call as long as they belong to it, null once passed on. Of
  /// arguments: for the caller to use, but never the address of the call's Context.
  void* owner;
  Buffer* next;  ///< the list of the call's allocated buffers
  Buffer* previous;
  /// Of allocated ones: frees header and memory. Null: the host's allocator frees them.
  void (*release)(Buffer*) = nullptr;
};

/// A view: the address of the element with index 0 in every axis, its buffer, then `rank` lengths and `rank`
/// strides (bytes) that follow it in memory.
struct ViewSlot {
  std::byte* data;
  Buffer* buffer;
  int64_t* lengths() { return reinterpret_cast<int64_t*>(this + 1); }
  int64_t* strides(int rank) { return lengths() + rank; }
};

/// What a raise leaves: the number of the location in the object's table of error sites, and the values that
/// its message shows (bits of each, widened to 64: integers sign- or zero-extended, floats as double).
struct Error {
  static constexpr int kMaxArguments = 32;
  /// The site of an error that no location in the object raises: memory ran out in an allocation (argument 0
  /// is the number of bytes), or the call was interrupted.
  static constexpr uint32_t kNoSite = 0xffffffff;
  /// Arguments of an error without a site: 1 + the site where it has come up, or 0; and whether a device has
  /// refused what it was asked for (RuntimeError).
  static constexpr size_t kLocation = 1;
  static constexpr size_t kIsRefusal = 2;
  static constexpr int kMaxCallers = 15;
  Status status;  ///< what the entry returned
  uint32_t site;
  uint64_t arguments[kMaxArguments];
  /// The sites of the calls between functions of the object that the error left, the innermost first,
  /// recursion left out. Where there are too many, the outermost one is the last.
  uint32_t caller_count;
  uint32_t callers[kMaxCallers];
};

/// The state of one call, used by one thread at a time. Made or reset by the caller for each (`Call` in
/// runtime/context.h does).
struct Context {
  /// Bits of `*attention`.
  static constexpr uint32_t kInterrupt = 1;  ///< leave with KeyboardInterrupt
  static constexpr uint32_t kLength = 2;     ///< the call's duration is watched, see `watch_length`

  /// Not 0: the next poll calls `ingot_v1_poll`. `kInterrupt` may be set from a signal handler or another
  /// thread. The pointer itself is never null.
  uint32_t* attention;
  Error error;
  Buffer* buffers;              ///< allocated by this call and still live
  const runtime::Hooks* hooks;  ///< what the embedding program provides; never null
  void* user;                   ///< the embedding program's own
  /// Recursion that would take the stack below this raises RecursionError. `Call::run` sets it; null: there
  /// is no limit.
  std::byte* stack_limit;
  // Of a call whose duration is watched, in ticks of the processor's clock.
  int64_t next_look;  ///< when it is looked at; 0: it has not polled
  int64_t last_read;  ///< when a poll read the clock
  uint32_t unread;    ///< how many polls do not read it from now on
  uint32_t skipped;   ///< how many did not since `last_read`
  /// Of code for a device: the `devices::Device` on which all arrays are. Null: the host.
  void* device;
  /// The word of the floating-point state that the code runs in (base/float_state.h); 0: the default one.
  uint32_t float_state;
  /// The C functions that the code calls, by their numbers: for each its address, and the `data` of a loop of
  /// a ufunc of NumPy's. Null: there are none.
  void* const* functions;
};

/// The code of kernels in an object: it follows this, and a 0 byte.
struct KernelCode {
  int64_t bytes;
  int64_t is_assembled;  ///< 1: what the device's compiler has made; 0: the text

  const char* data() const { return reinterpret_cast<const char*>(this + 1); }
};

/// A launch, as compiled code describes it.
struct KernelCall {
  static constexpr uint8_t kAddress = 0x80;  ///< a bit of `kinds`

  const KernelCode* code;  ///< its address is its identity as long as the object is loaded
  const char* name;        ///< the kernel's; its address, too
  int64_t grid[3];
  int64_t block[3];
  int64_t shared_bytes;  ///< dynamic
  int64_t may_raise;     ///< then the first argument is the address of the error report, which is put there
  void** arguments;      ///< the address of each
  int64_t count;         ///< of arguments
  int64_t cooperative;   ///< 1: all blocks are there at once
  /// Not null: more values than a launch takes, packed into so many bytes; the last argument is the address
  /// of a copy of them on the device, which is put there.
  const void* packed;
  int64_t packed_bytes;
  const char* kinds;  ///< of each argument: its bytes, with `kAddress` if it is an address
};

/// The error report of threads that raise: that of the lowest iteration stays. What `follows_others` has
/// `kFollowing` added to its iteration.
struct KernelError {
  static constexpr uint64_t kNone = ~uint64_t{0};
  static constexpr uint64_t kFollowing = uint64_t{1} << 62;
  uint64_t iteration;
  int32_t lock;
  Status status;
  uint32_t site;
  uint64_t arguments[Error::kMaxArguments];
};

/// The symbol of a function's entry is this and its name, so that no entry is called as a C function is.
inline constexpr std::string_view kEntryPrefix = "ingot_entry_";

template <class T>
inline constexpr bool is_plain = std::is_standard_layout_v<T> && std::is_trivially_copyable_v<T>;
static_assert(is_plain<Context> && is_plain<Error> && is_plain<Buffer> && is_plain<ViewSlot>);
static_assert(is_plain<KernelCode> && is_plain<KernelCall> && is_plain<KernelError>);
static_assert(sizeof(void*) == 8, "the ABI is that of 64-bit targets");
static_assert(sizeof(Context) == 416 && sizeof(Error) == 328 && sizeof(Buffer) == 48 &&
              sizeof(ViewSlot) == 16);
static_assert(alignof(ViewSlot) == alignof(int64_t), "lengths follow");
static_assert(sizeof(KernelCall) % sizeof(int64_t) == 0, "it is made of such words");
static_assert(status_of(base::ExceptionKind::ValueError) == 1, "0 is success");

}  // namespace ingot::entry
