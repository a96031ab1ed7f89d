#pragma once

#include <memory>

#include "ir/function.h"

namespace ingot::transform {

/// Takes checks out of loops: a loop becomes `if c {loop without them} else {loop}`, where c, found before
/// the loop, says that none of them would fail. The values of index arithmetic are bounded by intervals, from
/// the counts of the loops around; an index that may count from the end loses that case too. At the loop
/// stage, after `simplify`; leaves comparisons that nobody needs, for `dce`.
///
/// Outer loops are taken first; a loop in a version without checks may be divided again for the checks that
/// are left, one in the careful version is not.
std::unique_ptr<ir::Function> checks(const ir::Function& function);

}  // namespace ingot::transform
