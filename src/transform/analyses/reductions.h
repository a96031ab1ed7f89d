#pragma once

#include <optional>

#include "base/scalar.h"
#include "ir/function.h"

namespace ingot::transform {

/// The op by which the iterations of a `for` combine the i-th value that it carries with something of their
/// own: `v = v op x`, also `v - x` (whose op is `add`), several of them in a row, or in some branches only,
/// in which a bool may become what no later iteration changes. None if an iteration does something else with
/// it. After `simplify`. `checked`: checks that what is combined does not overflow are ignored.
///
/// Where the carried value is replaced by the identity of the op - or, if the op has none, `v op x` by x - an
/// iteration yields its contribution.
std::optional<ir::Op> reduction_of(const ir::Function& function, ir::NodeId loop, size_t i,
                                   bool checked = false);

/// How the iterations of a `for` can deal with a value that it carries, so that they do not wait for each
/// other.
struct Carried {
  enum class Way : uint8_t {
    Passed,    ///< no iteration changes it
    Combined,  ///< as in `reduction_of`
    Counted,   ///< a Python int that grows by small constants, whose sum is checked once
    Extreme,   ///< the largest or smallest by comparison: NaN never wins, of equal ones one is kept
    Selected,  ///< as in `selections_of`
    InOrder,   ///< Python ints whose sums are checked: the iterations run one after the other
  };
  Way way = Way::Passed;
  ir::Op combiner = ir::Op::add;
  /// What replaces it where an iteration yields its contribution; none: `v op x` is replaced by x.
  std::optional<base::Scalar> neutral = {};
  ir::NodeId check = {};     ///< one of a `Counted` number
  bool last_stands = false;  ///< of equal extremes, not the first
  bool nan_stands = false;   ///< until the next iteration, whatever was there: `m = max(x, m)`
};

/// The kind of a value that becomes a candidate where a comparison of the two decides so: `first`: the
/// candidate is its first operand; `swapped`: it is taken where the comparison fails.
Carried extreme_of(ir::Op comparison, bool first, bool swapped, base::DType dtype);
/// Of an `Extreme`: the comparison of what is new with what is there.
ir::Op comparison_of(const Carried& extreme);
/// An integer that becomes what is smaller or larger, by `minimum` or `maximum`.
Carried extreme_of(ir::Op combiner, base::DType dtype);

/// None: the iterations depend on each other. After `simplify`.
std::optional<Carried> carried_of(const ir::Function& function, ir::NodeId loop, size_t i);

}  // namespace ingot::transform
