// Checks. `checks` bounds what the iterations of a loop compute by intervals that code before the loop
// evaluates, and divides the loop: in the fast version the checks that cannot fail are gone, the careful
// version is the loop as it was. In compact code long loops around several others stay as they are, and those
// are divided. Checks on data - a gathered index, the domain of `math.log`, the overflow of
// loaded ints, `if x[i] < 0: raise` - divide strips of iterations: where they are all that keeps a loop from
// running in lanes, each strip (128 iterations, 64 of a loop around others) first computes the conditions of
// all of its iterations, in lanes and without a write, and then chooses between iterations without these
// checks and careful ones, which raise where Python raises. What reads memory that the loop writes, or
// carried values, cannot be computed before; a load after an index check waits for that check's phase.
// Folding knows where elementary functions are NaN or infinite, so that no condition computes them. A number
// to which each iteration adds a constant is bounded by the count of its `for`, or by time: no loop has 2^61
// iterations.

#include "transform/loops/checks.h"

#include <algorithm>
#include <unordered_map>

#include "ir/loops.h"
#include "ir/walk.h"
#include "transform/analyses/dependence.h"
#include "transform/analyses/early_checks.h"
#include "transform/analyses/intervals.h"
#include "transform/analyses/lane_judge.h"
#include "transform/analyses/recurrence.h"
#include "transform/analyses/thread_judge.h"
#include "transform/writers/rewriter.h"

namespace ingot::transform {

namespace {

/// Iterations in a strip of an innermost loop, as a power of two: few enough for the CPU to make the checks
/// of a strip while it still computes the one before.
constexpr int64_t kStripBits = 7;
/// ... and in one of a loop around others.
constexpr int64_t kOuterStripBits = 6;
/// ... and in one of which a launch makes the checks: enough for all of a device's threads.
constexpr int64_t kLaunchStripBits = 20;
/// Loops of fewer iterations are not worth a strip.
constexpr int64_t kFewIterations = 16;
/// Of a loop that cannot run in lanes, what is computed in lanes before takes at least this long, for the few
/// values that are kept: each takes as long as kKept.
constexpr int kMuchWork = 8;
constexpr int kKept = 2;
constexpr size_t kMostKept = 4;
/// What takes as long as an elementary function is worth a strip in loops of any number of iterations.
constexpr int kFunction = 30;

/// Loops around several others that have more nodes have no two versions in compact code.
constexpr size_t kMostInTwo = 100;

class LoopVersioner : public Rewriter {
 public:
  LoopVersioner(const Function& source, const base::Machine& machine)
      : Rewriter(source),
        loops_(b_),
        has_kernels_(machine.has_kernels()),
        compact_(machine.compact),
        divides_(machine.divides),
        dropped_(source.node_count()) {}

 protected:
  void visit(NodeId id) override {
    if (in_memory_.contains(id.index)) return bind(id, {});
    if (dropped_[id.index]) {
      if (source_.op(id) == Op::select) bind(id, use(source_.operand(id, 2)));
      if (source_.op(id) == Op::if_) open_without_raise(id);
      return;
    }
    if (only_values_) {
      if (source_.op(id) != Op::check) clone(id);
      return;
    }
    const Op op = source_.op(id);
    const bool counts = ir::is_counted_loop(op);
    if (!careful_ && counts && !waits(id) && !is_as_written(id) && !is_left_whole(id)) return divide(id);
    clone(id);
  }

  void bind(NodeId old, NodeId made) override {
    const auto kept = in_memory_.find(old.index);
    Rewriter::bind(old, kept == in_memory_.end() ? made : kept->second);
  }

  void set_attributes(NodeId id, std::span<int64_t> attributes) override {
    if (!careful_ || source_.op(id) != Op::for_) return;
    attributes[0] = static_cast<int64_t>(ir::Schedule::Vector);
    attributes[1] = 1;
  }

 private:
  /// Whether threads of a launch wait for each other in a loop: all of them have to be in the same one.
  bool waits(NodeId loop) const { return ir::effects_of(source_, loop).any(ir::effect::Sync); }
  void open_without_raise(NodeId branch) {
    const RegionId left = source_.region(branch, 1 - *raising_arm(source_, branch));
    visit_body(left);
    const Nodes given = use_all(source_.operands(source_.terminator(left)));
    for (size_t i = 0; i < given.size(); ++i) bind(source_.result(branch, i), given[i]);
  }
  /// select(i < 0, i + n, i).
  bool counts_from_end(NodeId node) const {
    if (source_.op(node) != Op::select) return false;
    const NodeId condition = source_.operand(node, 0);
    if (source_.op(condition) != Op::less || source_.operand(condition, 0) != source_.operand(node, 2))
      return false;
    const NodeId zero = source_.operand(condition, 1);
    return source_.type(zero) == ir::kInt64 && source_.is_constant(zero) &&
           source_.constant(zero).as<int64_t>() == 0;
  }

  /// Whether `hoist_counts` has left a loop as it was, for what it raises.
  bool is_as_written(NodeId loop) const { return has_kernels_ && ir::is_careful(source_, loop); }
  /// Whether a loop is much code around several others, which are divided each: two versions of all that are
  /// not worth their time in compact code.
  bool is_left_whole(NodeId loop) const {
    if (!compact_ || source_.op(loop) != Op::for_) return false;
    if (ir::schedule_of(source_, loop) != ir::Schedule::Serial) return false;
    size_t nodes = 0;
    ir::walk(source_, source_.region(loop), [&](NodeId) { ++nodes; });
    return nodes > kMostInTwo && has_several_loops(loop);
  }
  /// ... in it, next to each other.
  bool has_several_loops(NodeId loop) const {
    Nodes inside;
    ir::walk(source_, source_.region(loop), [&](NodeId node) {
      if (!ir::is_loop(source_.op(node))) return ir::Walk::Into;
      inside.push_back(node);
      return ir::Walk::Past;
    });
    return inside.size() > 1 || (inside.size() == 1 && has_several_loops(inside[0]));
  }
  bool has_loop_around(NodeId loop) const {
    for (NodeId at = source_[source_[loop].parent].owner; at; at = source_[source_[at].parent].owner)
      if (source_.op(at) != Op::if_ && source_.op(at) != Op::block) return true;
    return false;
  }

  void divide(NodeId loop) {
    if (has_kernels_ && !has_loop_around(loop) && only_checks(source_, loop)) return write_launches(loop);
    Nodes checks;
    Nodes selects;
    ir::walk(source_, loop, [&](NodeId node) {
      if (dropped_[node.index]) return ir::Walk::Past;
      if (source_.op(node) == Op::check) checks.push_back(node);
      if (counts_from_end(node)) selects.push_back(node);
      return ir::Walk::Into;
    });
    if (checks.empty()) {
      if (const auto strips = strips_of(loop, {})) return write_with(loop, b_.constant(true), {}, *strips);
      return clone(loop);
    }
    Intervals intervals(source_, loop, loops_, [this](NodeId old) { return use(old); });
    NodeId all = b_.constant(true);
    Nodes gone;
    const auto try_to_drop = [&](NodeId node, NodeId condition, bool wanted) {
      const auto holds = intervals.always(condition, wanted);
      const bool is_false = holds && b_.function().is_constant(*holds) && !is_true(*holds);
      if (!holds || is_false) return;
      all = loops_.both(all, *holds);
      gone.push_back(node);
      if (!wanted) intervals.assume_last(node);
    };
    for (NodeId select : selects)
      if (!intervals.is_invariant(select)) try_to_drop(select, source_.operand(select, 0), false);
    for (NodeId check : checks) try_to_drop(check, source_.operand(check, 0), true);
    if (const auto strips = strips_of(loop, gone)) return write_with(loop, all, gone, *strips);
    const bool any_check =
        std::ranges::any_of(gone, [&](NodeId node) { return source_.op(node) == Op::check; });
    if (!any_check || (b_.function().is_constant(all) && !is_true(all))) return clone(loop);
    write_versions(loop, all, [&] { without(loop, gone); }, [&] { write_careful(loop); });
  }

  /// Whether all innermost loops of a region could run in lanes, or loops around them.
  enum class Lanes : uint8_t { NoLoop, All, NotAll };
  Lanes lanes_in(NodeId node) const {
    Lanes inside = Lanes::NoLoop;
    for (size_t i = 0; i < source_[node].region_count; ++i)
      for (NodeId inner : source_.region_body(source_.region(node, i)))
        if (source_[inner].region_count > 0) inside = std::max(inside, lanes_of(inner));
    return inside;
  }
  Lanes lanes_of(NodeId node) const {
    const Op op = source_.op(node);
    const Lanes inside = lanes_in(node);
    if (op == Op::while_) return Lanes::NotAll;
    if (inside == Lanes::All || (op != Op::for_ && op != Op::parallel_for)) return inside;
    const EarlyChecks early(source_, node, dropped_);
    return fits_lanes(source_, node, without_checks(early.checks())) ? Lanes::All : Lanes::NotAll;
  }
  std::vector<bool> without_checks(Nodes gone, const EarlyChecks& early) const {
    gone.insert(gone.end(), early.checks().begin(), early.checks().end());
    return without_checks(gone);
  }
  std::vector<bool> without_checks(const Nodes& checks) const {
    std::vector<bool> gone = dropped_;
    for (NodeId check : checks) gone[check.index] = true;
    return gone;
  }

  /// What strips of a loop do before their iterations: checks, and values that the iterations find in memory.
  struct Strips {
    EarlyChecks checks;
    EarlyChecks::Values values{};
  };

  std::optional<Strips> strips_of(NodeId loop, const Nodes& gone) const {
    if (source_.op(loop) != Op::for_ || ir::is_careful(source_, loop)) return std::nullopt;
    const Lanes inside = lanes_in(loop);
    const bool goes_on = source_.op(source_.terminator(source_.region(loop))) == Op::yield;
    if (!goes_on || (inside == Lanes::All && !has_kernels_)) return std::nullopt;
    // Iterations that need no order, and threads share, are a launch with their checks.
    const bool is_asked = ir::has_threads(ir::schedule_of(source_, loop));
    if (has_kernels_ && inside != Lanes::NoLoop && is_asked) return std::nullopt;
    if (has_kernels_ && is_in_launch(loop)) return std::nullopt;
    if (inside == Lanes::All) {
      auto strips = strips_around_axes(loop, gone);
      const bool has_no_axes = holds_reductions_alone(loop) || find_race(source_, loop);
      return strips || !has_no_axes ? strips : strips_in_launch(loop, gone);
    }
    if (auto strips = strips_in_lanes(loop, gone)) return strips;
    if (has_kernels_) return strips_in_launch(loop, gone);
    return inside == Lanes::NoLoop ? strips_around_lanes(loop, gone) : std::nullopt;
  }
  /// Whether a loop around is over `prange` and shown to be independent: its threads make the checks.
  bool is_in_launch(NodeId loop) const {
    for (NodeId at = source_[source_[loop].parent].owner; at; at = source_[source_[at].parent].owner)
      if (source_.op(at) == Op::for_ && ir::schedule_of(source_, at) == ir::Schedule::IndependentThreads)
        return true;
    return false;
  }
  /// ... so that the iterations can run in lanes.
  std::optional<Strips> strips_in_lanes(NodeId loop, const Nodes& gone) const {
    EarlyChecks early(source_, loop, without_checks(gone));
    if (early.checks().empty() || !fits_lanes(source_, loop, without_checks(gone, early)))
      return std::nullopt;
    return Strips{early};
  }
  /// ... so that a launch can run all iterations, which conflict in sums, stores and carried values at most.
  std::optional<Strips> strips_in_launch(NodeId loop, const Nodes& gone) const {
    EarlyChecks early(source_, loop, without_checks(gone), true, true);
    if (early.checks().empty()) return std::nullopt;
    const std::vector<bool> left_out = without_checks(gone, early);
    const bool is_safe = ir::walk(source_, source_.region(loop), [&](NodeId node) {
      if (left_out[node.index]) return ir::Walk::Past;
      const bool raises = ir::info(source_.op(node)).effects.any(ir::effect::Raise);
      return raises ? ir::Walk::Stop : ir::Walk::Into;
    });
    const bool is_disjoint = source_.result_count(loop) == 0 ? meets_at_most(loop) : combines(source_, loop);
    return is_safe && is_disjoint ? std::optional(Strips{early}) : std::nullopt;
  }
  bool holds_reductions_alone(NodeId loop) const {
    return !ir::any_within(source_, source_.region(loop), [&](NodeId node) {
      return ir::is_loop(source_.op(node)) && source_.op(node) != Op::parallel_for;
    });
  }
  /// ... whose loops inside are axes of that launch: their iterations have no checks of their own.
  std::optional<Strips> strips_around_axes(NodeId loop, const Nodes& gone) const {
    if (source_.result_count(loop) > 0 || find_race(source_, loop)) return std::nullopt;
    auto strips = strips_in_launch(loop, gone);
    if (!strips) return std::nullopt;
    const bool are_disjoint = ir::walk(source_, source_.region(loop), [&](NodeId node) {
      const bool counts = ir::is_counted_loop(source_.op(node));
      const bool is_known = !counts || is_only_loop(node, loop) || are_same_in(node, strips->checks);
      return is_known ? ir::Walk::Into : ir::Walk::Stop;
    });
    return are_disjoint ? std::move(strips) : std::nullopt;
  }
  /// Whether a loop is the only one that an iteration of another comes to, of a count that is known before.
  bool is_only_loop(NodeId node, NodeId loop) const {
    if (source_[node].parent != source_.region(loop) || source_.encloses(loop, source_.operand(node, 0)))
      return false;
    return std::ranges::count_if(source_.region_body(source_.region(loop)), [&](NodeId other) {
             return source_[other].region_count > 0 && ir::is_counted_loop(source_.op(other));
           }) == 1;
  }
  /// Whether early checks in a loop fail in each of its iterations or in none.
  bool are_same_in(NodeId loop, const EarlyChecks& early) const {
    const RegionId body = source_.region(loop);
    std::vector<bool> varies(source_.node_count());
    for (const NodeId parameter : source_.region_parameters(body)) varies[parameter.index] = true;
    ir::walk(source_, body, [&](NodeId node) {
      const auto operands = source_.operands(node);
      varies[node.index] =
          std::ranges::any_of(operands, [&](NodeId operand) { return varies[operand.index]; });
      if (!varies[node.index]) return;
      for (size_t i = 0; i < source_[node].region_count; ++i)
        for (const NodeId parameter : source_.region_parameters(source_.region(node, i)))
          varies[parameter.index] = true;
      for (NodeId at = source_[source_[node].parent].owner; at != loop;
           at = source_[source_[at].parent].owner)
        varies[at.index] = true;
    });
    return std::ranges::all_of(early.checks(), [&](NodeId check) {
      if (!source_.encloses(body, check)) return true;
      for (NodeId at = check; at != loop; at = source_[source_[at].parent].owner)
        if (varies[source_.operand(at, 0).index]) return false;
      return true;
    });
  }
  bool meets_at_most(NodeId loop) const {
    std::vector<Accumulation> meeting;
    return !find_race(source_, loop, meeting, Stores::Shared);
  }
  /// ... as the iterations, which wait for each other, have much to do that does not.
  std::optional<Strips> strips_around_lanes(NodeId loop, const Nodes& gone) const {
    const std::vector<bool> left_out = without_checks(gone);
    // Iterations that do not wait for each other are for threads.
    if (ir::has_threads(ir::schedule_of(source_, loop))) return std::nullopt;
    if (source_.result_count(loop) == 0 && !find_race(source_, loop)) return std::nullopt;
    if (counts(loop)) return std::nullopt;
    if (fits_lanes(source_, loop, left_out) || fits_lanes(source_, loop, left_out, true)) return std::nullopt;
    EarlyChecks early(source_, loop, left_out, false);
    early.set_divides(divides_);
    EarlyChecks::Values values = early.values();
    const auto kept = static_cast<int>(values.kept.size());
    if (values.kept.empty() || values.kept.size() > kMostKept || values.cost < kMuchWork + kKept * kept)
      return std::nullopt;
    if (runs_in_lanes_around(loop)) return std::nullopt;
    return Strips{std::move(early), std::move(values)};
  }
  /// Whether a loop writes nothing and carries what are reductions for lanes once the checks of their
  /// overflows are gone, but not before.
  bool counts(NodeId loop) const {
    return combiners_of(source_, loop, true) && !combiners_of(source_, loop) &&
           !ir::effects_of(source_, loop).any(ir::effect::Write);
  }
  /// Whether a loop around has the better lanes.
  bool runs_in_lanes_around(NodeId loop) const {
    for (NodeId at = source_[source_[loop].parent].owner; at; at = source_[source_[at].parent].owner) {
      const Op op = source_.op(at);
      if (op != Op::for_ && op != Op::parallel_for) continue;
      const RowLoads loads(source_, at, loop, source_.region(loop));
      if (!(loads.all() && loads.any()) && fits_lanes(source_, at, dropped_)) return true;
    }
    return false;
  }

  bool is_true(NodeId made) const { return b_.function().constant(made).bits[0] != 0; }

  void without(NodeId loop, const Nodes& gone) {
    drop(gone, true);
    clone(loop);
    drop(gone, false);
  }

  void write_careful(NodeId loop) {
    careful_ = true;
    clone(loop);
    careful_ = false;
  }
  void drop(const Nodes& nodes, bool on) {
    for (NodeId node : nodes) dropped_[node.index] = on;
  }
  NodeId has_many_iterations(NodeId loop) {
    return b_.make(Op::greater_equal, {use(source_.operand(loop, 0)), b_.index(kFewIterations)});
  }

  void write_with(NodeId loop, NodeId all, const Nodes& gone, const Strips& plan) {
    // Lanes do not wait: short loops are as good as they were with all checks.
    if (plan.values.kept.empty()) {
      if (!has_kernels_ || lanes_in(loop) == Lanes::NoLoop) all = loops_.both(all, has_many_iterations(loop));
      return write_strips(loop, all, gone, plan);
    }
    const auto strips = [&] { write_strips(loop, b_.constant(true), {}, plan); };
    const auto fast = [&] {
      drop(gone, true);
      if (plan.checks.phases() == 0 || plan.values.cost >= kFunction) strips();
      else write_versions(loop, has_many_iterations(loop), strips, [&] { clone(loop); });
      drop(gone, false);
    };
    write_versions(loop, all, fast, [&] { write_careful(loop); });
  }

  int64_t strip_bits(NodeId loop) const {
    if (has_kernels_) return kLaunchStripBits;
    return lanes_in(loop) == Lanes::NoLoop ? kStripBits : kOuterStripBits;
  }

  /// Strips of iterations. In each, `all` and the results of the early checks choose between the iterations
  /// without these checks and the iterations as they were.
  void write_strips(NodeId loop, NodeId all, const Nodes& gone, const Strips& plan) {
    const EarlyChecks& early = plan.checks;
    const int64_t bits = strip_bits(loop);
    const NodeId iterations = loops_.maximum(use(source_.operand(loop, 0)), b_.index(0));
    const NodeId whole = b_.index(int64_t{1} << bits);
    const NodeId most = has_kernels_ ? loops_.minimum(iterations, whole) : whole;
    const Nodes results = source_.results_of(loop);
    std::vector<Type> types;
    for (NodeId result : results) types.push_back(source_.type(result));
    Nodes buffers;
    for (NodeId value : plan.values.kept)
      buffers.push_back(loops_.new_view(Nodes{most}, source_.type(value).dtype()));
    const Nodes first_values = use_all(source_.operands(loop).subspan(1));
    const auto strip = [&](NodeId first, NodeId count, std::span<const NodeId> carried) {
      drop(gone, true);
      NodeId holds = all;
      const size_t passes = has_kernels_ ? early.phases() : std::min<size_t>(early.phases(), 1);
      for (size_t pass = 0; pass < passes; ++pass)
        holds =
            loops_.both(holds, [&] { return loops_.negate(fails(loop, first, count, plan, pass, buffers)); });
      const auto with_values = [&] {
        drop(early.checks(), true);
        if (early.phases() <= plan.values.phase) compute_values(loop, first, count, plan.values, buffers);
        const Nodes after = run_strip(loop, first, count, carried, plan.values.kept, buffers);
        drop(early.checks(), false);
        drop(gone, false);
        return after;
      };
      const auto as_written = [&] {
        drop(gone, false);
        careful_ = true;
        loops_.set_one_by_one(true);
        const Nodes after = run_strip(loop, first, count, carried, {}, {});
        loops_.set_one_by_one(false);
        careful_ = false;
        return after;
      };
      return loops_.branch(holds, types, with_values, as_written);
    };
    const NodeId shift = b_.index(bits);
    const NodeId last_strip = b_.make(Op::right_shift, {loops_.subtract(iterations, b_.index(1)), shift});
    const NodeId strips = loops_.add(last_strip, b_.index(1));
    const Nodes given = loops_.nest({&strips, 1}, first_values, [&](auto number, auto carried) {
      const NodeId first = b_.make(Op::left_shift, {number[0], shift});
      return strip(first, loops_.minimum(loops_.subtract(iterations, first), most), carried);
    });
    for (size_t i = 0; i < results.size(); ++i) bind(results[i], given[i]);
  }

  /// Strips of iterations as they were, each for one launch.
  void write_launches(NodeId loop) {
    const NodeId iterations = loops_.maximum(use(source_.operand(loop, 0)), b_.index(0));
    const NodeId most = b_.index(int64_t{1} << kLaunchStripBits);
    const NodeId shift = b_.index(kLaunchStripBits);
    const NodeId last = b_.make(Op::right_shift, {loops_.subtract(iterations, b_.index(1)), shift});
    const NodeId strips = loops_.add(last, b_.index(1));
    loops_.set_one_by_one(true);
    loops_.nest({&strips, 1}, [&](auto number) {
      loops_.set_one_by_one(false);
      const NodeId first = b_.make(Op::left_shift, {number[0], shift});
      run_strip(loop, first, loops_.minimum(loops_.subtract(iterations, first), most), {}, {}, {});
    });
    loops_.set_one_by_one(false);
  }

  /// Into a buffer each, the values of a strip's iterations that are kept.
  void compute_values(NodeId loop, NodeId first, NodeId count, const EarlyChecks::Values& values,
                      const Nodes& buffers) {
    if (buffers.empty()) return;
    const RegionId body = source_.region(loop);
    loops_.nest({&count, 1}, [&](auto index) {
      bind(source_.region_parameters(body)[0], loops_.add(first, index[0]));
      keep_values(body, values, buffers, index[0], [](NodeId) { return false; });
    });
  }
  void keep_values(RegionId body, const EarlyChecks::Values& values, const Nodes& buffers, NodeId index,
                   const std::function<bool(NodeId)>& is_known) {
    only_values_ = true;
    for (NodeId node : source_.region_body(body))
      if (values.needed[node.index] && source_.op(node) != Op::result && !is_known(node)) visit(node);
    only_values_ = false;
    for (size_t i = 0; i < buffers.size(); ++i) loops_.store(buffers[i], {&index, 1}, use(values.kept[i]));
  }

  /// The iterations of a strip; values that are `kept` are found in buffers.
  Nodes run_strip(NodeId loop, NodeId first, NodeId count, std::span<const NodeId> carried, const Nodes& kept,
                  const Nodes& buffers) {
    const RegionId body = source_.region(loop);
    const auto parameters = source_.region_parameters(body);
    const bool around = loops_.independent();
    const auto schedule = ir::schedule_of(source_, loop);
    loops_.set_independent(around || (has_kernels_ && ir::is_shown_independent(schedule)));
    return loops_.loop(count, carried, [&](auto index, auto values) {
      loops_.set_independent(around);
      bind(parameters[0], loops_.add(first, index[0]));
      for (size_t i = 0; i < values.size(); ++i) bind(parameters[i + 1], values[i]);
      for (size_t i = 0; i < kept.size(); ++i) in_memory_[kept[i].index] = loops_.load(buffers[i], index);
      const bool ends = visit_body(body);
      for (NodeId value : kept) in_memory_.erase(value.index);
      return ends ? use_all(source_.operands(source_.terminator(body))) : Nodes();
    });
  }

  /// Whether, in any iteration of a strip, any check of a phase would fail, or, where lanes make them, of a
  /// later one; the last one keeps the values that it computes, unless they come after it.
  NodeId fails(NodeId loop, NodeId first, NodeId count, const Strips& plan, size_t phase,
               const Nodes& buffers) {
    const RegionId body = source_.region(loop);
    const auto iteration = [&](NodeId index) {
      bind(source_.region_parameters(body)[0], loops_.add(first, index));
      std::vector<bool> computed(source_.node_count());
      return fails_from(body, plan, phase, index, buffers, computed);
    };
    axis_.loop = axis_in(loop, plan, phase);
    if (!axis_.loop) return any_iteration(loop, count, iteration);
    const NodeId inner = loops_.maximum(use(source_.operand(axis_.loop, 0)), b_.index(1));
    const Nodes lengths{count, inner};
    const NodeId any = any_iteration(loop, loops_.product(lengths), [&](NodeId index) {
      const Nodes indices = loops_.unflatten(index, lengths);
      axis_.index = indices[1];
      return iteration(indices[0]);
    });
    axis_ = {};
    return any;
  }
  /// The loop in an iteration whose iterations a launch makes checks of a phase for, too; none: there is
  /// none.
  NodeId axis_in(NodeId loop, const Strips& plan, size_t phase) const {
    if (!has_kernels_ || !plan.values.kept.empty()) return {};
    NodeId found;
    for (const NodeId node : source_.region_body(source_.region(loop))) {
      if (!plan.checks.is_around(phase, node) || !ir::is_counted_loop(source_.op(node))) continue;
      if (found || are_same_in(node, plan.checks) || source_.encloses(loop, source_.operand(node, 0)))
        return {};
      found = node;
    }
    return found;
  }
  /// ... in one iteration. Lanes in which a check of a phase fails do not go on to the next phase.
  NodeId fails_from(RegionId body, const Strips& plan, size_t phase, NodeId index, const Nodes& buffers,
                    std::vector<bool>& computed) {
    const EarlyChecks& early = plan.checks;
    const NodeId any = fails_in(body, early, phase, &computed);
    if (phase + 1 == early.phases()) {
      if (!buffers.empty() && plan.values.phase <= phase)
        keep_values(body, plan.values, buffers, index, [&](NodeId node) { return computed[node.index]; });
      return any;
    }
    if (has_kernels_) return any;
    return loops_.branch(
        any, {ir::kBool}, [&] { return Nodes{b_.constant(true)}; },
        [&] { return Nodes{fails_from(body, plan, phase + 1, index, buffers, computed)}; })[0];
  }
  NodeId any_iteration(NodeId loop, NodeId count, const std::function<NodeId(NodeId)>& iteration) {
    set_location(loop);
    return loops_.any(count, iteration);
  }
  /// `computed`: the nodes of the iteration itself that phases before have computed, and this one.
  NodeId fails_in(RegionId region, const EarlyChecks& early, size_t phase,
                  std::vector<bool>* computed = nullptr) {
    NodeId any = b_.constant(false);
    for (NodeId node : source_.region_body(region)) {
      if (early.is_made_in(phase, node)) {
        const NodeId condition = use(source_.operand(node, 0));
        any = loops_.either(any, early.wanted(node) ? loops_.negate(condition) : condition);
      }
      if (early.is_needed_in(phase, node) && !(computed != nullptr && (*computed)[node.index])) {
        only_values_ = true;
        visit(node);
        only_values_ = false;
        if (computed != nullptr) (*computed)[node.index] = true;
      }
      if (early.is_around(phase, node)) any = loops_.either(any, fails_inside(node, early, phase));
    }
    return any;
  }
  NodeId fails_inside(NodeId node, const EarlyChecks& early, size_t phase) {
    if (source_.op(node) == Op::if_) {
      const NodeId condition = use(source_.operand(node, 0));
      const auto arm = [&](size_t i) {
        const bool raises = i == raising_arm(source_, node);
        return Nodes{raises ? b_.constant(false) : fails_in(source_.region(node, i), early, phase)};
      };
      return loops_.branch(condition, {ir::kBool}, [&] { return arm(0); }, [&] { return arm(1); })[0];
    }
    if (has_kernels_ && are_same_in(node, early)) {
      const NodeId has_iterations = loops_.less(b_.index(0), use(source_.operand(node, 0)));
      const auto first = [&] {
        bind(source_.region_parameters(source_.region(node))[0], b_.index(0));
        return fails_in(source_.region(node), early, phase);
      };
      return loops_.both(has_iterations, first);
    }
    const auto iteration = [&](NodeId index) {
      bind(source_.region_parameters(source_.region(node))[0], index);
      return fails_in(source_.region(node), early, phase);
    };
    const NodeId count = use(source_.operand(node, 0));
    if (node != axis_.loop) return any_iteration(node, count, iteration);
    return loops_.both(loops_.less(axis_.index, count), [&] { return iteration(axis_.index); });
  }

  /// A loop in the iteration whose iterations are those of the launch, and which one of it this is.
  struct Axis {
    NodeId loop;
    NodeId index;
  };

  LoopWriter loops_;
  Axis axis_;
  bool has_kernels_;
  bool compact_;
  bool divides_;
  std::vector<bool> dropped_;
  std::unordered_map<uint32_t, NodeId> in_memory_;  ///< values that are kept, loaded in the iteration
  bool careful_ = false;
  bool only_values_ = false;  ///< what is cloned is computed, and not checked
};

}  // namespace

std::unique_ptr<ir::Function> checks(const ir::Function& function, const base::Machine& machine) {
  return LoopVersioner(function, machine).run();
}

}  // namespace ingot::transform
