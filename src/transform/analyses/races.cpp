#include "transform/analyses/races.h"

#include <map>
#include <string>
#include <vector>

#include "base/refused.h"
#include "transform/analyses/dependence.h"

namespace ingot::transform {

using ir::Function;
using ir::NodeId;

namespace {

void refuse(const Function& f, NodeId loop, const Conflict& conflict) {
  using Kind = Conflict::Kind;
  const auto location_of = [&](NodeId node) { return f.module().location(f[node].span); };
  const auto sites_of = [&](NodeId node) { return f.module().sites(f[node].span); };
  const auto refuse_at = [&](NodeId node, base::Unsupported refusal) {
    refusal.sites = sites_of(node);
    throw base::Refused(std::move(refusal), base::Refusal::Race);
  };
  if (conflict.kind == Kind::Leaving)
    refuse_at(loop,
              base::Unsupported(location_of(loop), "a prange loop that an iteration leaves",
                                "use range; or let all iterations run, and keep the first one that finds "
                                "something, as by `first = min(first, i)`"));
  const base::SourceLocation first = location_of(conflict.first);
  if (conflict.kind == Kind::Drawing)
    refuse_at(conflict.first, base::Unsupported(first, "a prange loop whose iterations draw random numbers",
                                                "use range; or draw them before the loop, as an array: "
                                                "`noise = rng.random(n)`, and `noise[i]` in the loop"));
  const base::SourceLocation second = location_of(conflict.second);
  const bool is_one = first == second;
  const bool are_elements = conflict.kind == Kind::Elements;
  const bool is_carried = conflict.kind == Kind::Carried;
  std::string reason = conflict.reason;
  if (is_carried) reason += "{0.carried}";
  if (are_elements) reason = is_one ? "{} may be one element in two of them" : "{} and {} may be one element";
  else if (first.line == second.line) reason += "; line " + std::to_string(first.line);
  else reason += "; lines " + std::to_string(first.line) + " and " + std::to_string(second.line);
  base::Unsupported refusal(first, "a prange loop whose iterations may depend on each other (" + reason + ")",
                            "use range, or let each iteration write to elements of its own");
  if (are_elements || is_carried) refusal.quoted.push_back(sites_of(conflict.first));
  if (are_elements && !is_one) refusal.quoted.push_back(sites_of(conflict.second));
  refuse_at(conflict.first, std::move(refusal));
}

}  // namespace

void refuse_races(const Function& function) {
  for (uint32_t i = 0; i < function.node_count(); ++i) {
    const NodeId loop(i);
    if (!is_over_prange(function, loop)) continue;
    std::vector<Accumulation> meeting;
    std::vector<Table> tables;
    std::map<NodeId, int64_t> assumed;
    if (const auto conflict = find_race(function, loop, meeting, tables, &assumed))
      refuse(function, loop, *conflict);
  }
}

}  // namespace ingot::transform
