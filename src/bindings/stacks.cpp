#include "bindings/stacks.h"

#include <nanobind/nanobind.h>
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <vector>

#include "base/float_state.h"
#include "bindings/detached.h"
#include "bindings/errands.h"
#include "bindings/interrupts.h"
#include "interop/gil.h"
#include "runtime/context.h"

namespace ingot::bindings {

namespace nb = nanobind;

namespace {

constexpr size_t kLeast = size_t{2} << 20;
constexpr size_t kGiven = size_t{64} << 20;
constexpr int64_t kBetweenLooks = 50'000'000;  ///< nanoseconds
constexpr int64_t kBriefly = 1'000'000;
constexpr double kLongestHold = 6.0;  ///< seconds that a fork can keep the compiler from beginning
constexpr double kForEver = 1e9;

/// Part of the closed list of process-wide state; the GIL's holder reads and changes it.
int under_way = 0;
bool is_at_the_end = false;
bool is_held = false;  ///< no other thread than the one that `holds` begins a call
thread_local bool holds = false;
thread_local int own = 0;  ///< of those under way, the ones that this thread is in
thread_local const std::atomic<bool>* abandoned = nullptr;  ///< of the call that this thread was made for

PyObject* call_here(PyObject* callable, PyObject* const* arguments, size_t count) {
  const base::InFloatState state;  // what is folded is computed in the default one
  ++under_way;
  ++own;
  PyObject* const result = PyObject_Vectorcall(callable, arguments, count, nullptr);
  --own;
  --under_way;
  return result;
}

/// A call that a thread of its own makes. Held by both threads; what is Python's in it is the GIL's holder's.
struct CallElsewhere {
  ThreadState state{};
  nb::object callable;
  std::vector<nb::object> arguments;
  std::vector<PyObject*> given;  ///< the same
  nb::object context;
  PyObject* result = nullptr;
  nb::object error;
  bool has_ended = false;
  std::atomic<bool> is_abandoned{false};  ///< nobody waits for it
  sem_t end{};

  CallElsewhere() { sem_init(&end, 0, 0); }
  ~CallElsewhere() { sem_destroy(&end); }
  CallElsewhere(const CallElsewhere&) = delete;
  CallElsewhere& operator=(const CallElsewhere&) = delete;

  void make();
};

/// Takes the exception that is set.
nb::object raised() {
  const nb::python_error error;
  return nb::borrow(error.value());
}

void CallElsewhere::make() {
  ++own;
  if (PyContext_Enter(context.ptr()) == 0) {
    result = PyObject_Vectorcall(callable.ptr(), given.data(), given.size(), nullptr);
    if (result == nullptr) error = raised();
    PyContext_Exit(context.ptr());
  } else {
    error = raised();
  }
  arguments.clear();
  callable.reset();
  context.reset();
  if (is_abandoned) {
    Py_CLEAR(result);
    error.reset();
  }
  has_ended = true;
  --own;
  --under_way;
}

void* make_call(void* given) {
  const std::unique_ptr<std::shared_ptr<CallElsewhere>> call(
      static_cast<std::shared_ptr<CallElsewhere>*>(given));
  base::FloatState().set();  // threads begin with their maker's
  ThreadState& state = (*call)->state;
  state.begin();
  {
    const EnsuredGil gil;
    abandoned = &(*call)->is_abandoned;
    (*call)->make();
  }
  state.end();
  sem_post(&(*call)->end);
  return nullptr;
}

bool start(const std::shared_ptr<CallElsewhere>& call) {
  auto given = std::make_unique<std::shared_ptr<CallElsewhere>>(call);
  const bool started = start_detached(make_call, given.get(), kGiven);
  if (started) given.release();  // NOLINT(bugprone-unused-return-value): the thread's
  return started;
}

/// Waits, without the GIL, until a semaphore is posted, or a signal or some time has come.
void wait_for(sem_t& semaphore, int64_t nanoseconds = kBetweenLooks) {
  Gil gil;
  gil.release();
  wait_for_post(semaphore, nanoseconds);
}

/// Waits, without the GIL, as long as something holds, but no longer than this.
void wait_while(bool (*still)(), double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  sem_t never;
  sem_init(&never, 0, 0);
  while (still() && Clock::now() < end) wait_for(never, kBriefly);
  sem_destroy(&never);
}

/// Null, and `started` is false: there can be no other thread.
PyObject* call_elsewhere(PyObject* callable, PyObject* const* arguments, size_t count, bool& started) {
  const auto call = std::make_shared<CallElsewhere>();
  call->context = nb::steal(PyContext_CopyCurrent());
  if (!call->context.is_valid()) return nullptr;
  call->callable = nb::borrow(callable);
  call->given.assign(arguments, arguments + count);
  for (size_t i = 0; i < count; ++i) call->arguments.push_back(nb::borrow(arguments[i]));
  started = start(call);
  if (!started) return nullptr;
  ++under_way;
  const pid_t process = getpid();
  while (!call->has_ended) {
    wait_for(call->end);
    if (!call->has_ended && PyErr_CheckSignals() != 0) {
      call->is_abandoned = true;
      return nullptr;
    }
    if (getpid() != process) {  // a handler forked, and the other thread is in the parent
      PyErr_SetString(PyExc_RuntimeError, "the process was forked while it compiled");
      return nullptr;
    }
  }
  if (call->result == nullptr) PyErr_SetObject(call->error.type().ptr(), call->error.ptr());
  call->error.reset();
  return call->result;
}

}  // namespace

PyObject* call_with_room(PyObject* callable, PyObject* const* arguments, size_t count) {
  // A child that is forked has none of the threads that make calls.
  static const int is_registered = pthread_atfork(nullptr, nullptr, [] {
    under_way = own;
    is_held = false;
  });
  (void)is_registered;
  // Not for ever: the thread that forks may wait for what this one has.
  if (own == 0 && !holds) wait_while([] { return is_held; }, kLongestHold);
  if (is_at_the_end && !is_main_thread()) {
    Gil gil;
    gil.release();
    rest();
  }
  // When Python ends, a new thread would not get the GIL any more.
  const bool has_room = runtime::stack_left() >= kLeast;
  if ((is_main_thread() || !has_room) && !is_at_the_end) {
    bool started = true;
    PyObject* const result = call_elsewhere(callable, arguments, count, started);
    if (started) return result;
    if (!has_room) {
      PyErr_SetString(PyExc_RuntimeError, "can't start new thread");
      return nullptr;
    }
  }
  return call_here(callable, arguments, count);
}

const std::atomic<bool>* abandonment() { return abandoned; }

void finish_calls_with_room() {
  is_at_the_end = true;
  sem_t never;
  sem_init(&never, 0, 0);
  while (under_way > 0 || errands_under_way() > 0) {
    wait_for(never);
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  }
  sem_destroy(&never);
}

void hold_calls_with_room(double seconds) {
  is_held = holds = true;
  hold_errands(true);
  wait_while([] { return under_way > own; }, seconds);
  if (under_way > own) is_held = holds = false;
  // These wait for nobody, so they end.
  wait_while([] { return errands_under_way() > 0; }, kForEver);
}

void let_calls_with_room_go_on() {
  is_held = holds = false;
  hold_errands(false);
}

}  // namespace ingot::bindings
