#include "bindings/interrupts.h"

#include <nanobind/nanobind.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <utility>

#include "runtime/context.h"

namespace ingot::bindings {

namespace nb = nanobind;

namespace {

/// What calls of Python's main thread poll; SIGINT sets its bit. Part of the closed list of process-wide
/// state.
uint32_t main_attention = 0;
pthread_t main_thread;
struct sigaction previous_handler;

void on_interrupt(int signal, siginfo_t* details, void* context) {
  std::atomic_ref(main_attention).fetch_or(runtime::Context::kInterrupt);
  if ((previous_handler.sa_flags & SA_SIGINFO) != 0 && previous_handler.sa_sigaction != nullptr) {
    previous_handler.sa_sigaction(signal, details, context);
  } else if (previous_handler.sa_handler != SIG_DFL && previous_handler.sa_handler != SIG_IGN) {
    previous_handler.sa_handler(signal);
  }
}

void find_main_thread() {
  const nb::object thread = nb::module_::import_("threading").attr("main_thread")();
  main_thread = nb::cast<pthread_t>(thread.attr("ident"));
  // What forks is the child's main thread.
  pthread_atfork(nullptr, nullptr, [] { main_thread = pthread_self(); });
}

}  // namespace

void watch_interrupts() {
  find_main_thread();
  struct sigaction current{};
  if (sigaction(SIGINT, nullptr, &current) != 0 || current.sa_handler == SIG_DFL ||
      current.sa_handler == SIG_IGN)
    return;
  previous_handler = current;
  struct sigaction ours{};
  ours.sa_sigaction = on_interrupt;
  ours.sa_flags = SA_SIGINFO | (current.sa_flags & ~SA_SIGINFO);
  ours.sa_mask = current.sa_mask;
  sigaction(SIGINT, &ours, nullptr);
}

uint32_t* attention_of_thread(uint32_t& own) {
  return pthread_equal(pthread_self(), main_thread) != 0 ? &main_attention : &own;
}

void Gil::take_back() {
  try {
    PyEval_RestoreThread(std::exchange(thread_, nullptr));
  } catch (...) {
    // Python has ended, and ends this thread: it must not be unwound through compiled code.
    for (;;) pause();
  }
}

}  // namespace ingot::bindings
