#pragma once

#include <semaphore.h>

#include <cstddef>
#include <cstdint>

namespace ingot::bindings {

/// Starts a thread that nobody joins, with so many bytes of stack. It blocks all signals: they are the
/// others'. False: there is none to be had, and `given` is still the caller's.
bool start_detached(void* (*run)(void*), void* given, size_t stack);

/// Waits until a semaphore is posted, a signal has come, or so many nanoseconds have passed.
void wait_for_post(sem_t& semaphore, int64_t nanoseconds);

}  // namespace ingot::bindings
