#include "transform/analyses/lane_judge.h"

#include <algorithm>
#include <cstdlib>

#include "ir/cursor.h"
#include "ir/loops.h"
#include "ir/walk.h"
#include "transform/analyses/alias.h"
#include "transform/analyses/dependence.h"
#include "transform/analyses/disjoint.h"
#include "transform/analyses/early_checks.h"
#include "transform/analyses/from_outside.h"
#include "transform/analyses/reductions.h"

namespace ingot::transform {

namespace {

/// Loops of fewer iterations are not worth a vector, but around long sums of what are neighbours in its
/// lanes.
constexpr int64_t kFewIterations = 8;
/// More pairs of accesses are not asked for their order.
constexpr size_t kMostPairs = 32;
/// Where lanes end after different iterations, fetching an element for each lane costs as much as so many
/// operations.
constexpr int64_t kGatherCost = 4;

/// Whether a reduction of a loop gives the same value in any order, or may give another.
bool takes_any_order(const Function& f, Op combiner, DType dtype) {
  const bool is_rounded = base::is_float(dtype) || base::is_complex(dtype);
  return !ir::is_ordered(combiner, dtype) || (is_rounded && f.relaxations().has(ir::Relaxation::reassoc));
}

/// Whether the iterations of a loop can run in lanes.
class LaneJudge {
 public:
  LaneJudge(const Function& function, NodeId loop, const std::vector<bool>& gone)
      : f_(function), loop_(loop), gone_(gone), varies_(function.node_count()) {}

  /// `reduces`: a `for` carries reductions that take any order, else nothing but cursors.
  bool fits(bool reduces) {
    const bool is_for = f_.op(loop_) == Op::for_;
    const bool is_chosen = ir::has_lanes(ir::schedule_of(f_, loop_));
    if (is_chosen || ir::is_careful(f_, loop_)) return false;
    if (has_few_iterations()) return no(ObstacleKind::FewIterations, loop_);
    if (is_for && reduces && !combiners_of(f_, loop_)) return no(carried(), loop_);
    if (is_for && !reduces) {
      auto cursors = ir::cursors_of(f_, loop_);
      if (!cursors) return no(carried(), loop_);
      cursors_ = std::move(*cursors);
    }
    const RegionId body = f_.region(loop_);
    for (NodeId parameter : f_.region_parameters(body)) varies_[parameter.index] = true;
    for (const ir::Cursor& cursor : cursors_) varies_[cursor.parameter.index] = false;
    if (!fits(body)) return false;
    if (operations_ < kGatherCost * gathers_) return no(ObstacleKind::Uneven, loop_);
    if (!is_for) return true;
    const std::optional<Conflict> race =
        open_ == nullptr ? find_race(f_, loop_, cursors_) : find_race(f_, loop_, *open_);
    if (race) return no(*race);
    return writes_once() || no(ObstacleKind::RepeatedWrite, loop_);
  }
  const std::optional<Obstacle>& obstacle() const { return obstacle_; }

  std::optional<std::vector<AccessPair>> pairs_to_ask_for() {
    std::vector<AccessPair> open;
    if (f_.op(loop_) != Op::for_ || f_.result_count(loop_) > 0) return std::nullopt;
    open_ = &open;
    const bool fit = fits(false) && open.size() <= kMostPairs;
    open_ = nullptr;
    return fit ? std::optional(std::move(open)) : std::nullopt;
  }

 private:
  /// Notes what keeps the iterations from lanes, unless something is noted already.
  bool no(ObstacleKind kind, NodeId node) {
    if (!obstacle_) obstacle_.emplace(kind, node);
    return false;
  }
  bool no(const Conflict& conflict) {
    if (!obstacle_) obstacle_.emplace(conflict.reason, conflict.first, conflict.second);
    return false;
  }
  ObstacleKind carried() const {
    for (size_t i = 0; i < f_.result_count(loop_); ++i) {
      const std::optional<Op> combiner = reduction_of(f_, loop_, i);
      if (!combiner) return ObstacleKind::Carried;
      if (!takes_any_order(f_, *combiner, f_.type(f_.result(loop_, i)).dtype()))
        return ObstacleKind::FloatOrder;
    }
    return ObstacleKind::Kept;
  }
  bool has_few_iterations() const {
    const NodeId count = f_.operand(loop_, 0);
    if (!f_.is_constant(count) || f_.constant(count).as<int64_t>() >= kFewIterations) return false;
    return f_.constant(count).as<int64_t>() < 2 || f_.op(loop_) != Op::for_ || !sums_rows();
  }
  /// Whether the loops that carry values go over rows that the lanes have side by side.
  bool sums_rows() const {
    bool any = false;
    const bool all = ir::walk(f_, f_.region(loop_), [&](NodeId node) {
      if (f_.op(node) != Op::for_ || f_.result_count(node) == 0) return ir::Walk::Into;
      const RowLoads loads(f_, node, loop_, f_.region(node));
      any = any || loads.any();
      return loads.all() && !f_.is_constant(f_.operand(node, 0)) ? ir::Walk::Into : ir::Walk::Stop;
    });
    return all && any;
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
    if (card.terminator) return fits_at_end(node);
    if (card.regions > 0) return fits_with_regions(node);
    varies_[node.index] = any_varies(operands);
    if (divergent_) count(node);
    if (f_.op(node) == Op::c_value && varies(node)) return no(ObstacleKind::CallsC, node);
    if (card.effects.pure()) {
      const bool is_number = all_scalars(operands) && f_.type(node).is_scalar();
      return !varies(node) || is_number || no(ObstacleKind::OwnArray, node);
    }
    for (const ir::Cursor& cursor : cursors_)
      if (ir::stores_at(f_, node, cursor) && any_varies(operands.subspan(1, operands.size() - 3)))
        return no(ObstacleKind::StoresInTurn, node);
    const bool by_element = f_.op(node) == Op::load || f_.op(node) == Op::store;
    return (by_element && !varies(operands[0])) || no(kind_of(card.effects), node);
  }
  static ObstacleKind kind_of(ir::Effects effects) {
    if (effects.any(ir::effect::Host)) return ObstacleKind::CallsPython;
    if (effects.any(ir::effect::Sync)) return ObstacleKind::CallsC;
    if (effects.any(ir::effect::Random)) return ObstacleKind::Draws;
    if (effects.any(ir::effect::Raise)) return ObstacleKind::MayRaise;
    if (effects.any(ir::effect::Allocate)) return ObstacleKind::MakesArray;
    return ObstacleKind::OwnArray;
  }
  /// Of a check that is gone there is left, at most, the arm that does not raise.
  bool fits_without(NodeId check) {
    const std::optional<size_t> raises = raising_arm(f_, check);
    if (!raises) return true;
    const std::vector<NodeId> results = f_.results_of(check);
    for (NodeId result : results) varies_[result.index] = true;
    return all_scalars(results) && fits(f_.region(check, 1 - *raises));
  }
  /// What varies goes through a region's end as scalars; an exit masks the lanes that take it.
  bool fits_at_end(NodeId node) {
    const Op op = f_.op(node);
    const bool leaves = op != Op::exit_ && op != Op::yield && op != Op::unreachable;
    if (leaves) return no(op == Op::raise ? ObstacleKind::MayRaise : ObstacleKind::Left, node);
    return op == Op::unreachable || all_scalars(f_.operands(node).subspan(op == Op::exit_ ? 1 : 0)) ||
           no(ObstacleKind::OwnArray, node);
  }
  /// Counts what lanes do in loops that they leave after different iterations.
  void count(NodeId node) {
    const bool element = f_.op(node) == Op::load || f_.op(node) == Op::store;
    const auto rank = element ? static_cast<size_t>(f_.type(f_.operand(node, 0)).rank()) : 0;
    const auto indices = f_.operands(node).subspan(element ? 1 : 0, rank);
    if (!std::ranges::all_of(indices, [&](NodeId index) { return is_step(index); })) ++gathers_;
    else if (varies(node)) ++operations_;
  }
  /// Whether lanes find neighbours there: the loop's index and what does not vary.
  bool is_step(NodeId index) const {
    if (index == f_.region_parameters(f_.region(loop_))[0]) return true;
    const Op op = f_.op(index);
    if (op != Op::add && op != Op::subtract) return !varies(index);
    return is_step(f_.operand(index, 0)) && is_step(f_.operand(index, 1));
  }
  /// Whether no other access of its iterations conflicts with what the loop writes. Different indices of an
  /// array are taken for different locations, which is wrong where elements share a location.
  bool writes_once() {
    Nodes accesses;
    ir::walk(f_, f_.region(loop_), [&](NodeId node) {
      if (f_[node].region_count == 0 && f_.op(node) != Op::result && touches_memory(node))
        accesses.push_back(node);
    });
    for (size_t i = 0; i < accesses.size(); ++i) {
      if (!ir::info(f_.op(accesses[i])).effects.any(ir::effect::Write)) continue;
      const NodeId view = f_.operand(accesses[i], 0);
      if (stands_once(f_, loop_, view)) continue;
      for (size_t k = 0; k < accesses.size(); ++k) {
        if ((k == i && !repeats(accesses[i])) || is_same_step(accesses[i], accesses[k])) continue;
        if (k == i) return false;
        if (!may_overlap(f_, root_of(f_, view), root_of(f_, f_.operand(accesses[k], 0)))) continue;
        if (!stays_open({accesses[std::min(i, k)], accesses[std::max(i, k)]})) return false;
      }
    }
    return true;
  }
  bool stays_open(const AccessPair& pair) {
    if (open_ == nullptr || !can_ask_for_order(f_, loop_, pair)) return false;
    if (std::ranges::find(*open_, pair) == open_->end()) open_->push_back(pair);
    return true;
  }
  /// Whether an access is in a loop inside.
  bool repeats(NodeId access) const {
    for (NodeId at = f_[f_[access].parent].owner; at && at != loop_; at = f_[f_[at].parent].owner)
      if (ir::is_loop(f_.op(at))) return true;
    return false;
  }
  bool touches_memory(NodeId node) const {
    const bool is_access = ir::info(f_.op(node)).effects.any(ir::effect::Read | ir::effect::Write);
    return is_access && f_.operands(node).size() > 0 && f_.type(f_.operand(node, 0)).is_view();
  }
  /// Whether two accesses are of one element, and lanes find its neighbours along the last axis.
  bool is_same_step(NodeId a, NodeId b) const {
    const NodeId view = f_.operand(a, 0);
    const bool are_plain =
        (f_.op(a) == Op::store || f_.op(a) == Op::load) && (f_.op(b) == Op::store || f_.op(b) == Op::load);
    if (!are_plain || view != f_.operand(b, 0)) return false;
    const auto rank = static_cast<size_t>(f_.type(view).rank());
    const auto own = f_.operands(a).subspan(1, rank);
    if (rank == 0 || !std::ranges::equal(own, f_.operands(b).subspan(1, rank))) return false;
    if (may_repeat(view) || any_varies(own.first(rank - 1)) || !is_step(own.back())) return false;
    // In a loop inside, other rows may be at the locations of this one, as those of windows are.
    FromOutside is_outside(f_, loop_);
    return (!repeats(a) && !repeats(b)) ||
           (std::ranges::all_of(own.first(rank - 1), [&](NodeId index) { return is_outside(index); }) &&
            is_step_from_outside(own.back(), is_outside));
  }
  bool is_step_from_outside(NodeId index, FromOutside& is_outside) const {
    if (index == f_.region_parameters(f_.region(loop_))[0] || is_outside(index)) return true;
    const Op op = f_.op(index);
    return (op == Op::add || op == Op::subtract) && is_step_from_outside(f_.operand(index, 0), is_outside) &&
           is_step_from_outside(f_.operand(index, 1), is_outside);
  }
  /// Whether neighbours along the last axis of a view that is made of a buffer may share bytes.
  bool may_repeat(NodeId view) const {
    if (f_.op(view) != Op::view) return false;
    const auto rank = static_cast<size_t>(f_.type(view).rank());
    const NodeId stride = f_.operand(view, 1 + 2 * rank);
    if (!f_.is_constant(stride)) return false;
    const auto size = static_cast<int64_t>(base::size_of(f_.type(view).dtype()));
    return std::abs(f_.constant(stride).as<int64_t>()) < size;
  }
  bool fits_with_regions(NodeId node) {
    const Op op = f_.op(node);
    if (op != Op::if_ && op != Op::for_ && op != Op::while_ && op != Op::block)
      return no(ObstacleKind::InnerLoop, node);
    const std::vector<NodeId> results = f_.results_of(node);
    if (!all_scalars(results)) return no(ObstacleKind::OwnArray, node);
    if (op == Op::while_ && f_.op(f_.terminator(f_.region(node, 0))) != Op::yield)
      return no(ObstacleKind::InnerLeft, node);
    const bool around = divergent_;
    const bool is_exited = ir::effects_of(f_, node).any(ir::effect::Exit);
    if (op == Op::while_ || (op == Op::for_ && (is_exited || varies(f_.operand(node, 0))))) divergent_ = true;
    // What goes through regions counts as varying; so does what a loop carries, but for the index of a `for`.
    for (NodeId result : results) varies_[result.index] = true;
    for (size_t i = 0; i < ir::info(op).regions; ++i) {
      const auto parameters = f_.region_parameters(f_.region(node, i));
      for (size_t k = op == Op::for_ ? 1 : 0; k < parameters.size(); ++k)
        if (op != Op::block) varies_[parameters[k].index] = true;
      if (!fits(f_.region(node, i))) return false;
    }
    divergent_ = around;
    return true;
  }

  const Function& f_;
  NodeId loop_;
  const std::vector<bool>& gone_;
  std::vector<ir::Cursor> cursors_;
  std::vector<bool> varies_;
  std::optional<Obstacle> obstacle_;
  std::vector<AccessPair>* open_ = nullptr;  ///< pairs of accesses whose order is to be asked for
  bool divergent_ = false;                   ///< in a loop that lanes leave after different iterations
  int64_t operations_ = 0;
  int64_t gathers_ = 0;
};

}  // namespace

RowLoads::RowLoads(const Function& function, NodeId around, NodeId loop, RegionId region)
    : f_(function),
      around_(function.region_parameters(function.region(around))[0]),
      iteration_(function.region_parameters(function.region(loop))[0]) {
  ir::walk(f_, region, [&](NodeId node) {
    if (f_.op(node) == Op::load) look_at(f_.operands(node).subspan(1));
  });
}

void RowLoads::look_at(std::span<const NodeId> indices) {
  if (std::ranges::none_of(indices, [&](NodeId index) { return depends(index, iteration_); })) return;
  const std::span<const NodeId> outer = indices.first(indices.size() - 1);
  const bool steps = std::ranges::none_of(outer, [&](NodeId index) { return depends(index, iteration_); });
  all_ = all_ && steps && is_step(indices.back());
  any_ = any_ || (all_ && std::ranges::any_of(outer, [&](NodeId index) { return depends(index, around_); }));
}

/// Whether an index grows by one from iteration to iteration.
bool RowLoads::is_step(NodeId index) const {
  if (index == iteration_) return true;
  if (f_.op(index) != Op::add && f_.op(index) != Op::subtract) return false;
  const auto operands = f_.operands(index);
  if (!is_step(operands[0])) return f_.op(index) == Op::add && is_step(operands[1]);
  return !depends(operands[1], iteration_);
}

/// Whether an index is computed from the number of an iteration.
bool RowLoads::depends(NodeId value, NodeId iteration) const {
  if (value == iteration) return true;
  if (value < iteration || f_[value].region_count > 0 || f_.op(value) == Op::param) return false;
  return std::ranges::any_of(f_.operands(value), [&](NodeId operand) { return depends(operand, iteration); });
}

std::optional<std::vector<Op>> combiners_of(const Function& f, NodeId loop, bool checked) {
  std::vector<Op> combiners;
  for (size_t i = 0; i < f.result_count(loop); ++i) {
    const auto combiner = reduction_of(f, loop, i, checked);
    if (!combiner || !takes_any_order(f, *combiner, f.type(f.result(loop, i)).dtype())) return std::nullopt;
    combiners.push_back(*combiner);
  }
  return combiners;
}

std::optional<Obstacle> lane_obstacle(const Function& function, NodeId loop) {
  const bool reduces = function.result_count(loop) > 0 && combiners_of(function, loop).has_value();
  const std::vector<bool> none(function.node_count());
  LaneJudge judge(function, loop, none);
  if (!judge.fits(reduces) && LaneJudge(function, loop, none).pairs_to_ask_for()) return std::nullopt;
  return judge.obstacle();
}

std::optional<std::vector<AccessPair>> pairs_to_ask_for(const Function& function, NodeId loop) {
  const std::vector<bool> none(function.node_count());
  return LaneJudge(function, loop, none).pairs_to_ask_for();
}

bool fits_lanes(const Function& function, NodeId loop, const std::vector<bool>& gone, bool reduces) {
  return LaneJudge(function, loop, gone).fits(reduces);
}

}  // namespace ingot::transform
