#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include "bindings/code.h"
#include "devices/device.h"
#include "interop/exceptions.h"
#include "interop/gil.h"
#include "runtime/context.h"
#include "runtime/errand.h"

namespace ingot::bindings {

/// One run of compiled code, by a thread that has the GIL or has not. A long one lets go of the GIL, and
/// handles signals where its thread is the one that does; one that waits for a device lets go of it, too.
class Execution {
 public:
  /// Of code that calls nothing outside; the code outlives this. In another floating-point state than it is
  /// for, its replacement runs; throws what making that raises.
  explicit Execution(const Code& code) : Execution(code, kHooks) {}
  ~Execution() {
    if (pending_.is_valid()) forget();
  }
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;

  const Code& code() const { return code_; }
  /// Whether the code returned; else `failure` has the reason. The GIL is as before.
  bool run(void** slots) {
    if (code_.polls()) runtime::watch_length(context_);
    const runtime::Status status = call_.run(code_.function(), slots);
    gil_.restore();
    if (has_raised()) [[unlikely]]
      return keep_raised();
    return status == 0;
  }
  /// (kind, message, sites, pending exception or None, what it is made of or None), the last as (number,
  /// values shown): see `ErrorSite::made`. Wants the GIL.
  nb::object failure() const;

 protected:
  /// `hooks` are in charge of what this is the user of, and outlive it.
  Execution(const Code& code, const runtime::Hooks& hooks)
      : code_(code.of_this_state()),
        attention_(code_.polls() ? runtime::Context::kLength : 0),
        context_(runtime::make_context(&attention_, &hooks, this)),
        call_(context_) {
    context_.functions = code_.functions();
  }

  static Execution& of(runtime::Context* context) { return *static_cast<Execution*>(context->user); }
  /// What a long call does, for `hooks`.
  static runtime::Status attend(runtime::Context* context);
  static void let_go(runtime::Context* context) { of(context).gil_.release(); }
  static bool may_leave_errands(runtime::Context* context);
  static runtime::Status run_errand(runtime::Context* context,
                                    const std::shared_ptr<runtime::Errand>& errand);

  /// The code is a device's.
  void set_device(devices::Device& device) { context_.device = &device; }

  Gil& gil() { return gil_; }
  runtime::Context& context() { return context_; }
  runtime::Call& call() { return call_; }

  /// Runs something with the GIL, in the floating-point state that the thread had outside; its changes of
  /// that state hold the next time, and after the call. Keeps what it raises until the end of the call.
  template <class Fn>
  runtime::Status with_gil(Fn&& fn) {
    gil_.hold();
    pending_.reset();
    if (has_raised()) [[unlikely]] {
      keep_raised();
      return context_.error.status;
    }
    runtime::Status status = 0;
    const OuterFloatState outer(call_.outer_state());
    try {
      resting_at_the_end(fn);
    } catch (const nb::python_error& error) {
      status = keep(nb::borrow<nb::object>(error.value()));
    } catch (const std::bad_alloc&) {
      status = keep(no_memory());
    }
    runtime::watch_length(context_);
    return status;
  }

 private:
  /// Whether one of SciPy's loops has set an exception of Python's, on this thread: by what
  /// `special.errstate` asks for, or where warnings are exceptions. It leaves the call before Python is
  /// called.
  bool has_raised() const { return code_.has_functions() && is_raising(); }

  /// The thread's floating-point state outside a call of compiled code, for the time of its life.
  class OuterFloatState {
   public:
    explicit OuterFloatState(base::FloatState& outer) : outer_(outer), inner_(base::FloatState::current()) {
      if (outer_ != inner_) outer_.set();
    }
    ~OuterFloatState() {
      outer_ = base::FloatState::current();
      if (outer_ != inner_) inner_.set();
    }
    OuterFloatState(const OuterFloatState&) = delete;
    OuterFloatState& operator=(const OuterFloatState&) = delete;

   private:
    base::FloatState& outer_;
    base::FloatState inner_;
  };

  static constexpr runtime::Hooks kHooks = {&Execution::attend, nullptr, &Execution::let_go,
                                            &Execution::may_leave_errands, &Execution::run_errand};

  void forget();
  static nb::object no_memory();
  /// Keeps the exception that is set: false.
  bool keep_raised();
  /// An exception that leaves the code: the status.
  runtime::Status keep(nb::object exception);

  const Code& code_;
  uint32_t attention_;  ///< what the call polls
  runtime::Context context_;
  runtime::Call call_;
  nb::object pending_;
  Gil gil_;
};

}  // namespace ingot::bindings
