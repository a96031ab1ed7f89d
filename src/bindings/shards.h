#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>

#include "bindings/interrupts.h"

/// Shards: the calls of one function on the positions of a mesh, and how they come together
/// (`ingot.shard_map`).
namespace ingot::bindings {

/// What the shards of one axis exchange. All of them name the same one.
enum class Exchange : int64_t {
  Gather,    ///< each gets the blocks of all, one after the other
  AllToAll,  ///< each has a block for each, and gets one of each
  Send,      ///< each gets the block of one other, or none
  Sum,       ///< each gets the sums of all blocks' elements, added in the order of indices
  Max,
  Min,
  Scatter,  ///< each has a block for each, and gets the sums of those for it
};

/// What `ingot_shards_exchange` gives besides 0, when all is done, and `kInterrupted`, when an exception is
/// pending.
namespace codes {
inline constexpr int32_t kLeft = 1;      ///< another shard has ended without coming here
inline constexpr int32_t kMisfit = 2;    ///< the shards have come for different things
inline constexpr int32_t kNone = 3;      ///< no shard runs in this thread
inline constexpr int32_t kTooLarge = 4;  ///< the block has more bytes than an int of MPI's counts
inline constexpr int32_t kNoMemory = 5;
}  // namespace codes

/// For compiled code, which calls it without the GIL: an exchange of the shard that this thread runs with the
/// others along an axis of its mesh. `dtype` is that of the elements, a block has so many of them; `tag` is a
/// number that all come with, too. Of `Send`, the block comes from the shard `source` and goes to `dest`; -1:
/// from none, to none. `given` has no memory of `mine`.
extern "C" int32_t ingot_shards_exchange(int64_t exchange, int64_t axis, int64_t dtype, int64_t tag,
                                         int64_t count, int64_t source, int64_t dest, const void* mine,
                                         void* given);

/// The call that this thread makes has taken locks of streams of random numbers (1), or let go of them (-1).
void holds_streams(int more);

void bind_shards(nanobind::module_& m);

}  // namespace ingot::bindings
