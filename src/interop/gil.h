#pragma once

#include <Python.h>
#include <cxxabi.h>

/// The GIL, and the end of Python, while C++ and compiled code run.
namespace ingot::inline interop {

/// Waits for ever. For a thread without the GIL that Python, which has ended, would end: the thread must not
/// be unwound through C++ or compiled code, and the process ends without it.
[[noreturn]] void rest();

/// Runs something that calls Python. Where Python ends meanwhile, and this thread is none that it waits for,
/// the thread rests.
template <class Fn>
auto resting_at_the_end(Fn&& fn) {
  try {
    return fn();
  } catch (const abi::__forced_unwind&) {
    rest();
  }
}

/// The GIL for the time of its life, whether this thread has it already or not.
class EnsuredGil {
 public:
  EnsuredGil() : state_(PyGILState_Ensure()) {}
  ~EnsuredGil() { PyGILState_Release(state_); }
  EnsuredGil(const EnsuredGil&) = delete;
  EnsuredGil& operator=(const EnsuredGil&) = delete;

 private:
  PyGILState_STATE state_;
};

/// Whether an exception is set in the calling thread, which may have the GIL or not. Without memory, inner
/// loops of NumPy's set one.
bool is_raising();

/// Python's state of a thread that is to be made: made before, since a thread that finds no memory for its
/// own ends the process. (From Python 3.12 on the thread makes it nevertheless.)
class ThreadState {
 public:
  /// Throws std::bad_alloc.
  ThreadState();
  /// With the GIL or without; where the thread has not begun.
  ~ThreadState();
  ThreadState(const ThreadState&) = delete;
  ThreadState& operator=(const ThreadState&) = delete;

  /// At the beginning of the thread, which has no GIL then: it may take it as other threads do.
  void begin();
  /// At its end, without the GIL.
  void end();

 private:
  PyThreadState* state_ = nullptr;
};

/// The GIL while compiled code runs, of a thread that has it at first or has not: let go in a long call, held
/// where Python is called, and in the end as at first.
class Gil {
 public:
  Gil() = default;
  ~Gil() { restore(); }
  Gil(const Gil&) = delete;
  Gil& operator=(const Gil&) = delete;

  bool is_released() const { return is_released_; }
  /// Lets go of it, if this thread has it.
  void release();
  /// Takes it, after `release`.
  void hold() {
    if (is_released_) take();
  }
  /// As it was at first.
  void restore() {
    if (is_released_ || is_ensured_) go_back();
  }

 private:
  void take();
  void go_back();

  PyThreadState* thread_ = nullptr;  ///< what was saved; null: this thread had no GIL to let go of
  PyGILState_STATE state_{};         ///< of a thread that had none
  bool is_released_ = false;
  bool is_ensured_ = false;  ///< whether a thread that had none has taken it
};

}  // namespace ingot::inline interop
