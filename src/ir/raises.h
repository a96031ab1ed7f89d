#pragma once

#include <vector>

#include "base/exception.h"
#include "ir/function.h"

namespace ingot::ir {

/// What decides whether a function raises.
enum class RaiseDepends : uint8_t {
  Never,     ///< on nothing: it always does, or never
  Lengths,   ///< on the lengths of arrays
  Numbers,   ///< on numbers among the arguments, and perhaps on lengths
  Elements,  ///< perhaps on elements of arrays, or on what is computed of them
};

/// An exception that a function looks for.
struct MayRaise {
  base::ExceptionKind kind;
  RaiseDepends depends;
};

/// All exceptions that a call of the entry may raise by `check` and `raise`, its callees' included, which
/// count as dependent on elements. At the array stage.
std::vector<MayRaise> may_raise(const Module& module, FunctionId entry);

}  // namespace ingot::ir
