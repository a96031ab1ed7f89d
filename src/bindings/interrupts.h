#pragma once

#include <Python.h>

#include <cstdint>

/// Ctrl-C and the GIL while compiled code runs.
namespace ingot::bindings {

/// Puts a handler of SIGINT before Python's own, if Python handles it here at all, and finds the main thread.
void watch_interrupts();

/// The word that calls of this thread poll: of Python's main thread the one whose bit SIGINT sets, since
/// Python handles signals there; `own`, of the call alone, in all others.
uint32_t* attention_of_thread(uint32_t& own);

/// The GIL while compiled code runs: held at first, let go in a long call.
class Gil {
 public:
  Gil() = default;
  ~Gil() { hold(); }
  Gil(const Gil&) = delete;
  Gil& operator=(const Gil&) = delete;

  void release() {
    if (thread_ == nullptr) thread_ = PyEval_SaveThread();
  }
  void hold() {
    if (thread_ != nullptr) take_back();
  }

 private:
  void take_back();

  PyThreadState* thread_ = nullptr;  ///< what was saved; null: the GIL is held
};

}  // namespace ingot::bindings
