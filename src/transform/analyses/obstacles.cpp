#include "transform/analyses/obstacles.h"

#include <iterator>

#include "ir/walk.h"
#include "transform/analyses/lane_judge.h"
#include "transform/analyses/thread_judge.h"

namespace ingot::transform {

namespace {

struct Words {
  std::string_view name;
  std::string_view words;
};

/// In the order of `ObstacleKind`.
constexpr Words kWords[] = {
    {"carried", "an iteration uses what the one before gave"},
    {"float order", "its floats are summed in the written order (fastmath=\"reassoc\" allows any)"},
    {"kept", "it keeps what its iterations give"},
    {"few iterations", "it has few iterations"},
    {"unknown count", "how many iterations it has is not known before"},
    {"calls Python", "an iteration calls Python"},
    {"calls C", "an iteration calls C"},
    {"draws", "an iteration draws random numbers"},
    {"may raise", "an iteration may raise"},
    {"makes an array", "an iteration makes an array"},
    {"own array", "an iteration works on an array of its own"},
    {"left", "it is left before its end"},
    {"inner loop", "it contains a loop that runs otherwise"},
    {"inner left", "a loop in it is left amid its condition"},
    {"uneven", "iterations end after different times, and fetch more than they compute"},
    {"repeated write", "what it writes may be at two indices of an array"},
    {"stores in turn", "it stores one after another what is no number"},
    {"same memory", "iterations add to the same memory"},
    {"conflict", ""},
};
static_assert(std::size(kWords) == static_cast<size_t>(ObstacleKind::Conflict) + 1);

}  // namespace

std::string_view name_of(ObstacleKind kind) { return kWords[static_cast<size_t>(kind)].name; }

std::string_view words_of(ObstacleKind kind) { return kWords[static_cast<size_t>(kind)].words; }

std::optional<Obstacle> obstacle_in(const ir::Function& f, ir::RegionId region, bool may_raise) {
  std::optional<Obstacle> found;
  const auto say = [&](ObstacleKind kind, ir::NodeId node) {
    found.emplace(kind, node);
    return ir::Walk::Stop;
  };
  ir::walk(f, region, [&](ir::NodeId node) {
    const ir::Effects effects = ir::info(f.op(node)).effects;
    if (f.op(node) == ir::Op::return_) return say(ObstacleKind::Left, node);
    if (effects.any(ir::effect::Control)) return ir::Walk::Into;
    if (!may_raise && effects.any(ir::effect::Raise)) return say(ObstacleKind::MayRaise, node);
    if (effects.any(ir::effect::Host)) return say(ObstacleKind::CallsPython, node);
    if (effects.any(ir::effect::Random)) return say(ObstacleKind::Draws, node);
    if (effects.any(ir::effect::Sync)) return say(ObstacleKind::CallsC, node);
    return ir::Walk::Into;
  });
  if (!found) {
    ir::walk(f, region, [&](ir::NodeId node) {
      const bool leaves = f.op(node) == ir::Op::exit_ && !f.encloses(region, f.operand(node, 0));
      return leaves ? say(ObstacleKind::Left, node) : ir::Walk::Into;
    });
  }
  return found;
}

std::vector<LoopObstacles> obstacles_of(const ir::Function& function) {
  std::vector<LoopObstacles> all;
  ir::walk(function, function.body(), [&](ir::NodeId node) {
    const ir::Op op = function.op(node);
    if (op == ir::Op::launch) return ir::Walk::Past;
    if (op == ir::Op::while_) {
      const Obstacle own(ObstacleKind::UnknownCount, node);
      all.push_back({node, own, own});
    }
    if (ir::is_counted_loop(op))
      all.push_back({node, lane_obstacle(function, node), thread_obstacle(function, node)});
    return ir::Walk::Into;
  });
  return all;
}

}  // namespace ingot::transform
