#pragma once

#include <string>
#include <vector>

#include "ir/function.h"

namespace ingot::ir {

/// What holds of every function between two passes, one number each; a fault names the number, the node and
/// its text.
///
///  1. Every region is non-empty and ends with its only terminator; parameters come first, numbered in
///     order.
///  2. A node's operands are older and reach it (`Function::reaches`): definitions dominate uses.
///  3. A node's type is what `infer` derives from its operands and attributes.
///  4. Attributes follow the card's schema: enumerations in range, axes ascending, strings and functions
///     exist.
///  5. `result` nodes follow their node at once, one for each member, and occur nowhere else.
///  6. The op may occur at the stage the function is at: whole-array types and ops with Stage::Array
///     only before `to_loops`, ops with Stage::Loop only after.
///  7. if: both regions yield the node's types. for: parameters (i64, carried...) and yields carried.
///     while: the condition takes the inits' types and yields (bool, results...), the body takes the
///     results and yields the inits' types. parallel_for: parameter (i64), yields one contribution for
///     each combiner. block: its label is the region's only parameter, yields the node's types. share:
///     one loop, whose results it yields. launch: six i64 parameters, a shared buffer if it has a size for
///     it, yields nothing.
///  8. `exit`: its label's region encloses it, and it carries the block's types; labels are used by
///     nothing else.
///  9. No exit leaves a parallel_for or launch; `return_` occurs only at the end of the body, with the
///     function's result types.
/// 10. `barrier`, `vote`, `match`, `shuffle` and `active` occur in a launch. A barrier without a mask and a
///     vote of the block occur in uniform control flow: under no `if`, `while` or `for` whose condition or
///     count depends on the thread index (of all blocks: or the block's), on memory of the thread's own or on
///     an atomic, and not where an exit under such a condition may have led some threads past it that have
///     not ended.
/// 11. A node whose effects are more than Read and Allocate has a span, when the function has any span
///     at all.
/// 12. A shared buffer is allocated at the top of a launch region, of constant size.
/// 13. Every node belongs to the region that lists it; ids ascend in a region.
/// 14. The width of a loop of schedule vector or threads_vector is 0 (the machine's) or a power of two
///     up to 64. If it is not 1, a `for` carries nothing but cursors (cursor.h), and nothing in the loop
///     raises, leaves it or is observable outside.
/// 15. What the host alone runs (`host_only`) occurs in no launch, and takes no memory but the host's and
///     pinned one.
struct Fault {
  int invariant;
  NodeId node;  ///< none: the function as a whole
  std::string message;
};

/// `invariant 3 at node 5, %5 = ...: message`
std::string to_string(const Function& function, const Fault& fault);

/// All faults found, at most 20; faults of invariants 1 to 5 and 13 hide those of the others, which rely on
/// them. `stage` is the stage the function is taken to be at.
std::vector<Fault> verify(const Function& function, Stage stage);
/// Throws InternalError with the faults' text, blaming `after` (a pass's name).
void verify_or_throw(const Function& function, Stage stage, const std::string& after);

}  // namespace ingot::ir
