#pragma once

#include <memory>

#include "ir/function.h"

namespace ingot::transform {

/// Chooses the loops that run as vector code: schedule `vector` (`threads_vector` of one that threads share)
/// of width 0, which is the machine's width. At the loop stage, after `simplify`.
///
/// A loop can, if its iterations are shown to be independent (`find_race`), it carries only cursors
/// (ir/cursor.h), and lanes can run all that is in it: operations on scalars, loads and stores, branches,
/// loops and exits to labels inside; nothing that may raise or leave. Loops that lanes leave after different
/// iterations must compute more than they gather. Of nested loops the innermost are taken if all of them can;
/// else the next one outside that can. Where none can, a `for` that carries nothing but reductions becomes a
/// parallel loop, if their value is the same in any order or the function's relaxations allow another; such
/// loops over rows of memory are preferred to a loop around them whose lanes would be in different rows. Of
/// the other loops, a `for` whose accesses keep their order in lanes if `keeps_order` holds gets two
/// versions, chosen by that.
std::unique_ptr<ir::Function> schedule(const ir::Function& function);

}  // namespace ingot::transform
