#pragma once

#include <memory>

#include "ir/function.h"

namespace ingot::transform {

/// Chooses the loops whose iterations threads may share: schedule `threads` or `threads_vector`. At the loop
/// stage, after `schedule`. Whether a loop has enough work for that is decided when it is entered.
///
/// A `for` can, if its iterations are shown to be independent (`find_race`) and it carries nothing; a
/// `parallel_for` can, if it only reads memory. Where iterations write at indices from tables, which are not
/// shown to be different (`Table`), `outline` has them compared when the loop is entered. A loop that may
/// raise is taken only if it is marked already (`prange`); other loops keep the order of their effects. Of
/// nested loops the outermost is taken; the others lose the mark if they have it.
std::unique_ptr<ir::Function> threads(const ir::Function& function);

}  // namespace ingot::transform
