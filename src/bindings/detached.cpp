#include "bindings/detached.h"

#include <pthread.h>

#include <csignal>
#include <ctime>

namespace ingot::bindings {

bool start_detached(void* (*run)(void*), void* given, size_t stack) {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_attr_setstacksize(&attributes, stack);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread{};
  const bool started = pthread_create(&thread, &attributes, run, given) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  return started;
}

void wait_for_post(sem_t& semaphore, int64_t nanoseconds) {
  constexpr int64_t kSecond = 1'000'000'000;
  timespec until{};
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_nsec += nanoseconds;
  until.tv_sec += until.tv_nsec / kSecond;
  until.tv_nsec %= kSecond;
  sem_clockwait(&semaphore, CLOCK_MONOTONIC, &until);
}

}  // namespace ingot::bindings
