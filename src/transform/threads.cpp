#include "transform/threads.h"

#include <algorithm>

#include "ir/evaluate.h"
#include "ir/function.h"
#include "ir/walk.h"
#include "transform/rewriter.h"

namespace ingot::transform {

namespace {

/// Loops of so few iterations, known while compiling, are left for the loops inside them.
constexpr int64_t kFewIterations = 8;
/// ... and of so few, at most, where there are none inside: that is less than one piece.
constexpr int64_t kShort = 1024;

/// Whether no thread has to run the first iteration once more, to have what its reductions start from.
bool has_identities(const Function& f, NodeId loop) {
  const auto combiners = f.ints(loop);
  for (size_t i = 0; i < combiners.size(); ++i) {
    const DType dtype = f.type(f.operand(loop, i + 1)).dtype();
    const bool ordered = base::is_float(dtype) || base::is_complex(dtype);
    if (ordered && !ir::identity_of(static_cast<Op>(combiners[i]), dtype)) return false;
  }
  return true;
}

class Sharer : public Rewriter {
 public:
  explicit Sharer(const Function& source) : Rewriter(source), chosen_(source.node_count()) {
    ir::walk(source, source.body(), [&](NodeId node) {
      if (source.op(node) == Op::launch) return ir::Walk::Past;
      std::vector<Table> tables;
      chosen_[node.index] =
          is_loop(node) && (is_asked(node) || !has_few_iterations(node)) && can_share(source, node, &tables);
      return chosen_[node.index] ? ir::Walk::Past : ir::Walk::Into;
    });
  }

 protected:
  void set_attributes(NodeId id, std::span<int64_t> attributes) override {
    if (!is_loop(id)) return;
    const ir::Schedule own = schedule_of(id);
    const bool undecided = own == ir::Schedule::Serial || own == ir::Schedule::Independent;
    if (undecided && !chosen_[id.index]) return;
    if (chosen_[id.index] && own == ir::Schedule::IndependentThreads) return;
    attributes[0] = static_cast<int64_t>(ir::cpu_schedule(chosen_[id.index], ir::has_lanes(own)));
  }

 private:
  bool is_loop(NodeId node) const {
    return source_.op(node) == Op::for_ || source_.op(node) == Op::parallel_for;
  }
  ir::Schedule schedule_of(NodeId loop) const {
    return static_cast<ir::Schedule>(source_.attribute(loop, 0));
  }
  bool is_asked(NodeId loop) const { return ir::has_threads(schedule_of(loop)); }
  bool has_few_iterations(NodeId loop) const {
    NodeId count = source_.operand(loop, 0);
    const bool is_known = source_.is_constant(count);
    if (is_known && source_.constant(count).as<int64_t>() < kFewIterations) return true;
    if (source_.op(count) == Op::minimum) count = source_.operand(count, 1);
    return source_.is_constant(count) && source_.constant(count).as<int64_t>() <= kShort &&
           !ir::has_loop(source_, source_.region(loop));
  }
  std::vector<bool> chosen_;
};

}  // namespace

bool can_share(const ir::Function& f, NodeId loop, std::vector<Table>* tables) {
  const bool is_asked = ir::has_threads(static_cast<ir::Schedule>(f.attribute(loop, 0)));
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
  if (f.is_constant(count) && f.constant(count).as<int64_t>() < kFewIterations)
    return Obstacle(ObstacleKind::FewIterations, loop);
  std::vector<Table> tables;
  if (can_share(f, loop, &tables)) return std::nullopt;
  const bool is_asked = ir::has_threads(static_cast<ir::Schedule>(f.attribute(loop, 0)));
  if (std::optional<Obstacle> found = obstacle_in(f, f.region(loop), is_asked)) return found;
  if (f.result_count(loop) > 0) return Obstacle(ObstacleKind::Carried, loop);
  if (const std::optional<Conflict> race = find_race(f, loop))
    return Obstacle(race->reason, race->first, race->second);
  return Obstacle(ObstacleKind::SameMemory, loop);
}

bool only_checks(const ir::Function& f, NodeId loop) {
  if (f.op(loop) != Op::for_ || f.result_count(loop) > 0 || f.attribute(loop, 1) == 1) return false;
  const ir::Effects effects = ir::effects_of(f, loop);
  const ir::Effects allowed = ir::effect::Read | ir::effect::Raise;
  return effects.any(ir::effect::Raise) && (effects.bits & ~allowed.bits) == 0 &&
         !ir::has_loop(f, f.region(loop)) && f.op(f.terminator(f.region(loop))) == Op::yield;
}

std::unique_ptr<ir::Function> threads(const ir::Function& function) { return Sharer(function).run(); }

}  // namespace ingot::transform
