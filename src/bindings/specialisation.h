#pragma once

#include <nanobind/nanobind.h>

#include <span>

#include "bindings/cells.h"
#include "bindings/code.h"
#include "bindings/described.h"
#include "bindings/guards.h"
#include "bindings/signature.h"
#include "devices/recording.h"

namespace ingot::bindings {

/// What is known of a function compiled for arguments of one description. The base of
/// `ingot._calls.specialisation`'s class.
class Specialisation {
 public:
  /// `errors`: of what the exceptions are made that its code raises. `is_direct`: it calls nothing of
  /// Python's, and changes no containers of the caller.
  Specialisation(const nb::tuple& guards, Description result, nb::list errors, bool is_direct);

  const Guards& guards() const { return guards_; }
  const nb::list& errors() const { return errors_; }

  /// The object of `Code`, once there is one; None.
  nb::object loaded() const { return loaded_.is_valid() ? loaded_ : nb::none(); }
  /// The first code stays: of two threads that compile at once, the other's goes.
  void load(nb::object code);
  /// Calls from now on are those of better code; those that are under way keep what they have.
  void improve(nb::object code);
  /// Has the method `_has_run` called once, when calls have taken so many seconds from now on.
  void watch(double seconds);
  /// Some have taken so long elsewhere.
  void add_run(double seconds);

  /// From now on `call` makes its calls of the host, too, by `HostCalls`, or None; and changes the caller's
  /// containers, of these layouts (see Cells), or None of them. Where there are other calls, they are made by
  /// what the method `_host_of` gives, which returns what they raise, and `keeps` is as `Outside` has it;
  /// None: there are none.
  void call_directly(nb::object calls, nb::object layouts, nb::object keeps);

  /// Whether `call` can make calls with such leaves.
  bool is_callable(std::span<PyObject* const> leaves) const {
    if (!is_direct_ || code_ == nullptr) return false;
    if (!layouts_.is_valid()) return leaves.size() == code_->params().size();
    const size_t cells = Cells::kArrays * nb::len(layouts_);
    return leaves.size() + cells == code_->params().size() && devices::Recording::of_thread() == nullptr;
  }
  /// What the function returns. Throws what it raises. Guards hold, and the arguments are of its description.
  nb::object call(const Given& arguments) const;

  /// How many calls were made.
  int64_t calls() const { return call_count_; }
  /// One is made elsewhere.
  void add_call() { ++call_count_; }

  /// For Python's collector (collected.h).
  int traverse(visitproc visit, void* arg) const;
  void clear();

  /// Adds the class to the extension.
  static void bind(nb::module_& m);

 private:
  Guards guards_;
  Description result_;
  nb::list errors_;
  void report_run(int64_t run) const;

  nb::object loaded_;
  const Code* code_ = nullptr;
  mutable int64_t call_count_ = 0;
  mutable int64_t ticks_left_ = 0;  ///< of the processor's clock; 0: nobody waits for it
  bool is_direct_;
  nb::object calls_;    ///< of `call_directly`; so is
  nb::object keeps_;    ///< ...
  nb::object layouts_;  ///< a tuple; invalid: no container is changed
};

}  // namespace ingot::bindings
