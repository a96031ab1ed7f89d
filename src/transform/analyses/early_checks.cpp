// Values kept. Where iterations wait for each other - a sum in the written order, a histogram - `checks`
// divides the iterations themselves (`EarlyChecks::values`): what an iteration computes from its index and
// from memory that no iteration writes, with the checks that this needs, is computed for a strip of 128
// iterations in lanes and kept in buffers; then the iterations run one after another with what is left of
// them. So a strict sum of exponentials takes the time of its additions. It is done where what is kept takes
// long, fetches from anywhere counting for nothing; not in loops that only count, which become reductions
// once their checks are gone; not where iterations do not wait and are for threads; and not where a loop
// around has the better lanes, that is, lanes that are contiguous in memory. Buffers of at most 8 KiB, of a
// size known when compiling, that only loads and stores use are on the stack (64 KiB of a function's, at
// most).

#include "transform/analyses/early_checks.h"

#include <algorithm>
#include <numeric>

#include "ir/walk.h"

namespace ingot::transform {

namespace {

/// Each phase goes through the iterations of a strip once more.
constexpr size_t kMostPhases = 4;
/// What takes no longer than this is computed again rather than kept.
constexpr int kLight = 2;

}  // namespace

std::optional<size_t> raising_arm(const Function& function, NodeId node) {
  if (function.op(node) != Op::if_) return std::nullopt;
  for (size_t arm = 0; arm < 2; ++arm)
    if (function.op(function.terminator(function.region(node, arm))) == Op::raise &&
        function.op(function.terminator(function.region(node, 1 - arm))) == Op::yield)
      return arm;
  return std::nullopt;
}

EarlyChecks::EarlyChecks(const Function& function, NodeId loop, const std::vector<bool>& gone,
                         bool independent, bool ragged)
    : f_(function),
      loop_(loop),
      body_(function.region(loop)),
      order_(function.node_count()),
      gone_(gone),
      independent_(independent),
      ragged_(ragged) {
  survey(body_);
  if (jumps_) return;
  std::erase_if(found_, [&](NodeId check) { return gone[check.index]; });
  for (NodeId check : found_) {
    sources_of_check_[check.index] = sources({{f_.operand(check, 0)}});
    take(check);
  }
}

bool EarlyChecks::is_made_in(size_t phase, NodeId check) const {
  const auto found = phase_of_check_.find(check.index);
  return found != phase_of_check_.end() && found->second == phase;
}

void EarlyChecks::survey(RegionId region) {
  for (NodeId node : f_.region_body(region)) {
    order_[node.index] = next_++;
    const Op op = f_.op(node);
    const bool counts = ir::is_counted_loop(op);
    const bool is_ragged = counts && f_.encloses(body_, f_.operand(node, 0));
    jumps_ = jumps_ || op == Op::while_ || (is_ragged && !(ragged_ && !has_checks(node))) ||
             ir::info(op).effects.any(ir::effect::Exit);
    const std::optional<size_t> raises = raising_arm(f_, node);
    if (f_.op(node) == Op::check || raises) found_.push_back(node);
    for (size_t i = 0; i < f_[node].region_count; ++i)
      if (i != raises) survey(f_.region(node, i));
    if (!ir::info(f_.op(node)).effects.any(ir::effect::Write | ir::effect::Sync)) continue;
    const auto operands = f_.operands(node);
    const ir::Effects wide = ir::effect::Host | ir::effect::Raise | ir::effect::Sync;
    const bool is_known =
        !operands.empty() && f_.type(operands[0]).is_view() && !ir::info(f_.op(node)).effects.any(wide);
    if (is_known) writes_.push_back(node);
    else writes_anything_ = true;
  }
}

/// Whether a load gives what it would have given before the iterations began. (Where they are independent,
/// other iterations write elsewhere.)
bool EarlyChecks::is_unwritten(NodeId load) const {
  if (writes_anything_) return false;
  const Root root = root_of(f_, f_.operand(load, 0));
  return std::ranges::none_of(writes_, [&](NodeId write) {
    return (!independent_ || may_precede(write, load)) &&
           may_overlap(f_, root, root_of(f_, f_.operand(write, 0)));
  });
}

/// In one iteration: the write is before the load, or comes again in a loop around both.
bool EarlyChecks::may_precede(NodeId write, NodeId load) const {
  if (order_[write.index] < order_[load.index]) return true;
  for (RegionId region = f_[load].parent; region != body_; region = f_[f_[region].owner].parent) {
    const Op op = f_.op(f_[region].owner);
    const bool repeats = op != Op::if_ && op != Op::block;
    if (repeats && f_.encloses(region, write)) return true;
  }
  return false;
}

/// Adds what a value is computed from; false: it cannot be computed before the iterations run.
bool EarlyChecks::gather(NodeId value, Cone& cone) const {
  if (!f_.encloses(body_, value) || std::ranges::find(cone.nodes, value) != cone.nodes.end()) return true;
  const ir::OpInfo& card = ir::info(f_.op(value));
  if (f_.op(value) == Op::param) return gather_parameter(value, cone);
  if (f_.op(value) == Op::result) return gather(f_.operand(value, 0), cone);
  if (f_.op(value) == Op::if_) return gather_branch(value, cone);
  const bool is_load = f_.op(value) == Op::load && is_unwritten(value);
  if (!is_load && (!card.effects.pure() || card.regions > 0 || card.terminator)) return false;
  cone.nodes.push_back(value);
  if (is_load) cone.loads.push_back(value);
  return std::ranges::all_of(f_.operands(value), [&](NodeId operand) { return gather(operand, cone); });
}

/// Of parameters, the indices of loops.
bool EarlyChecks::gather_parameter(NodeId parameter, Cone& cone) const {
  const NodeId owner = f_[f_[parameter].parent].owner;
  const bool counts = ir::is_counted_loop(f_.op(owner));
  return counts && f_.attribute(parameter, 0) == 0 && (owner == loop_ || gather(f_.operand(owner, 0), cone));
}

/// All that is in a branch without effects, but for its checks.
bool EarlyChecks::gather_branch(NodeId branch, Cone& cone) const {
  cone.nodes.push_back(branch);
  if (!gather(f_.operand(branch, 0), cone)) return false;
  for (size_t i = 0; i < 2; ++i)
    for (NodeId node : f_.region_body(f_.region(branch, i))) {
      if (f_.op(node) == Op::check) continue;
      if (f_.op(node) != Op::yield && !gather(node, cone)) return false;
      for (NodeId operand : f_.operands(node))
        if (!gather(operand, cone)) return false;
    }
  return true;
}

/// The conditions that decide whether an iteration reaches a check.
bool EarlyChecks::gather_way(NodeId check, Cone& cone) const {
  for (RegionId region = f_[check].parent; region != body_; region = f_[f_[region].owner].parent) {
    const NodeId owner = f_[region].owner;
    const Op op = f_.op(owner);
    if (op != Op::if_ && op != Op::for_ && op != Op::parallel_for) return false;
    if (f_.op(f_.terminator(region)) != Op::yield || !gather(f_.operand(owner, 0), cone)) return false;
  }
  return true;
}

/// The values that an index or a condition comes from: what it is computed from up to loads, and the counts
/// of the loops whose indices are in it. Where an index has none in common with the condition of a check, the
/// check does not show that it is in range.
std::vector<uint32_t> EarlyChecks::sources(std::span<const NodeId> values) const {
  std::vector<uint32_t> found;
  Nodes waiting(values.begin(), values.end());
  while (!waiting.empty()) {
    const NodeId node = waiting.back();
    waiting.pop_back();
    if (f_.is_constant(node) || std::ranges::find(found, node.index) != found.end()) continue;
    found.push_back(node.index);
    if (!f_.encloses(body_, node)) continue;
    const NodeId owner = f_.op(node) == Op::param ? f_[f_[node].parent].owner : NodeId();
    if (owner) waiting.push_back(f_.operand(owner, 0));
    if (f_.op(node) != Op::load) std::ranges::copy(f_.operands(node), std::back_inserter(waiting));
    for (size_t i = 0; i < f_[node].region_count; ++i)
      std::ranges::copy(f_.operands(f_.terminator(f_.region(node, i))), std::back_inserter(waiting));
  }
  std::ranges::sort(found);
  return found;
}

/// The first phase in which a load may be made; none: never.
std::optional<size_t> EarlyChecks::phase_of_load(NodeId load) {
  if (const auto known = phase_of_load_.find(load.index); known != phase_of_load_.end()) return known->second;
  const std::vector<uint32_t> own = sources(f_.operands(load));
  std::optional<size_t> phase = 0;
  for (NodeId check : found_) {
    if (order_[check.index] > order_[load.index]) break;
    std::vector<uint32_t> common;
    std::ranges::set_intersection(own, sources_of_check_[check.index], std::back_inserter(common));
    if (common.empty() || !phase) continue;
    const std::optional<size_t> before = phase_of_check_[check.index];
    phase = before ? std::optional(std::max(*phase, *before + 1)) : std::nullopt;
  }
  phase_of_load_[load.index] = phase;
  return phase;
}

void EarlyChecks::take(NodeId check) {
  std::optional<size_t>& phase = phase_of_check_[check.index];
  Cone cone;
  if (!gather(f_.operand(check, 0), cone) || !gather_way(check, cone)) return;
  size_t first = 0;
  for (NodeId load : cone.loads) {
    const std::optional<size_t> possible = phase_of_load(load);
    if (!possible) return;
    first = std::max(first, *possible);
  }
  if (first >= kMostPhases) return;
  phase = first;
  checks_.push_back(check);
  const std::vector<bool> none(f_.node_count());
  while (phases_.size() <= first) phases_.push_back({none, none});
  for (NodeId node : cone.nodes) phases_[first].needed[node.index] = true;
  for (NodeId node = f_[f_[check].parent].owner; node != loop_; node = f_[f_[node].parent].owner)
    phases_[first].around[node.index] = true;
}

/// By node: whether it is in the iteration itself and can be computed before, if all early checks hold.
std::vector<bool> EarlyChecks::early_nodes() {
  std::vector<bool> early(f_.node_count());
  early[f_.region_parameters(body_)[0].index] = true;
  for (NodeId node : f_.region_body(body_)) early[node.index] = is_early(node, early);
  return early;
}
bool EarlyChecks::is_early(NodeId node, const std::vector<bool>& early) {
  const auto is_known = [&](NodeId value) { return !f_.encloses(body_, value) || early[value.index]; };
  const ir::OpInfo& card = ir::info(f_.op(node));
  if (f_.op(node) == Op::result) return is_known(f_.operand(node, 0));
  if (f_.op(node) == Op::if_) {
    Cone cone;
    return gather(node, cone) && !has_other_checks(node) &&
           std::ranges::all_of(cone.loads, [&](NodeId load) { return phase_of_load(load).has_value(); });
  }
  if (!std::ranges::all_of(f_.operands(node), is_known)) return false;
  if (f_.op(node) == Op::load) return is_unwritten(node) && phase_of_load(node);
  return card.effects.pure() && card.regions == 0 && !card.terminator;
}

bool EarlyChecks::has_checks(NodeId node) const { return ir::effects_of(f_, node).any(ir::effect::Raise); }

/// Whether there are checks in a node that are neither early nor gone: they stay in the iteration, and the
/// node with them.
bool EarlyChecks::has_other_checks(NodeId node) const {
  return !ir::walk(f_, node, [&](NodeId inner) {
    return f_.op(inner) == Op::check && !is_left_out(inner) ? ir::Walk::Stop : ir::Walk::Into;
  });
}
bool EarlyChecks::is_left_out(NodeId check) const {
  return gone_[check.index] || std::ranges::find(checks_, check) != checks_.end();
}
/// The node of the iteration itself that is a node in it, or has it in its regions.
NodeId EarlyChecks::in_iteration(NodeId node) const {
  while (f_[node].parent != body_) node = f_[f_[node].parent].owner;
  return node;
}

/// Adds the operands of a node and of what is in its regions.
void EarlyChecks::collect_uses(NodeId node, Nodes& uses) const {
  ir::walk(f_, node, [&](NodeId inner) { std::ranges::copy(f_.operands(inner), std::back_inserter(uses)); });
}

void EarlyChecks::mark_needed(Nodes waiting, const std::vector<bool>& early,
                              std::vector<bool>& needed) const {
  while (!waiting.empty()) {
    const NodeId node = waiting.back();
    waiting.pop_back();
    if (!early[node.index] || needed[node.index]) continue;
    needed[node.index] = true;
    // A select that is gone gives its last operand.
    if (gone_[node.index] && f_.op(node) == Op::select) waiting.push_back(f_.operand(node, 2));
    else collect_uses(node, waiting);
  }
}

/// In additions, with what is in its regions; nothing of what lanes do no faster than iterations: they fetch
/// elements from anywhere, and divide integers, one by one. (See `set_divides`.)
int EarlyChecks::cost_of(NodeId node) const {
  const auto is_element = [&](NodeId index) { return !f_.encloses(body_, index) || is_step(index); };
  int all = 0;
  ir::walk(f_, node, [&](NodeId inner) {
    const Op op = f_.op(inner);
    if (gone_[inner.index] && op == Op::select) return;
    int cost = op == Op::cast ? 1 : 0;
    if (op == Op::load) cost = std::ranges::all_of(f_.operands(inner).subspan(1), is_element) ? 1 : 0;
    if (ir::info(op).elementwise) {
      const DType dtype = f_.type(f_.operand(inner, 0)).dtype();
      cost = ir::cost_of(op, dtype);
      if (base::is_int(dtype) && cost > 1 && !(divides_ && op == Op::floor_divide)) cost = 0;
    }
    all += cost;
  });
  return all;
}

/// Whether an index is that of the iteration plus what is the same in all iterations.
bool EarlyChecks::is_step(NodeId index) const {
  if (!f_.encloses(body_, index) || index == f_.region_parameters(body_)[0]) return true;
  return f_.op(index) == Op::add && is_step(f_.operand(index, 0)) && is_step(f_.operand(index, 1));
}

EarlyChecks::Values EarlyChecks::values() {
  Values values{.kept = {}, .needed = std::vector<bool>(f_.node_count())};
  if (jumps_) return values;
  const std::vector<bool> early = early_nodes();
  const auto cost_of_all = [&](const std::vector<bool>& nodes) {
    const auto body = f_.region_body(body_);
    return std::accumulate(body.begin(), body.end(), 0, [&](int sum, NodeId node) {
      return sum + (nodes[node.index] ? cost_of(node) : 0);
    });
  };
  Nodes uses;
  for (NodeId node : f_.region_body(body_))
    if (!early[node.index] && !is_left_out(node)) collect_uses(node, uses);
  for (NodeId use : uses) {
    const bool is_new = std::ranges::find(values.kept, use) == values.kept.end();
    if (!early[use.index] || !is_new || !f_.type(use).is_scalar()) continue;
    std::vector<bool> again(f_.node_count());
    mark_needed({use}, early, again);
    // What is the same in all iterations is no better in memory.
    const bool varies = again[f_.region_parameters(body_)[0].index];
    if (varies && cost_of_all(again) > kLight) values.kept.push_back(use);
  }
  // What takes little from the others is computed from these.
  for (size_t i = values.kept.size(); i-- > 0;) {
    std::vector<bool> open = early;
    for (size_t k = 0; k < values.kept.size(); ++k)
      if (k != i) open[values.kept[k].index] = false;
    std::vector<bool> again(f_.node_count());
    mark_needed({values.kept[i]}, open, again);
    if (cost_of_all(again) <= kLight) values.kept.erase(values.kept.begin() + static_cast<ptrdiff_t>(i));
  }
  mark_needed(values.kept, early, values.needed);
  for (const auto& [load, phase] : phase_of_load_)
    if (phase && values.needed[in_iteration(NodeId(load)).index])
      values.phase = std::max(values.phase, *phase);
  std::vector<bool> all = values.needed;
  for (NodeId check : checks_) mark_needed({f_.operand(check, 0)}, early, all);
  values.cost = cost_of_all(all) + static_cast<int>(checks_.size());
  return values;
}

}  // namespace ingot::transform
