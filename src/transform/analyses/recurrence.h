#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/scalar.h"
#include "ir/function.h"

namespace ingot::transform {

/// What gives back every value that it is combined with as the first operand, bit for bit; none: the combiner
/// has none for this dtype.
std::optional<base::Scalar> left_identity_of(ir::Op combiner, base::DType dtype);

/// A value that a `for` carries on by combining it with something of each iteration, which may use it.
struct Recurrence {
  ir::Op combiner;
  base::DType dtype;
  base::Scalar identity;  ///< an iteration that is given this yields what it combines the value with
  bool ordered;           ///< only one iteration after the other gives the same bits
  bool operator==(const Recurrence&) const = default;
};

/// What a `for` carries, if each of it is such a value: `s = s op x`, in some branches perhaps, also `s - x`.
/// Nothing of it decides what the values are combined with, nor what is loaded. None if an iteration does
/// something else with one. Memory is not looked at. After `simplify`.
std::optional<std::vector<Recurrence>> recurrences_of(const ir::Function& function, ir::NodeId loop);

/// Whether the iterations of a `for` depend on each other only in what it carries, which they combine; the
/// loop does nothing besides that is seen in the order of the iterations. (An iteration may raise.)
bool combines(const ir::Function& function, ir::NodeId loop);

}  // namespace ingot::transform
