#include "driver/loop_report.h"

#include "transform/analyses/obstacles.h"

namespace ingot::driver {

namespace {

std::optional<base::SourceLocation> location_of(const ir::Function& function, const ir::Module& module,
                                                ir::NodeId node) {
  const std::vector<base::Site> sites = module.sites(function[node].span);
  if (sites.empty()) return std::nullopt;
  return sites.front().location;
}

}  // namespace

std::vector<LoopReport> report_loops(const ir::Module& module) {
  std::vector<LoopReport> all;
  for (uint32_t i = 0; i < module.function_count(); ++i) {
    const ir::Function* const function = module.function(ir::FunctionId(i));
    if (function == nullptr) continue;
    const auto reason = [&](const std::optional<transform::Obstacle>& obstacle) -> std::optional<Reason> {
      if (!obstacle) return std::nullopt;
      return Reason{std::string(name_of(obstacle->kind)), obstacle->what,
                    location_of(*function, module, obstacle->node).value_or(base::SourceLocation()),
                    location_of(*function, module, obstacle->other).value_or(base::SourceLocation())};
    };
    for (const transform::LoopObstacles& loop : transform::obstacles_of(*function)) {
      if (const auto location = location_of(*function, module, loop.loop))
        all.push_back({*location, reason(loop.lanes), reason(loop.threads)});
    }
  }
  return all;
}

}  // namespace ingot::driver
