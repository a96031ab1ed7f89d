#pragma once

#include <memory>

#include "base/machine.h"
#include "ir/function.h"

namespace ingot::transform {

/// Elements of an array are computed where they are read, and the array is not stored (rematerialization): a
/// reduction in blocks, or a loop of the user's, goes through `x * y` without having it in memory. At the
/// loop stage, after `checks`.
///
/// An array is taken that is made in the region of a nest which stores each of its elements once and does
/// nothing else, that only loads after the nest use, and whose elements are made by pure ops of what is in
/// memory that nothing writes in between. It pays where the loops that read most are shown to read no element
/// twice, and less memory is touched than with the array; ops that cost much are only done once an element,
/// in lanes if the nest has them. Loops that are nested less than others are taken to read the rest of what
/// blocks leave; where ops cost much, only if their indices step with their iterations. Of small arrays of
/// known size, which the cache holds, only copies are taken. Values are computed by the same ops as before.
std::unique_ptr<ir::Function> rematerialize(const ir::Function& function, const base::Machine& machine);

}  // namespace ingot::transform
