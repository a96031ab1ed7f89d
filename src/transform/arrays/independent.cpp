#include "transform/arrays/independent.h"

#include "ir/annotation.h"
#include "ir/loops.h"
#include "ir/walk.h"
#include "transform/analyses/dependence.h"

namespace ingot::transform {

namespace {

using ir::Function;
using ir::NodeId;
using ir::Op;
using ir::Schedule;

/// Whether a loop runs in order as far as is known, and its iterations have arrays, or parts of arrays; of
/// others `find_race` sees as much later.
bool is_over_rows(const Function& f, NodeId loop) {
  const bool is_plain = f.op(loop) == Op::for_ && !ir::is_careful(f, loop) && f.result_count(loop) == 0 &&
                        ir::schedule_of(f, loop) == Schedule::Serial;
  return is_plain && f.op(f.terminator(f.region(loop))) == Op::yield &&
         ir::any_within(f, f.region(loop), [&](NodeId node) { return f.type(node).is_view(); });
}

}  // namespace

std::unique_ptr<Function> independent(const Function& function) {
  ir::Annotation annotation(function);
  bool any = false;
  ir::walk(function, function.body(), [&](NodeId node) {
    if (function.op(node) == Op::launch) return ir::Walk::Past;
    if (!is_over_rows(function, node) || find_race(function, node)) return ir::Walk::Into;
    annotation.set(node, 0, static_cast<int64_t>(Schedule::Independent));
    any = true;
    return ir::Walk::Into;
  });
  return any ? annotation.finish() : nullptr;
}

}  // namespace ingot::transform
