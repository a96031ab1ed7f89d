#include "frontend/tracer/checkpoint.h"

#include "frontend/tracer/frame.h"
#include "frontend/tracer/python_objects.h"

namespace ingot::frontend {

Checkpoint checkpoint(Tracer& t, bool keeps_state) {
  std::vector<size_t> edges;
  edges.reserve(t.targets.size());
  for (const Target* target : t.targets) edges.push_back(target->edges.size());
  return {t.builder->mark(),      keeps_state ? std::optional(t.state) : std::nullopt,
          std::move(edges),       t.hosts.size(),
          t.unrolling.iterations, t.unrolling.ops};
}

void go_back(Tracer& t, const Checkpoint& point) {
  t.builder->roll_back(point.mark);
  if (point.state) t.state = *point.state;
  for (size_t i = 0; i < point.edges.size(); ++i) {
    t.targets[i]->edges.erase(t.targets[i]->edges.begin() + static_cast<ptrdiff_t>(point.edges[i]),
                              t.targets[i]->edges.end());
  }
  t.unrolling.iterations = point.unrolled_iterations;
  t.unrolling.ops = point.unrolled_ops;
  t.hosts.resize(std::max(point.hosts, t.kept_hosts));
  std::erase_if(t.loop_indices, [&](const auto& entry) { return entry.first >= point.mark.nodes; });
}

std::string key_of(const Tracer& t, nb::handle node) {
  return t.frame->path + "/" + text_of(node.attr("lineno")) + ":" + text_of(node.attr("col_offset"));
}

void forget(Tracer& t, const std::string& suffix) {
  std::erase_if(t.state.locals, [&](const auto& entry) { return entry.first.ends_with(suffix); });
}

std::string suffix_of(const Tracer& t, nb::handle node) {
  return "@" + text_of(node.attr("lineno")) + ":" + text_of(node.attr("col_offset")) + t.frame->suffix;
}

}  // namespace ingot::frontend
