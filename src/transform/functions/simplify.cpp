// Inlined functions. A block that is left only at its end is its body, and a branch that does nothing but
// raise a check (`simplify`): so the body of an inlined function is in no region of its own, and is fused
// with what is around it.
//
// Branches. `simplify` computes both sides of a branch between scalars that takes little, and selects; of `v
// op x` and `v` it takes v op a number that changes nothing, so that a carried value waits for one op. A
// select between what its condition compares is a maximum or minimum, where NaN and the sign of zero do not
// matter.

#include "transform/functions/simplify.h"

#include <algorithm>
#include <map>

#include "ir/directives.h"
#include "ir/evaluate.h"
#include "ir/walk.h"
#include "transform/analyses/activity.h"
#include "transform/analyses/ranges.h"
#include "transform/analyses/slot_shapes.h"
#include "transform/writers/rewriter.h"

namespace ingot::transform {

namespace {

/// Both arms of a branch are computed rather than chosen between if they take no longer than this: about what
/// a branch takes that is foreseen.
constexpr int kCheapArms = 3;

/// The exits from the blocks of a function.
class Exits {
 public:
  explicit Exits(const Function& f) : f_(f), counts_(f.node_count()) {
    for (uint32_t i = 0; i < f.node_count(); ++i)
      if (f.op(NodeId(i)) == Op::exit_) ++counts_[f.operand(NodeId(i), 0).index];
  }
  /// Whether an exit is the only one from its block, and at its end.
  bool is_end(NodeId exit) const {
    const NodeId label = f_.operand(exit, 0);
    return f_[label].parent == f_[exit].parent && counts_[label.index] == 1;
  }
  /// Whether a block is left only at its end.
  bool is_plain(NodeId block) const {
    const RegionId body = f_.region(block);
    const NodeId last = f_.terminator(body);
    return (f_.op(last) == Op::exit_ && is_end(last)) || counts_[f_.region_parameters(body)[0].index] == 0;
  }

 private:
  const Function& f_;
  std::vector<uint32_t> counts_;  ///< by label
};

class Simplifier : public Rewriter {
 public:
  Simplifier(const Function& source, const std::set<SlotShapes::Fact>& refuted)
      : Rewriter(source),
        exits_(source),
        is_differentiated_(largest_tag(source).has_value()),
        ranges_(b_.function()),
        shapes_(source, b_, refuted) {}

  const std::set<SlotShapes::Fact>& refuted() const { return shapes_.refuted(); }

 protected:
  NodeId use(NodeId old) override {
    const NodeId itself = ending_ ? shapes_.itself(old) : NodeId();
    return itself ? itself : Rewriter::use(old);
  }
  void bind(NodeId old, NodeId made) override { Rewriter::bind(old, shapes_.bound(old, made)); }
  void terminate(NodeId terminator) override {
    shapes_.end(terminator, use_all(source_.operands(terminator)));
    ending_ = true;
    Rewriter::terminate(terminator);
    ending_ = false;
  }
  void visit(NodeId id) override {
    const bool writes = ir::effects_of(source_, id).any(kMayWrite);
    // An iteration finds what the one before has written.
    if (writes && source_.op(id) != Op::if_ && source_.op(id) != Op::block && !runs_once(id)) loads_.clear();
    visit_one(id);
    if (writes) loads_.clear();
  }

 private:
  static constexpr ir::Effects kMayWrite = ir::effect::Write | ir::effect::Host | ir::effect::Sync;

  void visit_one(NodeId id) {
    switch (source_.op(id)) {
      case Op::load: return visit_load(id);
      case Op::read: return visit_read(id);
      case Op::store: return visit_store(id);
      case Op::if_: return visit_if(id);
      case Op::block: return visit_block(id);
      case Op::for_: return visit_for(id);
      case Op::while_: shapes_.expect(id, use_all(source_.operands(id))); return clone(id);
      case Op::check: return visit_check(id);
      case Op::stride: return bind(id, stride_of(b_, use(source_.operand(id, 0)), source_.attribute(id, 0)));
      case Op::minimum:
      case Op::maximum: return visit_extreme(id);
      case Op::select: return visit_select(id);
      case Op::add:
      case Op::subtract: return visit_sum(id);
      case Op::absolute: return visit_absolute(id);
      default: break;
    }
    const ir::OpInfo& card = ir::info(source_.op(id));
    if (card.opposite) return visit_comparison(id);
    if (card.overflow_of) return visit_overflow(id, *card.overflow_of);
    clone(id);
  }
  /// What has been loaded before, and not been written since.
  void visit_load(NodeId id) {
    const Nodes operands = of_whole(use_all(source_.operands(id)));
    take_known(id, operands);
  }
  /// The elements of a view are one array until something is written: what is computed from them again, as
  /// the mean of which a variance begins, is known by that.
  void visit_read(NodeId id) { take_known(id, use_all(source_.operands(id))); }
  void take_known(NodeId id, const Nodes& operands) {
    const Op op = source_.op(id);
    std::vector<uint32_t> key{static_cast<uint32_t>(op)};
    for (const NodeId operand : operands) key.push_back(operand.index);
    const auto known = loads_.find(key);
    if (known != loads_.end()) return bind(id, known->second);
    set_location(id);
    bind(id, b_.make(op, operands));
    loads_[key] = use(id);
    loaded_.push_back(std::move(key));
  }
  void visit_store(NodeId id) {
    const auto operands = source_.operands(id);
    Nodes index = of_whole(use_all(operands.first(operands.size() - 1)));
    index.push_back(use(operands.back()));
    set_location(id);
    bind(id, b_.make(Op::store, index));
  }
  /// A view and indices; of a part of a view, those of the whole: an iteration that takes a row, and of it an
  /// element, takes an element of the whole.
  Nodes of_whole(Nodes index) {
    for (;;) {
      const Function& f = b_.function();
      const NodeId part = index[0];
      const Op op = f.op(part);
      if (op == Op::view) return at_first(std::move(index));
      if (op != Op::slice && op != Op::squeeze && op != Op::transpose) return index;
      Nodes whole{f.operand(part, 0)};
      const auto rank = static_cast<size_t>(f.type(whole[0]).rank());
      whole.resize(1 + rank, b_.index(0));
      std::vector<int64_t> axes;
      if (op != Op::slice) axes.assign(f.ints(part).begin(), f.ints(part).end());
      for (size_t axis = 0, next = 1; axis < rank; ++axis) {
        const auto number = static_cast<int64_t>(axis);
        if (op == Op::transpose) {
          whole[1 + static_cast<size_t>(axes[axis])] = index[1 + axis];
        } else if (op == Op::squeeze) {
          if (std::ranges::find(axes, number) == axes.end()) whole[1 + axis] = index[next++];
        } else {
          const NodeId first = f.operand(part, 1 + 3 * axis);
          const NodeId step = f.operand(part, 3 + 3 * axis);
          const NodeId moved = b_.make(Op::multiply, {index[1 + axis], step});
          whole[1 + axis] = b_.make(Op::add, {first, moved});
        }
      }
      index = std::move(whole);
    }
  }

  /// Of indices of a `view`, those along an axis whose stride is 0 are 0: the element is the same.
  Nodes at_first(Nodes index) {
    const size_t rank = index.size() - 1;
    for (size_t axis = 0; axis < rank; ++axis)
      if (b_.function().is_constant(b_.function().operand(index[0], 2 + rank + axis), 0))
        index[1 + axis] = b_.index(0);
    return index;
  }

  bool is_constant(NodeId made) const { return b_.function().is_constant(made); }
  bool is_true(NodeId made) const { return b_.function().constant(made).bits[0] != 0; }

  /// Puts a region's nodes here; what it yields are the owner's results.
  void open(NodeId owner, RegionId region) {
    if (!visit_body(region)) return;
    const NodeId last = source_.terminator(region);
    const Nodes values = use_all(source_.operands(last).subspan(source_.op(last) == Op::exit_ ? 1 : 0));
    for (size_t i = 0; i < values.size(); ++i) bind(source_.result(owner, i), values[i]);
  }
  void visit_if(NodeId id) {
    const NodeId condition = use(source_.operand(id, 0));
    if (!is_constant(condition)) {
      for (size_t arm = 0; arm < 2; ++arm)
        if (only_raises(id, arm)) return raise_if(id, arm, condition);
      return chooses(id) ? choose(id, condition) : clone(id);
    }
    open(id, source_.region(id, is_true(condition) ? 0 : 1));
  }
  /// Whether an arm of an `if` is a `raise`, and the other one is nothing.
  bool only_raises(NodeId id, size_t arm) const {
    const auto body_of = [&](size_t i) { return source_.region_body(source_.region(id, i)); };
    const auto ends = [&](size_t i) { return source_.op(source_.terminator(source_.region(id, i))); };
    return body_of(arm).size() == 1 && ends(arm) == Op::raise && body_of(1 - arm).size() == 1 &&
           ends(1 - arm) == Op::yield && source_.result_count(id) == 0;
  }
  void raise_if(NodeId id, size_t arm, NodeId condition) {
    const NodeId raise = source_.terminator(source_.region(id, arm));
    Nodes operands{arm == 0 ? b_.make(Op::invert, {condition}) : condition};
    for (const NodeId shown : use_all(source_.operands(raise))) operands.push_back(shown);
    set_location(raise);
    if (holds(operands[0])) return;
    b_.make(Op::check, operands, source_.attributes(raise));
    pass(operands[0]);
  }
  /// Whether both arms of an `if` give scalars, and compute little else.
  bool chooses(NodeId id) const {
    const std::vector<NodeId> results = source_.results_of(id);
    const auto is_scalar = [&](NodeId node) { return source_.type(node).is_scalar(); };
    int cost = 0;
    const auto is_cheap = [&](NodeId node) {
      const ir::OpInfo& card = ir::info(source_.op(node));
      if (!card.elementwise)
        return source_.is_constant(node) || source_.op(node) == Op::cast || card.terminator;
      cost += ir::cost_of(source_.op(node), source_.type(node).dtype());
      return is_scalar(node);
    };
    for (size_t arm = 0; arm < 2; ++arm) {
      const RegionId region = source_.region(id, arm);
      const bool ends = source_.op(source_.terminator(region)) == Op::yield;
      if (!ends || !std::ranges::all_of(source_.region_body(region), is_cheap)) return false;
    }
    return std::ranges::all_of(results, is_scalar) && cost <= kCheapArms;
  }
  void choose(NodeId id, NodeId condition) {
    Nodes given[2];
    for (size_t arm = 0; arm < 2; ++arm) {
      const RegionId region = source_.region(id, arm);
      visit_body(region);
      given[arm] = use_all(source_.operands(source_.terminator(region)));
    }
    for (size_t i = 0; i < given[0].size(); ++i)
      bind(source_.result(id, i), choice(condition, given[0][i], given[1][i]));
  }
  /// One of two scalars. Of `v op x` and `v`, which is what loops carry, v with x or with what changes
  /// nothing.
  NodeId choice(NodeId condition, NodeId a, NodeId b) {
    const NodeId negated = b_.make(Op::invert, {condition});
    if (const NodeId combined = combined_if(condition, a, b)) return combined;
    if (const NodeId combined = combined_if(negated, b, a)) return combined;
    return b_.make(Op::select, {condition, a, b});
  }
  NodeId combined_if(NodeId condition, NodeId combined, NodeId plain) {
    const Function& f = b_.function();
    const auto neutral = ir::neutral_of(f.op(combined), f.type(combined).dtype());
    if (!neutral || f.is_constant(plain)) return {};
    const bool first = f.operand(combined, 0) == plain;
    if (!first && (f.operand(combined, 1) != plain || !ir::info(f.op(combined)).laws.commutative)) return {};
    const NodeId other = f.operand(combined, first ? 1 : 0);
    const NodeId chosen = b_.make(Op::select, {condition, other, b_.constant(f.type(combined), *neutral)});
    return b_.make(f.op(combined), {plain, chosen});
  }
  bool runs_once(NodeId id) {
    if (source_.op(id) != Op::for_) return false;
    const NodeId count = use(source_.operand(id, 0));
    return is_constant(count) && b_.function().constant(count).as<int64_t>() == 1;
  }
  /// A loop of one iteration is its body; of none, nothing.
  void visit_for(NodeId id) {
    const NodeId count = use(source_.operand(id, 0));
    const auto inits = source_.operands(id).subspan(1);
    if (!is_constant(count) || b_.function().constant(count).as<int64_t>() > 1 ||
        ir::is_directed(source_, id)) {
      shapes_.expect(id, use_all(inits));
      return visit_iterations(id);
    }
    const auto parameters = source_.region_parameters(source_.region(id));
    const bool is_one = runs_once(id);
    if (is_one) bind(parameters[0], b_.index(0));
    for (size_t i = 0; i < inits.size(); ++i)
      bind(is_one ? parameters[i + 1] : source_.result(id, i), use(inits[i]));
    if (is_one) open(id, source_.region(id));
  }
  /// A value that every iteration yields unchanged is the initial value.
  void visit_iterations(NodeId id) {
    const auto inits = source_.operands(id).subspan(1);
    const auto parameters = source_.region_parameters(source_.region(id));
    const auto bind_passed = [&](const auto& slot) {
      for (size_t i = 0; i < inits.size(); ++i)
        if (!keeps(id, Slot::Entry, i)) Rewriter::bind(slot(i), use(inits[i]));
    };
    bind_passed([&](size_t i) { return parameters[i + 1]; });
    clone(id);
    bind_passed([&](size_t i) { return source_.result(id, i); });
  }
  bool keeps(NodeId id, Slot, size_t i) override {
    if (source_.op(id) != Op::for_) return true;
    const NodeId last = source_.terminator(source_.region(id));
    return source_.op(last) != Op::yield ||
           source_.operand(last, i) != source_.region_parameters(source_.region(id))[i + 1];
  }
  void visit_block(NodeId id) {
    if (!exits_.is_plain(id)) return clone(id);
    open(id, source_.region(id));
  }
  /// As does the only exit of a block, if it is at its end.
  bool falls_through(NodeId terminator) const override {
    return source_.op(terminator) == Op::exit_ ? exits_.is_end(terminator)
                                               : Rewriter::falls_through(terminator);
  }
  void visit_comparison(NodeId id) {
    const auto operands = source_.operands(id);
    const auto known = ranges_.compare(source_.op(id), use(operands[0]), use(operands[1]));
    if (!known) return clone(id);
    bind(id, b_.constant(*known));
  }
  void visit_extreme(NodeId id) {
    const auto operands = source_.operands(id);
    const NodeId known = ranges_.extreme(source_.op(id), use(operands[0]), use(operands[1]));
    if (!known) return visit_sum(id);
    bind(id, known);
  }
  /// What differs only in how it is written is one value.
  void visit_sum(NodeId id) {
    clone(id);
    if (source_.type(id) == ir::kInt64) bind(id, ranges_.first_same(use(id)));
  }
  /// A count that is chosen where it is more than 0 is that count: of a loop that runs down.
  void visit_select(NodeId id) {
    const auto operands = source_.operands(id);
    const NodeId zero = use(operands[2]), count = use(operands[1]);
    if (source_.type(id) != ir::kInt64 || !b_.function().is_constant(zero, 0)) return clone(id);
    ranges_.enter();
    ranges_.assume(use(operands[0]), false);
    const bool is_same = ranges_.compare(Op::less_equal, count, zero) == true &&
                         ranges_.compare(Op::less_equal, zero, count) == true;
    ranges_.leave();
    is_same ? bind(id, count) : clone(id);
  }
  void visit_overflow(NodeId id, Op op) {
    const auto operands = source_.operands(id);
    if (!ranges_.is_exact(op, use(operands[0]), use(operands[1]))) return clone(id);
    bind(id, b_.constant(false));
  }
  /// |z| by parts, where all derivatives have been made: at 0 it has another one than `hypot`.
  void visit_absolute(NodeId id) {
    const NodeId z = use(source_.operand(id, 0));
    if (is_differentiated_ || !base::is_complex(b_.function().type(z).dtype())) return clone(id);
    bind(id, b_.make(Op::hypot, {b_.make(Op::real, {z}), b_.make(Op::imaginary, {z})}));
  }
  /// From here on a condition is known to hold.
  void pass(NodeId condition) {
    hold(condition);
    ranges_.assume(condition, true);
  }
  bool holds(NodeId condition) const { return std::ranges::find(checked_, condition) != checked_.end(); }
  /// A condition that need not be checked, and those that it consists of.
  void hold(NodeId condition) {
    if (holds(condition)) return;
    checked_.push_back(condition);
    if (b_.function().op(condition) != Op::bitwise_and) return;
    for (size_t i = 0; i < 2; ++i) hold(b_.function().operand(condition, i));
  }
  /// A condition that holds, or has been checked on the path here, is not checked.
  void visit_check(NodeId id) {
    const NodeId condition = use(source_.operand(id, 0));
    if (is_constant(condition) && is_true(condition)) return;
    if (holds(condition)) return;
    clone(id);
    pass(condition);
  }
  void enter_region(RegionId region) override {
    ranges_.enter();
    const NodeId owner = source_[region].owner;
    if (owner && ir::is_counted_loop(source_.op(owner)))
      ranges_.assume_positive(use(source_.operand(owner, 0)));
    if (owner && source_.op(owner) == Op::launch) ranges_.assume_extents(use_all(source_.operands(owner)));
    checked_before_.push_back(checked_.size());
    if (owner && source_.op(owner) == Op::if_) {
      const NodeId condition = use(source_.operand(owner, 0));
      const bool holds = region == source_.region(owner, 0);
      ranges_.assume(condition, holds);
      if (holds) hold(condition);
      else hold(b_.make(Op::invert, {condition}));
    }
    loaded_before_.push_back(loaded_.size());
  }
  void leave_region(RegionId) override {
    for (; loaded_.size() > loaded_before_.back(); loaded_.pop_back()) loads_.erase(loaded_.back());
    loaded_before_.pop_back();
    checked_.resize(checked_before_.back());
    checked_before_.pop_back();
    ranges_.leave();
  }

  Nodes checked_;                                  ///< conditions of checks that have been passed
  std::vector<size_t> checked_before_;             ///< by open region: how many it began with
  Exits exits_;                                    ///< of the source
  const bool is_differentiated_;                   ///< derivatives of it are still asked for
  std::map<std::vector<uint32_t>, NodeId> loads_;  ///< by op, view and indices
  std::vector<std::vector<uint32_t>> loaded_;      ///< these, in order, and some that were forgotten
  std::vector<size_t> loaded_before_;              ///< by open region: how many it began with
  Ranges ranges_;                                  ///< of what is built
  SlotShapes shapes_;
  bool ending_ = false;  ///< a region is being ended
};

std::unique_ptr<Function> simplified(const Function& function) {
  std::set<SlotShapes::Fact> refuted;
  for (;;) {
    Simplifier simplifier(function, refuted);
    const std::unique_ptr<Function> made = simplifier.run();
    if (simplifier.refuted().size() == refuted.size()) return dce(*made);
    refuted = simplifier.refuted();
  }
}

/// Whether a block is left only at its end: other exits from it were in branches that are gone.
bool has_plain_block(const Function& f) {
  const Exits exits(f);
  return ir::any_within(f, f.body(),
                        [&](NodeId node) { return f.op(node) == Op::block && exits.is_plain(node); });
}

}  // namespace

std::unique_ptr<ir::Function> simplify(const ir::Function& function) {
  std::unique_ptr<Function> made = simplified(function);
  while (has_plain_block(*made)) made = simplified(*made);
  return made;
}

}  // namespace ingot::transform
