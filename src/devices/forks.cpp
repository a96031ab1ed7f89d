#include "devices/forks.h"

#include <pthread.h>

#include <atomic>
#include <new>

namespace ingot::devices {

namespace {

struct Forks {
  std::atomic<uint64_t> count{0};
  std::mutex mutex;

  /// Made once, and never destroyed: the handler stays.
  static Forks& instance() {
    static Forks* const made = [] {
      pthread_atfork(nullptr, nullptr, [] {
        Forks& forks = instance();
        forks.count.fetch_add(1, std::memory_order_relaxed);
        new (&forks.mutex) std::mutex;  // not locked before forks: drivers fork while they start
      });
      return new Forks;
    }();
    return *made;
  }
};

}  // namespace

uint64_t forks() { return Forks::instance().count.load(std::memory_order_relaxed); }

std::mutex& fork_safe_mutex() { return Forks::instance().mutex; }

}  // namespace ingot::devices
