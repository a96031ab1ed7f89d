#include "transform/analyses/thread_judge.h"

#include "ir/evaluate.h"
#include "ir/loops.h"
#include "ir/walk.h"

namespace ingot::transform {

using base::DType;
using ir::Function;
using ir::NodeId;
using ir::Op;

namespace {

/// Whether no thread has to run the first iteration once more, to have what its reductions start from.
bool has_identities(const Function& f, NodeId loop) {
  const auto combiners = f.ints(loop);
  for (size_t i = 0; i < combiners.size(); ++i) {
    const DType dtype = f.type(f.operand(loop, i + 1)).dtype();
    const auto combiner = static_cast<Op>(combiners[i]);
    if (ir::is_ordered(combiner, dtype) && !ir::identity_of(combiner, dtype)) return false;
  }
  return true;
}

}  // namespace

bool can_share(const ir::Function& f, NodeId loop, std::vector<Table>* tables) {
  const bool is_asked = ir::has_threads(ir::schedule_of(f, loop));
  const ir::Effects effects = ir::effects_of(f, loop);
  const bool may_raise = effects.any(ir::effect::Raise);
  if (may_raise && !is_asked) return false;
  if (effects.any(ir::effect::Exit | ir::effect::Host | ir::effect::Random)) return false;
  if (effects.any(ir::effect::Sync) && !is_asked) return false;  // else C's functions, see `find_race`
  if (f.op(loop) == Op::parallel_for) {
    const bool is_seen = effects.any(ir::effect::Write | ir::effect::Allocate);
    return is_asked ? !is_seen || has_identities(f, loop) : !is_seen;
  }
  if (f.result_count(loop) > 0) return false;
  if (tables == nullptr) return !find_race(f, loop);
  std::vector<Accumulation> meeting;
  return !find_race(f, loop, meeting, *tables) && meeting.empty();
}

std::optional<Obstacle> thread_obstacle(const ir::Function& f, NodeId loop) {
  const NodeId count = f.operand(loop, 0);
  if (f.is_constant(count) && f.constant(count).as<int64_t>() < kFewToShare)
    return Obstacle(ObstacleKind::FewIterations, loop);
  std::vector<Table> tables;
  if (can_share(f, loop, &tables)) return std::nullopt;
  const bool is_asked = ir::has_threads(ir::schedule_of(f, loop));
  if (std::optional<Obstacle> found = obstacle_in(f, f.region(loop), is_asked)) return found;
  if (f.result_count(loop) > 0) return Obstacle(ObstacleKind::Carried, loop);
  if (const std::optional<Conflict> race = find_race(f, loop))
    return Obstacle(race->reason, race->first, race->second);
  return Obstacle(ObstacleKind::SameMemory, loop);
}

bool only_checks(const ir::Function& f, NodeId loop) {
  if (f.op(loop) != Op::for_ || f.result_count(loop) > 0 || ir::is_careful(f, loop)) return false;
  const ir::Effects effects = ir::effects_of(f, loop);
  const ir::Effects allowed = ir::effect::Read | ir::effect::Raise;
  return effects.any(ir::effect::Raise) && (effects.bits & ~allowed.bits) == 0 &&
         !ir::has_loop(f, f.region(loop)) && f.op(f.terminator(f.region(loop))) == Op::yield;
}

}  // namespace ingot::transform
