#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "profile/clock.h"
#include "profile/tree.h"

/// Profiles of a process: each thread has a stack of open regions and a tree of paths, which are gathered
/// when somebody asks. docs/profiling.md has the rules.
///
/// All functions want the GIL unless their comment excludes it: a thread that lets go of it, while compiled
/// code runs or a device is waited for, leaves its tree alone meanwhile.
namespace ingot::profile {

extern std::atomic<bool> is_running;

/// Whether there is anything to do. Without the GIL, too.
inline bool is_on() { return is_running.load(std::memory_order_relaxed); }

/// What happened when, for a drawing over time.
struct Event {
  NodeId node;
  int64_t start;
  int64_t stop;
};

/// Time and bytes that a device's observer has counted for a node and label.
struct Work {
  NodeId node;
  LabelId label;
  int64_t calls = 0;
  int64_t length = 0;  ///< ticks
  int64_t shortest = std::numeric_limits<int64_t>::max();
  int64_t longest = 0;
  Counts counts{};
};

/// The same of what a device has done, or was given.
struct WorkEvent {
  NodeId around;
  LabelId label;
  int64_t start;
  int64_t stop;
};

/// A node of a thread's tree, for later.
struct Spot {
  NodeId node;
  uint32_t age;  ///< how often the tree has been thrown away
};

/// What one thread does.
struct Thread : std::enable_shared_from_this<Thread> {
  std::string name{};     ///< Python's; empty: nobody has asked yet
  uint64_t identity = 0;  ///< Python's number of it
  uint32_t number = 0;    ///< of threads, in the order in which they came
  Tree tree{};
  std::vector<Event> events{};
  int64_t lost_events = 0;  ///< that there was no memory for
  std::atomic<bool> has_ended{false};
  std::atomic<NodeId> current{kRoot};  ///< the innermost region, for threads without the GIL

  std::mutex mutex{};  ///< of these
  uint32_t age = 0;
  std::vector<Work> work{};
  std::vector<WorkEvent> work_events{};
  int64_t lost_work_events = 0;
  std::atomic<int> waits{0};  ///< kernels whose time is not known yet

  /// That of the calling thread. Without the GIL, too.
  static Thread& here();
  /// Finds the name, if it has none.
  void find_name();

  void settle() { current.store(tree.current(), std::memory_order_relaxed); }
  void leave(size_t at, int64_t now);
  /// Where it is. Without the GIL.
  Spot spot();
  /// Those of what devices have done, as they are now. The GIL must not be waited for while `mutex` is held.
  std::vector<WorkEvent> copied_work_events();
  /// Counts work of a device, which began at a time. Without the GIL.
  void add_work(Spot at, LabelId label, int64_t start, int64_t length, const Counts& counts);
};

/// @name The switch
/// Begins to count, with each event if `traces`; what was counted before stays.
void start(bool traces);
/// What is open then counts as a call that ends now.
void stop();
/// Forgets all that was counted. What is open then is not counted.
void reset();
bool is_tracing();

/// A new number for a frame.
uint64_t next_number();

/// A region that is open as long as this lives. Where it is closed before - counting has stopped meanwhile -
/// nothing is left to do.
class Activation {
 public:
  explicit Activation(LabelId label) : thread_(&Thread::here()), number_(next_number()) {
    thread_->tree.enter(label, ticks(), number_);
    thread_->settle();
  }
  /// Inside the call of a compiled function that is the innermost region, or below `around`, which is not
  /// open.
  Activation(LabelId around, LabelId label);
  ~Activation() {
    const int64_t now = ticks();
    const std::vector<Frame>& frames = thread_->tree.frames();
    const bool is_innermost = !frames.empty() && frames.back().number == number_;
    if (is_innermost) thread_->leave(frames.size() - 1, now);
    else leave_late(now);
  }
  Activation(const Activation&) = delete;
  Activation& operator=(const Activation&) = delete;

 private:
  void leave_late(int64_t now);

  Thread* thread_;
  uint64_t number_;
};

/// All threads, those that have ended among them. Of these, many are counted as one.
std::vector<std::shared_ptr<Thread>> threads();
/// Closes the innermost frame of an owner, in the calling thread or, where there is none, in another.
void leave_owner(const void* owner, int64_t now);
/// An owner that is gone while its frames are open.
void forget_owner(const void* owner);
/// That frame in the calling thread; null: there is none. Until the next region begins or ends.
Frame* frame_of(const void* owner);

/// A row: a path of labels, what it has counted, and the threads.
struct Row {
  std::vector<LabelId> path;
  Node counted;
  size_t threads = 0;
  std::vector<std::string> names;  ///< of these threads, the first ones
};
/// Those of all threads, as they are now: what is open counts as a call that ends now. A path comes after the
/// one around it.
std::vector<Row> rows();

/// @name Devices (devices.cpp)
/// Looks on while devices work, or no more.
void watch_devices(bool looks_on);
/// Counts the kernels that are done; waits for all if `waits`, without the GIL.
void settle_kernels(bool waits);
/// Copies and kernels that had a node but no memory, or no time since their device has failed.
int64_t uncounted_work();
/// No kernel is waited for any more; in a forked child, their events are let be.
void forget_kernels(bool is_child);

/// In a child that was forked: counts on, from nothing.
void begin_in_child();

}  // namespace ingot::profile
