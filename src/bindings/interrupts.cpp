#include "bindings/interrupts.h"

#include <nanobind/nanobind.h>
#include <pthread.h>

#include "interop/gil.h"

namespace ingot::bindings {

namespace nb = nanobind;

namespace {

/// Part of the closed list of process-wide state.
pthread_t main_thread;

}  // namespace

void find_main_thread() {
  const nb::object thread = nb::module_::import_("threading").attr("main_thread")();
  main_thread = nb::cast<pthread_t>(thread.attr("ident"));
  // What forks is the child's main thread.
  pthread_atfork(nullptr, nullptr, [] { main_thread = pthread_self(); });
}

bool is_main_thread() { return pthread_equal(pthread_self(), main_thread) != 0; }

bool is_interrupted() {
  const EnsuredGil gil;
  return PyErr_CheckSignals() != 0;
}

}  // namespace ingot::bindings
