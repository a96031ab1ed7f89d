#include "bindings/execution.h"

#include <nanobind/stl/string.h>

#include <string>
#include <vector>

#include "bindings/errands.h"
#include "bindings/interrupts.h"

namespace ingot::bindings {

void Execution::forget() {
  const EnsuredGil gil;
  pending_.reset();
}

nb::object Execution::no_memory() {
  PyErr_NoMemory();  // one that Python keeps for this
  return nb::borrow<nb::object>(nb::python_error().value());
}

runtime::Status Execution::keep(nb::object exception) {
  base::ExceptionKind kind = base::ExceptionKind::MemoryError;
  pending_ = std::move(exception);
  try {
    kind = kind_of(pending_);
  } catch (const std::exception&) {  // for want of memory
    pending_ = no_memory();
  }
  const runtime::Status status = runtime::status_of(kind);
  context_.error = runtime::Error{status, runtime::Error::kNoSite, {}, 0, {}};
  return status;
}

bool Execution::keep_raised() {
  const nb::python_error error;
  (void)keep(nb::borrow<nb::object>(error.value()));
  return false;
}

nb::object Execution::failure() const {
  const runtime::Error& error = context_.error;
  const nb::tuple all = failure_of(code_.info(), error);
  // What compiled code caught is not pending any more.
  const bool is_pending = pending_.is_valid() && error.site == runtime::Error::kNoSite &&
                          error.status == runtime::status_of(kind_of(pending_));
  const base::ExceptionKind kind = runtime::exception_of(error.status);
  const bool is_of_device = context_.device != nullptr && error.site == runtime::Error::kNoSite &&
                            kind == base::ExceptionKind::RuntimeError && !is_pending;
  const bool is_refusal = is_of_device && error.arguments[runtime::Error::kIsRefusal] != 0;
  nb::object name = all[0];
  if (is_refusal) name = nb::str("UnsupportedError");
  else if (is_of_device) name = nb::str("DeviceError");
  return nb::make_tuple(name, all[1], all[2], is_pending ? pending_ : nb::none(), all[4]);
}

/// Lets go of the GIL. Where the call goes on, and the thread is the one that handles signals, it takes the
/// GIL for those that have come; what a handler raises leaves the call.
runtime::Status Execution::attend(runtime::Context* context) {
  Execution& self = of(context);
  if (!self.gil_.is_released()) {
    self.gil_.release();
    if (!is_main_thread()) runtime::unwatch_length(*context);
    return 0;
  }
  return self.with_gil([] {
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  });
}

bool Execution::may_leave_errands(runtime::Context*) { return is_main_thread(); }

/// Runs it on a thread of its own, while this one, the main one, handles signals.
runtime::Status Execution::run_errand(runtime::Context* context,
                                      const std::shared_ptr<runtime::Errand>& errand) {
  constexpr int64_t kBetweenLooks = 50'000'000;  // nanoseconds
  Execution& self = of(context);
  self.gil_.release();
  const std::shared_ptr<ErrandThread> thread = ErrandThread::start(errand);
  if (thread == nullptr) {
    errand->run();
    return 0;
  }
  while (!thread->wait(kBetweenLooks)) {
    const runtime::Status status = self.with_gil([] {
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
    });
    if (status != 0) return status;
    if (thread->is_lost()) {  // a handler forked
      context->error = runtime::Error{
          runtime::status_of(base::ExceptionKind::RuntimeError), runtime::Error::kNoSite, {}, 0, {}};
      return context->error.status;
    }
    self.gil_.release();
  }
  return 0;
}

}  // namespace ingot::bindings
