#include "transform/loops/hoist.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "ir/loops.h"
#include "ir/walk.h"
#include "transform/analyses/alias.h"
#include "transform/writers/loop_writer.h"
#include "transform/writers/rewriter.h"

namespace ingot::transform {

namespace {

/// What is taken out of a loop goes through so many loops around it, at most.
constexpr int kMostRounds = 8;

bool is_loop(const Function& f, NodeId node) { return ir::is_counted_loop(f.op(node)); }

bool holds_loop(const Function& f, NodeId node) {
  for (size_t i = 0; i < f[node].region_count; ++i)
    if (ir::any_within(f, f.region(node, i), [&](NodeId at) { return is_loop(f, at); })) return true;
  return false;
}

/// What leaves a loop.
struct Moved {
  std::vector<bool> nodes;  ///< by node
  bool is_guarded = false;  ///< something that only an iteration may do is among them
  bool is_late = false;     ///< something that may be seen before a check comes before it
  NodeId branch;            ///< the iteration is this `if`, and what is computed for it; none: it is not so
};

class LoopJudge {
 public:
  LoopJudge(const Function& f, NodeId loop)
      : f_(f), loop_(loop), body_(f.region(loop)), same_(f.node_count()), cone_(f.node_count()) {}

  /// What loops inside wait for.
  std::optional<Moved> judge_counts() {
    if (!is_plain() || !has_wanted() || !find_writes()) return std::nullopt;
    find_same();
    NodeId branch = branch_of_iteration();
    for (const NodeId node : f_.region_body(body_)) {
      if (is_loop(f_, node) && f_.encloses(body_, f_.operand(node, 0))) want(f_.operand(node, 0));
      if (f_.op(node) == Op::if_ && holds_loop(f_, node) && f_.encloses(body_, f_.operand(node, 0)))
        want(f_.operand(node, 0));
    }
    if (branch && !is_same(f_.operand(branch, 0))) branch = {};
    if (!any_ && !branch) return std::nullopt;
    for (const NodeId check : checks_)
      for (const NodeId operand : f_.operands(check)) want(operand);
    Moved moved{.nodes = cone_, .is_late = any_ && has_late_, .branch = branch};
    for (const NodeId check : checks_) moved.nodes[check.index] = any_;
    for (const NodeId node : f_.region_body(body_))
      if (moved.nodes[node.index] && (f_.op(node) == Op::load || f_.op(node) == Op::check))
        moved.is_guarded = true;
    // What is left of the iteration before the branch must do nothing.
    if (branch && !is_alone(branch, moved.nodes)) moved.branch = {};
    return any_ || moved.branch ? std::optional(std::move(moved)) : std::nullopt;
  }

  /// What a loop without loops inside loads in each iteration anew.
  std::optional<Moved> judge_loads() {
    const auto body = f_.region_body(body_);
    const auto is_load = [&](NodeId node) { return f_.op(node) == Op::load; };
    if (!is_plain() || holds_loop(f_, loop_) || std::ranges::none_of(body, is_load) || !find_writes())
      return std::nullopt;
    moves_checks_ = false;
    find_same();
    for (const NodeId node : body)
      if (is_load(node)) want(node);
    return any_ ? std::optional(Moved{.nodes = cone_, .is_guarded = true, .branch = {}}) : std::nullopt;
  }

 private:
  bool is_plain() const { return !ir::is_careful(f_, loop_) && f_.op(f_.terminator(body_)) == Op::yield; }
  bool is_same(NodeId value) const { return !f_.encloses(body_, value) || same_[value.index]; }

  bool has_wanted() const {
    return std::ranges::any_of(f_.region_body(body_), [&](NodeId node) {
      return is_loop(f_, node) || (f_.op(node) == Op::if_ && holds_loop(f_, node));
    });
  }

  /// What the iterations write; false: not known.
  bool find_writes() {
    return ir::walk(f_, body_, [&](NodeId node) {
      const ir::Effects own = ir::info(f_.op(node)).effects;
      if (own.any(ir::effect::Control)) return ir::Walk::Into;
      if (own.any(ir::effect::Sync | ir::effect::Host)) return ir::Walk::Stop;
      if (!own.any(ir::effect::Write)) return ir::Walk::Into;
      if (!writes_one_view(f_.op(node))) return ir::Walk::Stop;
      writes_.push_back(root_of(f_, f_.operand(node, 0)));
      return ir::Walk::Into;
    });
  }
  bool is_unwritten(NodeId load) const {
    const Root from = root_of(f_, f_.operand(load, 0));
    return std::ranges::none_of(writes_, [&](const Root& write) { return may_overlap(f_, from, write); });
  }

  /// Finds what is the same in all iterations and can be computed before the first of them.
  void find_same() {
    bool is_first = true;  // nothing has been written or checked before but what is the same
    bool goes_on = true;   // ... and nothing raises but checks that can move
    for (const NodeId node : f_.region_body(body_)) {
      const Op op = f_.op(node);
      const ir::OpInfo& card = ir::info(op);
      if (card.terminator || op == Op::result) continue;
      const auto operands = f_.operands(node);
      const bool is_known =
          goes_on && std::ranges::all_of(operands, [&](NodeId operand) { return is_same(operand); });
      if (f_[node].region_count > 0) {
        const ir::Effects effects = ir::effects_of(f_, node);
        is_first = is_first && (effects.bits & ~ir::effect::Read.bits) == 0;
        goes_on = goes_on && !effects.any(ir::effect::Raise | ir::effect::Exit);
      } else if (op == Op::check && moves_checks_) {
        if (is_known) checks_.push_back(node);
        else varying_.push_back(f_.operand(node, 0));
        has_late_ = has_late_ || (is_known && !is_first);
        is_first = is_first && is_known;
      } else if (op == Op::load) {
        same_[node.index] = is_known && is_unwritten(node) && !is_guarded(node);
      } else if (card.effects.pure()) {
        same_[node.index] = is_known && !f_.type(node).is(ir::TypeKind::Results);
      } else {
        is_first = false;
        goes_on = goes_on && !card.effects.any(ir::effect::Raise | ir::effect::Exit);
      }
    }
  }
  /// Whether checks that are not the same in all iterations may show that a load is in range.
  bool is_guarded(NodeId load) const {
    if (varying_.empty()) return false;
    // Any check which shows that there are elements shows that there is the first one.
    const auto indices = f_.operands(load).subspan(1);
    if (std::ranges::any_of(indices, [&](NodeId index) { return f_.is_constant(index); })) return true;
    std::vector<bool> own(f_.node_count());
    add_sources(indices, own);
    std::vector<bool> other(f_.node_count());
    add_sources(varying_, other);
    for (size_t i = 0; i < own.size(); ++i)
      if (own[i] && other[i] && !f_.is_constant(NodeId(static_cast<uint32_t>(i)))) return true;
    return false;
  }
  /// What values are computed from, and the counts of the loops whose indices are among it; a loaded value is
  /// a source itself.
  void add_sources(std::span<const NodeId> values, std::vector<bool>& sources) const {
    for (const NodeId value : values) {
      if (sources[value.index]) continue;
      sources[value.index] = true;
      const NodeId owner = f_.op(value) == Op::param ? f_[f_[value].parent].owner : NodeId();
      if (owner && is_loop(f_, owner)) add_sources(f_.operands(owner).first(1), sources);
      if (f_.op(value) == Op::load) add_sources(f_.operands(value).subspan(1), sources);
      else if (f_[value].region_count == 0) add_sources(f_.operands(value), sources);
    }
  }

  void want(NodeId value) {
    if (!f_.encloses(body_, value) || !same_[value.index] || cone_[value.index]) return;
    cone_[value.index] = true;
    any_ = true;
    for (const NodeId operand : f_.operands(value)) want(operand);
  }

  /// The only node with regions of an iteration, an `if` around loops.
  NodeId branch_of_iteration() const {
    if (f_.result_count(loop_) > 0) return {};
    NodeId branch;
    for (const NodeId node : f_.region_body(body_)) {
      if (f_[node].region_count == 0) continue;
      if (branch || f_.op(node) != Op::if_ || f_.result_count(node) > 0 || !holds_loop(f_, node)) return {};
      branch = node;
    }
    if (!branch) return {};
    for (size_t arm = 0; arm < 2; ++arm)
      if (f_.op(f_.terminator(f_.region(branch, arm))) != Op::yield) return {};
    return branch;
  }
  bool is_alone(NodeId branch, const std::vector<bool>& moved) const {
    return std::ranges::all_of(f_.region_body(body_), [&](NodeId node) {
      const Op op = f_.op(node);
      return node == branch || moved[node.index] || op == Op::load || op == Op::result || op == Op::yield ||
             ir::info(op).effects.pure();
    });
  }

  const Function& f_;
  NodeId loop_;
  RegionId body_;
  std::vector<bool> same_;  ///< by node
  std::vector<bool> cone_;  ///< by node: what is wanted, and what that is computed from
  Nodes checks_;
  Nodes varying_;  ///< conditions of checks that differ from iteration to iteration
  std::vector<Root> writes_;
  bool has_late_ = false;
  bool any_ = false;
  bool moves_checks_ = true;
};

class Hoister : public Rewriter {
 public:
  /// `judge`: what leaves a loop.
  Hoister(const Function& source, std::optional<Moved> (LoopJudge::*judge)())
      : Rewriter(source), loops_(b_), arms_(source.node_count(), kNoArm) {
    moved_.resize(source.node_count());
    ir::walk(source, source.body(), [&](NodeId node) {
      if (source.op(node) == Op::launch) return ir::Walk::Past;
      if (!is_loop(source, node)) return ir::Walk::Into;
      plans_.emplace_back(node, (LoopJudge(source, node).*judge)());
      any_ = any_ || plans_.back().second;
      return ir::Walk::Into;
    });
  }
  bool any() const { return any_; }

 protected:
  void visit(NodeId id) override {
    if (moved_[id.index]) return;
    if (arms_[id.index] != kNoArm) {
      visit_body(source_.region(id, arms_[id.index]));
      return;
    }
    const Moved* const plan = is_careful_ ? nullptr : plan_of(id);
    if (plan == nullptr) return clone(id);
    write(id, *plan);
  }
  void set_attributes(NodeId id, std::span<int64_t> attributes) override {
    if (!is_careful_ || source_.op(id) != Op::for_) return;
    attributes[0] = static_cast<int64_t>(ir::Schedule::Vector);
    attributes[1] = 1;
  }

 private:
  static constexpr size_t kNoArm = 2;

  const Moved* plan_of(NodeId loop) const {
    const auto found = std::ranges::find(plans_, loop, [](const auto& plan) { return plan.first; });
    return found == plans_.end() || !found->second ? nullptr : &*found->second;
  }

  void write(NodeId loop, const Moved& plan) {
    const ir::SpanId location = b_.span();
    const Nodes results = source_.results_of(loop);
    std::vector<Type> types;
    for (const NodeId result : results) types.push_back(source_.type(result));
    const auto all = [&] {
      for (const NodeId node : source_.region_body(source_.region(loop))) {
        if (!plan.nodes[node.index] || (plan.is_late && source_.op(node) == Op::check)) continue;
        set_location(node);
        clone(node);
      }
      b_.set_span(location);
      write_loop(loop, plan);
      return use_all(results);
    };
    const auto none = [&] { return use_all(source_.operands(loop).subspan(1)); };
    const auto as_it_was = [&] {
      is_careful_ = true;
      clone(loop);
      is_careful_ = false;
      return use_all(results);
    };
    const auto some = [&] {
      return plan.is_late ? loops_.branch(holds(loop, plan, 0), types, all, as_it_was) : all();
    };
    const NodeId has_iterations = loops_.less(b_.index(0), use(source_.operand(loop, 0)));
    const Nodes given = plan.is_guarded ? loops_.branch(has_iterations, types, some, none) : some();
    b_.set_span(location);
    for (size_t i = 0; i < results.size(); ++i) bind(results[i], given[i]);
  }
  /// Whether all checks that move would hold: those from a node of the loop on.
  NodeId holds(NodeId loop, const Moved& plan, size_t from) {
    const auto body = source_.region_body(source_.region(loop));
    NodeId all = b_.constant(true);
    size_t end = body.size();
    while (end > from && !(plan.nodes[body[end - 1].index] && source_.op(body[end - 1]) == Op::check)) --end;
    for (size_t i = from; i < end; ++i) {
      const NodeId node = body[i];
      if (!plan.nodes[node.index]) continue;
      set_location(node);
      if (source_.op(node) == Op::check) {
        all = loops_.both(all, use(source_.operand(node, 0)));
      } else if (source_.op(node) == Op::load && !b_.function().is_constant(all)) {
        // The load is of an element only if they do.
        const auto rest = [&] {
          clone(node);
          return holds(loop, plan, i + 1);
        };
        return loops_.both(all, rest);
      } else {
        clone(node);
      }
    }
    return all;
  }
  void write_loop(NodeId loop, const Moved& plan) {
    for (uint32_t i = 0; i < plan.nodes.size(); ++i)
      if (plan.nodes[i]) moved_[i] = true;
    if (plan.branch) {
      const auto with = [&](size_t arm) {
        if (source_.region_body(source_.region(plan.branch, arm)).size() > 1) {
          arms_[plan.branch.index] = arm;
          clone(loop);
          arms_[plan.branch.index] = kNoArm;
        }
        return Nodes();
      };
      loops_.branch(
          use(source_.operand(plan.branch, 0)), {}, [&] { return with(0); }, [&] { return with(1); });
    } else {
      clone(loop);
    }
    for (uint32_t i = 0; i < plan.nodes.size(); ++i)
      if (plan.nodes[i]) moved_[i] = false;
  }

  LoopWriter loops_;
  std::vector<std::pair<NodeId, std::optional<Moved>>> plans_;
  std::vector<bool> moved_;   ///< by node: out of the loop that is being written
  std::vector<size_t> arms_;  ///< by `if`: the arm that stands for it
  bool any_ = false;
  bool is_careful_ = false;  ///< iterations run one by one, as they were
};

}  // namespace

namespace {

std::unique_ptr<ir::Function> take_out(const ir::Function& function,
                                       std::optional<Moved> (LoopJudge::*judge)()) {
  std::unique_ptr<ir::Function> made;
  for (int round = 0; round < kMostRounds; ++round) {
    Hoister hoister(made ? *made : function, judge);
    if (!hoister.any()) break;
    made = hoister.run();
  }
  return made;
}

}  // namespace

std::unique_ptr<ir::Function> hoist_counts(const ir::Function& function) {
  return take_out(function, &LoopJudge::judge_counts);
}

std::unique_ptr<ir::Function> hoist_loads(const ir::Function& function) {
  return take_out(function, &LoopJudge::judge_loads);
}

}  // namespace ingot::transform
