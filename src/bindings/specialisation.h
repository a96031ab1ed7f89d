#pragma once

#include <nanobind/nanobind.h>

#include "bindings/code.h"
#include "bindings/guards.h"
#include "bindings/results.h"
#include "bindings/signature.h"

namespace ingot::bindings {

/// What is known of a function compiled for arguments of one description. The base of
/// `ingot._specialisation`'s class.
class Specialisation {
 public:
  /// `errors`: of what the exceptions are made that its code raises. `is_direct`: it calls nothing of
  /// Python's, and changes no containers of the caller.
  Specialisation(const nb::tuple& guards, const nb::tuple& result, nb::list errors, bool is_direct);

  const Guards& guards() const { return guards_; }
  const nb::list& errors() const { return errors_; }

  /// The object of `Code`, once there is one; None.
  nb::object loaded() const { return loaded_.is_valid() ? loaded_ : nb::none(); }
  /// The first code stays, since threads may be in it: of two that compile at once, the other's goes.
  void load(nb::object code);

  /// Whether `call` can make calls with such arguments.
  bool is_callable(const Signature& arguments) const {
    return is_direct_ && code_ != nullptr && arguments.leaves().size() == code_->params().size();
  }
  /// What the function returns. Throws what it raises. Guards hold, and the arguments are of its description.
  nb::object call(const Signature& arguments) const;

  /// For Python's collector (collected.h).
  int traverse(visitproc visit, void* arg) const;
  void clear();

  /// Adds the class to the extension.
  static void bind(nb::module_& m);

 private:
  Guards guards_;
  ResultPlan result_;
  nb::list errors_;
  nb::object loaded_;
  const Code* code_ = nullptr;
  bool is_direct_;
};

}  // namespace ingot::bindings
