// What an iteration costs is counted from what is known before the loop: nodes by the op table, loops inside
// by their number of iterations. The machine specifies how much work a thread should get at once. Where
// elements of an array that the loop writes may share a location, so that iterations would conflict, one
// thread runs the loop; so it does where too little is known of the array. Compact code leaves loops on slow
// paths, and reductions in loops, to one thread.

#include "transform/loops/outline.h"

#include <algorithm>

#include "ir/loops.h"
#include "ir/walk.h"
#include "transform/analyses/disjoint.h"
#include "transform/analyses/table_numbers.h"
#include "transform/analyses/thread_judge.h"
#include "transform/writers/loop_writer.h"
#include "transform/writers/rewriter.h"

namespace ingot::transform {

namespace {

/// What a memory access and an allocation cost, in additions of lanes; and an addition without lanes.
constexpr int64_t kAccessInLanes = 2;
constexpr int64_t kAccess = 4;
constexpr int64_t kAllocation = 1000;
constexpr int64_t kAlone = 3;
/// Of counts and costs: products stay in 64 bits.
constexpr int64_t kMost = int64_t{1} << 30;
/// Of loops inside whose count is not known before, and of a `while`.
constexpr int64_t kUnknownIterations = 32;
constexpr int64_t kWhileIterations = 100;
/// An iteration that costs less than this, in additions, is done before its number in a table is looked at.
constexpr int64_t kTableCost = 32;
/// A loop is worth so many pieces before other threads are asked.
constexpr int64_t kLeastPieces = 3;

bool is_loop(const Function& f, NodeId node) { return ir::is_counted_loop(f.op(node)); }
bool may_share(const Function& f, NodeId node) {
  return is_loop(f, node) && ir::has_threads(ir::schedule_of(f, node));
}

class Outliner : public Rewriter {
 public:
  Outliner(const Function& source, const base::Machine& machine)
      : Rewriter(source), loops_(b_), machine_(machine) {}

 protected:
  void visit(NodeId id) override {
    const bool shares = may_share(source_, id) && !inside_ && !is_left_alone(id);
    const bool around = inside_;
    if (shares || ir::runs_in_lanes(source_, id) || source_.op(id) == Op::launch ||
        source_.op(id) == Op::share)
      inside_ = true;
    if (shares) share(id);
    else clone(id);
    inside_ = around;
  }

 private:
  /// Whether a loop is not worth the code that shares it where code is to be short: one on a slow path, or a
  /// reduction that is entered often.
  bool is_left_alone(NodeId loop) const {
    if (!machine_.compact || machine_.sharing == base::Machine::Sharing::Always) return false;
    if (ir::is_careful(source_, loop)) return true;
    if (source_.result_count(loop) == 0) return false;
    for (NodeId at = source_[source_[loop].parent].owner; at; at = source_[source_[at].parent].owner)
      if (ir::is_loop(source_.op(at))) return true;
    return false;
  }

  void share(NodeId loop) {
    const NodeId grain = grain_of(loop);
    if (b_.function().is_constant(grain, 0)) return clone(loop);
    const std::vector<NodeId> results = source_.results_of(loop);
    std::vector<Type> types;
    for (NodeId result : results) types.push_back(source_.type(result));
    const ir::SpanId location = b_.span();
    const NodeId made = b_.begin(Op::share, {{grain}}, {}, types);
    b_.enter(made, 0, {});
    clone(loop);
    b_.set_span(location);
    b_.yield(use_all(results));
    const Nodes given = b_.end(made);
    for (size_t i = 0; i < given.size(); ++i) bind(results[i], given[i]);
  }

  NodeId grain_of(NodeId loop) {
    const NodeId zero = b_.index(0);
    const NodeId count = use(source_.operand(loop, 0));
    const bool always = machine_.sharing == base::Machine::Sharing::Always;
    const RegionId body = source_.region(loop);
    const NodeId cost = always ? zero : cost_of(body, body, ir::runs_in_lanes(source_, loop));
    const NodeId has_work = always ? loops_.less(b_.index(1), count)
                                   : loops_.less_equal(b_.index(kLeastPieces * machine_.piece_work),
                                                       loops_.multiply(bounded(count), cost));
    return loops_.branch(
        has_work, {ir::kInt64},
        [&] {
          const NodeId grain =
              always
                  ? b_.index(1)
                  : loops_.add(b_.make(Op::floor_divide, {b_.index(machine_.piece_work), cost}), b_.index(1));
          return Nodes{loops_.select(writes_disjoint(loop, always ? NodeId() : cost), grain, zero)};
        },
        [&] { return Nodes{zero}; })[0];
  }

  NodeId bounded(NodeId count) { return loops_.minimum(loops_.maximum(count, b_.index(0)), b_.index(kMost)); }

  int64_t own_cost(NodeId node, bool in_lanes) const {
    const ir::OpInfo& card = ir::info(source_.op(node));
    if (card.effects.any(ir::effect::Allocate)) return kAllocation;
    if (card.effects.any(ir::effect::Read | ir::effect::Write)) return in_lanes ? kAccessInLanes : kAccess;
    if (!card.elementwise) return source_.is_constant(node) ? 0 : 1;
    const DType operand = source_.type(source_.operand(node, 0)).dtype();
    return in_lanes ? ir::lane_cost_of(source_.op(node), operand)
                    : kAlone * ir::cost_of(source_.op(node), operand);
  }
  /// What a region costs that is run once in an iteration of the loop whose body is `around`.
  NodeId cost_of(RegionId region, RegionId around, bool in_lanes) {
    int64_t known = 1;
    NodeId all = b_.index(0);
    for (NodeId node : source_.region_body(region)) {
      if (source_[node].region_count == 0) {
        known += own_cost(node, in_lanes);
        continue;
      }
      const NodeId iterations = iterations_of(node, around);
      const bool lanes_inside = in_lanes || ir::runs_in_lanes(source_, node);
      for (size_t i = 0; i < source_[node].region_count; ++i) {
        const NodeId iteration = cost_of(source_.region(node, i), around, lanes_inside);
        all = loops_.add(all, loops_.minimum(loops_.multiply(iterations, iteration), b_.index(kMost)));
      }
    }
    return loops_.minimum(loops_.add(all, b_.index(known)), b_.index(kMost));
  }
  NodeId iterations_of(NodeId node, RegionId around) {
    if (source_.op(node) == Op::while_) return b_.index(kWhileIterations);
    if (!is_loop(source_, node)) return b_.index(1);
    NodeId count = source_.operand(node, 0);
    // Of the last piece of a range there may be less.
    if (source_.op(count) == Op::minimum && source_.encloses(around, count))
      count = source_.operand(count, source_.encloses(around, source_.operand(count, 0)) ? 1 : 0);
    if (source_.is_constant(count)) return bounded(b_.index(source_.constant(count).as<int64_t>()));
    return source_.encloses(around, count) ? b_.index(kUnknownIterations) : bounded(use(count));
  }

  /// Whether the elements that a loop writes have different locations, so that iterations do not conflict,
  /// and the indices in tables that iterations write at are different. Tables are checked where an
  /// iteration's cost, if it is given, is worth that.
  NodeId writes_disjoint(NodeId loop, NodeId cost) {
    const Layouts layouts = written_layouts(source_, loop);
    if (!layouts.known) return b_.constant(false);
    NodeId all = are_disjoint(loops_, source_, layouts.views, [&](NodeId old) { return use(old); });
    std::vector<Table> tables;
    // Lanes, too, run only what is shown to be independent without tables.
    const ir::Schedule own = ir::schedule_of(source_, loop);
    if (source_.op(loop) != Op::for_ || ir::is_shown_independent(own) || ir::has_lanes(own)) return all;
    if (!reads_tables(source_, loop)) return all;  // which is found out sooner than that it can be shared
    if (!can_share(source_, loop, &tables)) return stores_by_table(source_, loop) ? b_.constant(false) : all;
    if (tables.empty()) return all;
    if (cost) all = loops_.both(all, loops_.less_equal(b_.index(kTableCost), cost));
    const auto look = [&] {
      NodeId different = loops_.truth(true);
      const NodeId iterations = use(source_.operand(loop, 0));
      for (const Table& table : tables) {
        TableNumbers numbers(loops_, table, iterations, [this](NodeId old) { return use(old); });
        different = loops_.both(different, numbers.differ());
      }
      return different;
    };
    return loops_.both(all, look);
  }

  LoopWriter loops_;
  const base::Machine& machine_;
  bool inside_ = false;  ///< a loop that is shared, or has lanes
};

}  // namespace

std::unique_ptr<ir::Function> outline(const ir::Function& function, const base::Machine& machine) {
  if (machine.sharing == base::Machine::Sharing::Never) return nullptr;
  const bool any =
      ir::any_within(function, function.body(), [&](NodeId node) { return may_share(function, node); });
  return any ? Outliner(function, machine).run() : nullptr;
}

}  // namespace ingot::transform
