#include "bindings/errands.h"

#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <new>
#include <thread>
#include <utility>

#include "bindings/detached.h"

namespace ingot::bindings {

namespace {

constexpr size_t kStack = size_t{8} << 20;
constexpr std::chrono::seconds kLongestHold(6);
constexpr std::chrono::milliseconds kBriefly(1);

/// Part of the closed list of process-wide state.
constinit std::atomic<int> under_way = 0;
constinit std::atomic<bool> is_held = false;

/// Counts an errand that begins. A thread that holds errands waits then until there are none, so this looks
/// again.
void begin() {
  static const int is_registered = pthread_atfork(nullptr, nullptr, [] {
    under_way = 0;
    is_held = false;
  });
  (void)is_registered;
  const auto end = std::chrono::steady_clock::now() + kLongestHold;
  for (;;) {
    ++under_way;
    if (!is_held || std::chrono::steady_clock::now() >= end) return;
    --under_way;
    std::this_thread::sleep_for(kBriefly);
  }
}

}  // namespace

ErrandThread::ErrandThread(std::shared_ptr<runtime::Errand> errand)
    : errand_(std::move(errand)), float_state_(base::FloatState::current()), process_(getpid()) {
  sem_init(&end_, 0, 0);
}

ErrandThread::~ErrandThread() { sem_destroy(&end_); }

void* ErrandThread::run(void* given) {
  std::unique_ptr<std::shared_ptr<ErrandThread>> holder(static_cast<std::shared_ptr<ErrandThread>*>(given));
  ErrandThread& self = **holder;
  self.float_state_.set();
  self.state_.begin();
  self.errand_->run();
  self.has_ended_ = true;
  sem_post(&self.end_);
  self.state_.end();
  holder.reset();
  --under_way;
  return nullptr;
}

std::shared_ptr<ErrandThread> ErrandThread::start(std::shared_ptr<runtime::Errand> errand) try {
  std::shared_ptr<ErrandThread> made(new ErrandThread(std::move(errand)));
  auto given = std::make_unique<std::shared_ptr<ErrandThread>>(made);
  begin();
  if (!start_detached(run, given.get(), kStack)) {
    --under_way;
    return nullptr;
  }
  given.release();  // NOLINT(bugprone-unused-return-value): the thread's
  return made;
} catch (const std::bad_alloc&) {
  return nullptr;
}

bool ErrandThread::wait(int64_t nanoseconds) {
  wait_for_post(end_, nanoseconds);
  return has_ended_;
}

bool ErrandThread::is_lost() const { return getpid() != process_; }

int errands_under_way() { return under_way; }

void hold_errands(bool on) { is_held = on; }

}  // namespace ingot::bindings
