#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "runtime/abi.h"

namespace ingot::runtime {

/// Iterations begin ... end - 1 of a loop, in order. `context` is that of the thread that runs them: buffers
/// that they allocate are its own, and an error is left in it. They are independent of all other iterations.
using Iterations = Status (*)(Context* context, void* data, int64_t begin, int64_t end);

/// The threads that share the iterations of parallel loops: one pool for the process, which starts threads
/// when a loop first needs them. One loop at a time has it; a loop that finds it taken - by another thread,
/// or since it is in an iteration of a parallel loop - runs on its own thread alone. So calls neither wait
/// for each other nor hang, and wait only for iterations that have begun: a thread that wakes up late delays
/// nobody. All threads run a loop in the floating-point state of the one that has asked for it.
///
/// Idle threads look for work for some microseconds and then sleep. They block all signals, never touch the
/// embedding program, and end with the process. A forked child starts with no threads and gets its own.
class Pool {
 public:
  static constexpr int kMaxThreads = 256;

  /// Runs iterations 0 ... count - 1, in pieces of at least `grain` (> 0) iterations, in any order and at the
  /// same time, the calling thread's among them. Returns 0, or what the lowest failing iteration returned,
  /// its error in `context`; iterations above it may have run or not.
  ///
  /// Only the calling thread polls `context`, also while it waits. An error without a site - the call was
  /// interrupted, or memory ran out - on the calling thread stops all others at their next poll and is the
  /// result. The buffers that iterations on other threads leave are freed.
  static Status run(Context* context, Iterations iterations, void* data, int64_t count,
                    int64_t grain) noexcept;

  /// How many threads a loop may use, the calling one included: what `set_threads` set last, else the
  /// environment variable INGOT_NUM_THREADS, else the number of CPUs that this process may use, or the
  /// variable OMP_NUM_THREADS where that is less.
  static int threads() noexcept;
  /// From the next loop on; 1: loops run on the calling thread. At least 1 and at most `kMaxThreads`.
  static void set_threads(int count) noexcept;
  /// How many the loops of the calling thread may use at most, whatever is set; returns what it was before.
  static int limit_here(int count) noexcept;
};

/// The number of threads that a text gives, such as that of INGOT_NUM_THREADS: a decimal number from 1 to
/// `Pool::kMaxThreads`; nothing for any other text.
std::optional<int> parse_thread_count(std::string_view text);

/// The number of threads that the text of OMP_NUM_THREADS gives for the outermost loop, at least 1: the first
/// of a list of numbers; nothing for any other text.
std::optional<int> parse_openmp_threads(std::string_view text);

}  // namespace ingot::runtime
