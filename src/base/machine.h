#pragma once

#include <cstddef>
#include <cstdint>

namespace ingot::base {

/// The properties, of the machine that code is made for, that passes use. They never use a target's name.
/// Nothing here changes a value: sums have the order of base/reduction.h on each machine.
struct Machine {
  /// The width of the registers that vector loops use; 0: loops run one iteration at a time.
  int vector_bits = 256;
  size_t registers = 16;  ///< that hold values of a vector loop
  /// Whether code is to be short rather than fast, so that it is made soon: a vector loop takes the lanes of
  /// one register, and what is left of its iterations runs one by one; the lanes of sums are in memory.
  bool compact = false;
  /// Whether a register's lanes can be compacted, as filters store them.
  bool compresses = false;
  /// Whether lanes divide 64-bit integers faster than scalar code does.
  bool divides = false;
  /// How matrices are multiplied: by a routine of the embedding program, by a library of the device, which
  /// takes them in any layout, or by loops.
  enum class Products : uint8_t { Program, Device, Loops };
  Products products = Products::Program;
  /// Locations in memory that are iterated over at once without slowing down.
  size_t streams = 12;
  int64_t near_cache = 32 << 10;   ///< bytes, of one core
  int64_t far_cache = 512 << 10;   ///< ... after it
  int64_t stack_bytes = 64 << 10;  ///< of arrays that a function may have on its stack
  /// Arrays of so many bytes are written past the caches; 0: none.
  uint64_t streamed_bytes = 8 << 20;
  /// ... in rows of at least so many: lines at both ends of one are written in parts.
  uint64_t streamed_row = 8 << 10;

  /// Which loops whose iterations threads may share are given to the runtime's threads.
  enum class Sharing : uint8_t {
    Never,
    Large,   ///< those with work enough, when they are entered
    Always,  ///< all of more than one iteration, for tests
  };
  Sharing sharing = Sharing::Large;
  /// A thread's piece of work should take so many additions in lanes, each a tenth of a nanosecond about.
  int64_t piece_work = 100'000;

  /// Threads of a block of launches; 0: there are none. Else all arrays are in the memory of a device, which
  /// only launches touch.
  int64_t block_threads = 0;
  /// ... that get values of each other's registers (`shuffle`); 0: none do.
  int64_t warp_threads = 0;
  /// Bytes that the threads of a block may have in common.
  int64_t shared_bytes = 48 << 10;
  /// Whether a block that has begun goes on whatever others do: one that takes its number from a counter in
  /// memory may wait for those that have taken lower numbers. Else no block waits for another one.
  bool blocks_in_order = false;

  bool has_lanes() const { return vector_bits > 0; }
  bool has_kernels() const { return block_threads > 0; }

  bool operator==(const Machine&) const = default;
};

}  // namespace ingot::base
