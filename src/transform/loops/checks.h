#pragma once

#include <memory>

#include "base/machine.h"
#include "ir/function.h"

namespace ingot::transform {

/// Takes checks out of loops. At the loop stage, after `simplify`; leaves unused comparisons for `dce`.
///
/// The results of index arithmetic are bounded by intervals, from the counts of the loops around: a loop
/// becomes `if c {loop without them} else {loop}`, where c, computed before the loop, states that none of
/// these checks would fail. An index that may count from the end loses that case too. Outer loops are taken
/// first; a loop in a version without checks may be divided again for the checks that are left, one in the
/// careful version is not.
///
/// Where other checks are all that keeps a loop from running in lanes - or, on devices, all of its iterations
/// from running at once - and its early checks (EarlyChecks) are these, its iterations run in strips: each
/// makes its early checks for all of its iterations first, writing nothing, and then runs them without these
/// checks or, if one would fail, as they were, from the strip's first iteration on. So what is observable -
/// the writes before an exception, and which check raises it - is unchanged.
std::unique_ptr<ir::Function> checks(const ir::Function& function, const base::Machine& machine);

}  // namespace ingot::transform
