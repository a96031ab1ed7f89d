#pragma once

#include <Python.h>
#include <cxxabi.h>

/// The GIL, and the end of Python, while C++ and compiled code run.
namespace ingot::bindings {

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

/// The GIL while compiled code runs: held at first, let go in a long call.
class Gil {
 public:
  Gil() = default;
  ~Gil() { hold(); }
  Gil(const Gil&) = delete;
  Gil& operator=(const Gil&) = delete;

  bool is_held() const { return thread_ == nullptr; }
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
