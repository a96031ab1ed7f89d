#include "bindings/gil.h"

#include <unistd.h>

#include <utility>

namespace ingot::bindings {

void rest() {
  for (;;) pause();
}

void Gil::take_back() {
  resting_at_the_end([&] { PyEval_RestoreThread(std::exchange(thread_, nullptr)); });
}

}  // namespace ingot::bindings
