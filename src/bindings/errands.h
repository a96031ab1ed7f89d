#pragma once

#include <semaphore.h>

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/float_state.h"
#include "interop/gil.h"
#include "runtime/errand.h"

/// Threads for errands: what takes long and calls no Python, while the main thread handles signals.
namespace ingot::bindings {

/// An errand on a thread of its own, which keeps it until its end. The thread blocks all signals, runs in the
/// floating-point state of the one that has made it, and has a state of Python's for what the errand raises.
class ErrandThread {
 public:
  /// Starts the thread; waits before, for some seconds at most, while errands are held. Null: there is no
  /// memory, or the system gives no thread. Wants no GIL.
  static std::shared_ptr<ErrandThread> start(std::shared_ptr<runtime::Errand> errand);
  ~ErrandThread();
  ErrandThread(const ErrandThread&) = delete;
  ErrandThread& operator=(const ErrandThread&) = delete;

  /// Waits until the errand has ended, or a signal or some time has come: whether it has ended.
  bool wait(int64_t nanoseconds);
  /// Whether this is a forked child, in which the thread is not.
  bool is_lost() const;

 private:
  explicit ErrandThread(std::shared_ptr<runtime::Errand> errand);
  static void* run(void* given);

  ThreadState state_;
  std::shared_ptr<runtime::Errand> errand_;
  base::FloatState float_state_;
  int process_;
  std::atomic<bool> has_ended_ = false;
  sem_t end_{};
};

/// How many errands are under way, also those that nobody waits for.
int errands_under_way();
/// Lets none begin, or lets them again. For forks.
void hold_errands(bool on);

}  // namespace ingot::bindings
