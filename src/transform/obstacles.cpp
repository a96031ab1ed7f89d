#include "transform/obstacles.h"

#include "ir/walk.h"
#include "transform/lane_judge.h"
#include "transform/threads.h"

namespace ingot::transform {

std::optional<Obstacle> obstacle_in(const ir::Function& f, ir::RegionId region, bool may_raise) {
  std::optional<Obstacle> found;
  const auto say = [&](const char* what, ir::NodeId node) {
    found = {what, node, node};
    return ir::Walk::Stop;
  };
  ir::walk(f, region, [&](ir::NodeId node) {
    const ir::Effects effects = ir::info(f.op(node)).effects;
    if (f.op(node) == ir::Op::return_) return say("it is left before its end", node);
    if (effects.any(ir::effect::Control)) return ir::Walk::Into;
    if (!may_raise && effects.any(ir::effect::Raise)) return say("an iteration may raise", node);
    if (effects.any(ir::effect::Host)) return say("an iteration calls Python", node);
    if (effects.any(ir::effect::Random)) return say("an iteration draws random numbers", node);
    if (effects.any(ir::effect::Sync)) return say("an iteration calls C", node);
    return ir::Walk::Into;
  });
  if (!found) {
    ir::walk(f, region, [&](ir::NodeId node) {
      const bool leaves = f.op(node) == ir::Op::exit_ && !f.encloses(region, f[f.operand(node, 0)].parent);
      return leaves ? say("it is left before its end", node) : ir::Walk::Into;
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
      const Obstacle own{"how many iterations it has is not known before", node, node};
      all.push_back({node, own, own});
    }
    if (op == ir::Op::for_ || op == ir::Op::parallel_for)
      all.push_back({node, lane_obstacle(function, node), thread_obstacle(function, node)});
    return ir::Walk::Into;
  });
  return all;
}

}  // namespace ingot::transform
