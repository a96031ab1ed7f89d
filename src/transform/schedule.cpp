#include "transform/schedule.h"

#include <algorithm>

#include "transform/dependence.h"
#include "transform/rewriter.h"

namespace ingot::transform {

namespace {

/// Loops of fewer turns are not worth a vector.
constexpr int64_t kFewTurns = 8;

/// Whether the turns of a loop can run in lanes.
class LaneJudge {
 public:
  LaneJudge(const Function& function, NodeId loop)
      : f_(function), loop_(loop), varies_(function.node_count()) {}

  bool fits() {
    const bool carries = f_.op(loop_) == Op::for_ && f_.result_count(loop_) > 0;
    const bool is_chosen = f_.attribute(loop_, 0) == static_cast<int64_t>(ir::Schedule::Vector);
    if (carries || is_chosen || has_few_turns()) return false;
    const RegionId body = f_.region(loop_);
    varies_[f_.region_parameters(body)[0].index] = true;
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
    if (card.terminator) return f_.op(node) == Op::yield && all_scalars(operands);
    if (card.regions > 0) return fits_with_regions(node);
    varies_[node.index] = any_varies(operands);
    if (card.effects.pure()) return !varies(node) || (all_scalars(operands) && f_.type(node).is_scalar());
    const bool by_element = f_.op(node) == Op::load || f_.op(node) == Op::store;
    return by_element && !varies(operands[0]);
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
  std::vector<bool> varies_;
};

class Scheduler : public Rewriter {
 public:
  explicit Scheduler(const Function& source) : Rewriter(source), chosen_(source.node_count()) {
    choose_in(source.body());
  }

 protected:
  void set_attributes(NodeId id, std::span<int64_t> attributes) override {
    if (chosen_[id.index]) attributes[0] = static_cast<int64_t>(ir::Schedule::Vector);
  }

 private:
  enum class Found : uint8_t { NoLoop, All, NotAll };

  bool is_loop(NodeId node) const {
    const Op op = source_.op(node);
    return op == Op::for_ || op == Op::parallel_for;
  }
  static Found both(Found a, Found b) { return std::max(a, b); }

  /// Chooses loops of a region; whether all innermost ones were.
  Found choose_in(RegionId region) {
    Found found = Found::NoLoop;
    for (NodeId node : source_.region_body(region))
      if (source_[node].region_count > 0) found = both(found, choose(node));
    return found;
  }
  Found choose(NodeId node) {
    Found inside = Found::NoLoop;
    for (size_t i = 0; i < source_[node].region_count; ++i)
      inside = both(inside, choose_in(source_.region(node, i)));
    if (!is_loop(node)) return source_.op(node) == Op::while_ ? Found::NotAll : inside;
    if (inside == Found::All) return inside;
    if (!LaneJudge(source_, node).fits()) return Found::NotAll;
    forget_in(source_.region(node));
    chosen_[node.index] = true;
    return Found::All;
  }
  void forget_in(RegionId region) {
    for (NodeId node : source_.region_body(region)) {
      chosen_[node.index] = false;
      for (size_t i = 0; i < source_[node].region_count; ++i) forget_in(source_.region(node, i));
    }
  }

  std::vector<bool> chosen_;
};

}  // namespace

std::unique_ptr<ir::Function> schedule(const ir::Function& function) { return Scheduler(function).run(); }

}  // namespace ingot::transform
