#include "interop/gil.h"

#include <unistd.h>

#include <new>
#include <utility>

#if PY_VERSION_HEX < 0x030c0000
extern "C" void _PyThreadState_SetCurrent(PyThreadState*);  // as threads of Python's begin
#endif

namespace ingot::inline interop {

void rest() {
  for (;;) pause();
}

bool is_raising() {
  const PyThreadState* const state = PyGILState_GetThisThreadState();
#if PY_VERSION_HEX < 0x030c0000
  return state != nullptr && state->curexc_type != nullptr;
#else
  return state != nullptr && state->current_exception != nullptr;
#endif
}

#if PY_VERSION_HEX < 0x030c0000
ThreadState::ThreadState() : state_(_PyThreadState_Prealloc(PyInterpreterState_Main())) {
  if (state_ == nullptr) throw std::bad_alloc();
}

ThreadState::~ThreadState() {
  if (state_ == nullptr) return;
  const EnsuredGil gil;
  PyThreadState_Clear(state_);
  PyThreadState_Delete(state_);
}

void ThreadState::begin() {
  state_->thread_id = PyThread_get_thread_ident();
  state_->native_thread_id = PyThread_get_thread_native_id();
  _PyThreadState_SetCurrent(state_);
}

void ThreadState::end() {
  resting_at_the_end([&] {
    PyEval_RestoreThread(state_);
    PyThreadState_Clear(std::exchange(state_, nullptr));
    PyThreadState_DeleteCurrent();
  });
}
#else
ThreadState::ThreadState() = default;
ThreadState::~ThreadState() = default;

void ThreadState::begin() {
  PyGILState_Ensure();
  state_ = PyEval_SaveThread();
}

void ThreadState::end() {
  resting_at_the_end([&] {
    PyEval_RestoreThread(state_);
    PyErr_Clear();
    PyGILState_Release(PyGILState_UNLOCKED);
  });
}
#endif

void Gil::release() {
  if (is_released_) return;
  is_released_ = true;
  if (PyGILState_Check() != 0) thread_ = PyEval_SaveThread();
}

void Gil::take() {
  is_released_ = false;
  resting_at_the_end([&] {
    if (thread_ != nullptr) {
      PyEval_RestoreThread(std::exchange(thread_, nullptr));
    } else {
      state_ = PyGILState_Ensure();
      is_ensured_ = true;
    }
  });
}

void Gil::go_back() {
  if (thread_ != nullptr || is_ensured_) hold();
  is_released_ = false;
  if (std::exchange(is_ensured_, false)) PyGILState_Release(state_);
}

}  // namespace ingot::inline interop
