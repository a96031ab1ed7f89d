#pragma once

#include <memory>

#include "base/machine.h"
#include "ir/function.h"

namespace ingot::transform {

/// Runs several iterations of a loop at once (unroll and jam), where they would each fetch the same vectors:
/// a product of matrices as three loops fetches a row of the second for several rows of the first; and where
/// they each sum floats one after the other, which several sums need not wait for. At the loop stage, after
/// `threads`.
///
/// A loop is taken if its iterations are shown to be independent (`find_race`), it carries nothing, and what
/// is in it is operations on scalars, views, loads, stores and loops of counts that all iterations share; of
/// these one is a vector loop, in which a loop that carries values of the iteration loads neighbours that all
/// iterations share, or one is a loop that does little but to sum floats. So many iterations are taken at
/// once as the carried values leave registers for; what remains of the iterations runs as before. Each value
/// is computed from the same operands in the same order as before.
std::unique_ptr<ir::Function> jam(const ir::Function& function, const base::Machine& machine);

}  // namespace ingot::transform
