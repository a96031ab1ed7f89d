#include "transform/lane_judge.h"

#include <algorithm>

#include "transform/dependence.h"
#include "transform/early_checks.h"
#include "transform/reductions.h"

namespace ingot::transform {

namespace {

/// Loops of fewer turns are not worth a vector.
constexpr int64_t kFewTurns = 8;

/// Whether a reduction of a loop gives the same value in any order, or may give another.
bool takes_any_order(const Function& f, Op combiner, DType dtype) {
  if (base::is_float(dtype) || base::is_complex(dtype)) return f.relaxations().has(ir::Relaxation::reassoc);
  return combiner != Op::lcm;  // whose product wraps
}

/// Whether the turns of a loop can run in lanes.
class LaneJudge {
 public:
  LaneJudge(const Function& function, NodeId loop, const std::vector<bool>& gone)
      : f_(function), loop_(loop), gone_(gone), varies_(function.node_count()) {}

  bool fits(bool reduces) {
    const bool carries = f_.op(loop_) == Op::for_ && f_.result_count(loop_) > 0;
    const bool is_chosen = ir::has_lanes(static_cast<ir::Schedule>(f_.attribute(loop_, 0)));
    if ((carries && !(reduces && combiners_of(f_, loop_))) || is_chosen || has_few_turns()) return false;
    const RegionId body = f_.region(loop_);
    for (NodeId parameter : f_.region_parameters(body)) varies_[parameter.index] = true;
    if (!fits(body)) return false;
    return f_.op(loop_) == Op::parallel_for || !find_race(f_, loop_);
  }

 private:
  bool has_few_turns() const {
    const NodeId count = f_.operand(loop_, 0);
    return f_.is_constant(count) && f_.constant(count).as<int64_t>() < kFewTurns;
  }
  bool varies(NodeId value) const { return varies_[value.index]; }
  bool any_varies(std::span<const NodeId> values) const {
    return std::ranges::any_of(values, [&](NodeId value) { return varies(value); });
  }
  bool all_scalars(std::span<const NodeId> values) const {
    return std::ranges::all_of(values, [&](NodeId value) { return f_.type(value).is_scalar(); });
  }

  bool fits(RegionId region) {
    return std::ranges::all_of(f_.region_body(region), [&](NodeId node) { return fits(node); });
  }
  bool fits(NodeId node) {
    const ir::OpInfo& card = ir::info(f_.op(node));
    const auto operands = f_.operands(node);
    if (f_.op(node) == Op::result) return true;
    if (gone_[node.index]) return fits_without(node);
    if (card.terminator) return f_.op(node) == Op::yield && all_scalars(operands);
    if (card.regions > 0) return fits_with_regions(node);
    varies_[node.index] = any_varies(operands);
    if (card.effects.pure()) return !varies(node) || (all_scalars(operands) && f_.type(node).is_scalar());
    const bool by_element = f_.op(node) == Op::load || f_.op(node) == Op::store;
    return by_element && !varies(operands[0]);
  }
  /// Of a check that is gone there is left, at most, the arm that does not raise.
  bool fits_without(NodeId check) {
    const std::optional<size_t> raises = raising_arm(f_, check);
    if (!raises) return true;
    const std::vector<NodeId> results = f_.results_of(check);
    for (NodeId result : results) varies_[result.index] = true;
    return all_scalars(results) && fits(f_.region(check, 1 - *raises));
  }
  bool fits_with_regions(NodeId node) {
    const Op op = f_.op(node);
    if (op != Op::if_ && (op != Op::for_ || varies(f_.operand(node, 0)))) return false;
    const std::vector<NodeId> results = f_.results_of(node);
    if (!all_scalars(results)) return false;
    // What goes through regions counts as varying; so does what a `for` carries.
    for (NodeId result : results) varies_[result.index] = true;
    for (size_t i = 0; i < card_regions(op); ++i) {
      const auto parameters = f_.region_parameters(f_.region(node, i));
      for (size_t k = op == Op::for_ ? 1 : 0; k < parameters.size(); ++k) varies_[parameters[k].index] = true;
      if (!fits(f_.region(node, i))) return false;
    }
    return true;
  }
  static size_t card_regions(Op op) { return ir::info(op).regions; }

  const Function& f_;
  NodeId loop_;
  const std::vector<bool>& gone_;
  std::vector<bool> varies_;
};

}  // namespace

std::optional<std::vector<Op>> combiners_of(const Function& f, NodeId loop) {
  std::vector<Op> combiners;
  for (size_t i = 0; i < f.result_count(loop); ++i) {
    const auto combiner = reduction_of(f, loop, i);
    if (!combiner || !takes_any_order(f, *combiner, f.type(f.result(loop, i)).dtype())) return std::nullopt;
    combiners.push_back(*combiner);
  }
  return combiners;
}

bool fits_lanes(const Function& function, NodeId loop, const std::vector<bool>& gone, bool reduces) {
  return LaneJudge(function, loop, gone).fits(reduces);
}

}  // namespace ingot::transform
