#pragma once

#include <cstddef>
#include <cstdint>

/// The entry ABI: what compiled code and its callers agree on, the same for code compiled in this process,
/// read from the disk cache, compiled ahead of time, or called from C++. Everything here is plain data; the
/// offsets of `Context`'s first members are known to codegen (`kContext...` below) and checked by
/// static_asserts in abi.cpp.
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

/// 0, or 1 + the number of a `base::ExceptionKind`; the rest stands in `Context::error`.
using Status = int32_t;

/// Memory that views are views of. Those of arguments are made by the caller (on its stack) for the call;
/// those that the code allocates belong to the call, which hands the ones that results view to the caller.
struct Buffer {
  std::byte* data;
  int64_t size;        ///< bytes
  void* owner;         ///< of arguments: the caller's business; of allocated ones: null
  Buffer* next;        ///< the list of the call's allocated buffers
  Buffer* previous;
};

/// A view: the address of the element with index 0 in every axis, the buffer it lies in, then `rank` lengths
/// and `rank` strides (bytes) in `extent`.
struct ViewSlot {
  std::byte* data;
  Buffer* buffer;
  int64_t* lengths() { return reinterpret_cast<int64_t*>(this + 1); }
  int64_t* strides(int rank) { return lengths() + rank; }
};

/// What a raise leaves: the number of the place in the object's table of error sites, and the values that
/// its message shows (bits of each, widened to 64: integers sign- or zero-extended, floats as double).
struct Error {
  static constexpr int kMaxArguments = 6;
  Status status;
  uint32_t site;
  uint64_t arguments[kMaxArguments];
};

struct Hooks;

/// The state of one call. Made anew, or reset, by the caller for each.
struct Context {
  /// Not 0: leave at the next poll with KeyboardInterrupt. Set from a signal handler or another thread.
  const volatile uint32_t* interrupt;
  Error error;
  Buffer* buffers;     ///< allocated by this call and still live
  const Hooks* hooks;  ///< what the embedding program provides; never null
  void* user;          ///< the embedding program's own
};

/// What the program around the runtime does on request of the code. `sample` is called by the first poll
/// later than 10 µs after the entry (to release the GIL).
struct Hooks {
  void (*long_call)(Context*);
};

using Entry = Status (*)(Context*, void** slots);

inline constexpr size_t kContextInterruptOffset = 0;
inline constexpr size_t kContextErrorOffset = 8;

}  // namespace ingot::runtime
