#include "bindings/gil.h"

#include <unistd.h>

#include <utility>

namespace ingot::bindings {

void rest() {
  for (;;) pause();
}

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

}  // namespace ingot::bindings
