#pragma once

#include <memory>

#include "ir/function.h"

namespace ingot::transform {

/// Loops whose iterations each touch a part of an array of their own, as `for k in ...: row[begin(k) :
/// end(k)] += x[k]`, of which it is not known that these parts are disjoint. Of functions that run on a
/// device, at the loop stage, after `checks`.
///
/// Such a loop becomes `if c {loop} else {loop as it was}`. c, computed by a launch before it, states that
/// each part begins where the one before ends, or later; in the first loop the iterations are independent.
std::unique_ptr<ir::Function> spans(const ir::Function& function);

}  // namespace ingot::transform
