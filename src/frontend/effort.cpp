#include "frontend/effort.h"

#include <Python.h>

namespace ingot::frontend {

namespace {

constexpr std::chrono::milliseconds kLongestHold{5};  ///< of the GIL; Python's default

}  // namespace

void Effort::look() {
  module_.go_on();
  if (Clock::now() - held_since_ < kLongestHold) return;
  PyThreadState* const thread = PyEval_SaveThread();
  PyEval_RestoreThread(thread);
  held_since_ = Clock::now();
  module_.go_on();
}

}  // namespace ingot::frontend
