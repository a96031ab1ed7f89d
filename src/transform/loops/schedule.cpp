// Vectors. `schedule` marks loops whose iterations are independent: innermost ones, or the next one outside
// where the inner one carries a value (a sum in the written order). Codegen emits the body with W iterations
// in the lanes of vectors: values are uniform or varying, an `if` on a varying condition runs both arms under
// masks, a uniform inner loop runs for all lanes, and the remainder runs under a mask by the same code. A
// `while`, and a `for` whose count varies or that is left by `break`, goes on until no lane is live
// (`codegen/lane_control`); an exit to a label inside is a mask that the block's end takes up again, so no
// pass makes flags of exits. Such loops take two registers of lanes, loops round short sums four: their
// iterations wait for each other. What they gather must be little compared with what they compute. A `for`
// may carry cursors (`ir/cursor.h`), indices past what has been stored so far: a selection `a[mask]`, a loop
// that filters. Where the lanes of a register can be compacted, these run in lanes. If conflicts depend only
// on the distance of two accesses, which is known when the loop is entered (`distances`), the loop has two
// versions: the lanes run if they keep the order of these accesses: arguments that overlap, parts of one
// array. Where lanes step through memory by a stride, it is assumed to be of one element; a loop is entered
// for other strides one iteration at a time. Every second element - a part of complex numbers - is loaded
// with what is between. An op without a vector rule - a function without a kernel, a 64-bit `//` without
// AVX-512 - is called lane by lane.

#include "transform/loops/schedule.h"

#include <algorithm>
#include <unordered_map>

#include "ir/cursor.h"
#include "ir/evaluate.h"
#include "ir/loops.h"
#include "ir/walk.h"
#include "transform/analyses/disjoint.h"
#include "transform/analyses/lane_judge.h"
#include "transform/writers/loop_writer.h"
#include "transform/writers/parallel_writer.h"

namespace ingot::transform {

namespace {

/// Whether the loops in a loop are the better lanes: all that carry values carry reductions that take any
/// order, and read rows - contiguous from iteration to iteration - that are strided in the iterations of the
/// loop around.
class RowReductions {
 public:
  RowReductions(const Function& function, NodeId around) : f_(function), around_(around) {}

  bool are_better() { return all_fit(f_.region(around_)) && any_rows_; }

 private:
  bool all_fit(RegionId region) {
    return ir::walk(f_, region, [&](NodeId node) {
      if (f_.op(node) == Op::while_) return ir::Walk::Stop;
      if (f_.op(node) != Op::for_ || f_.result_count(node) == 0) return ir::Walk::Into;
      return fits(node) ? ir::Walk::Past : ir::Walk::Stop;
    });
  }
  bool fits(NodeId loop) {
    const std::vector<bool> none(f_.node_count());
    if (!combiners_of(f_, loop) || !fits_lanes(f_, loop, none, true)) return false;
    const RowLoads loads(f_, around_, loop, f_.region(loop));
    any_rows_ = any_rows_ || loads.any();
    return loads.all();
  }

  const Function& f_;
  NodeId around_;
  bool any_rows_ = false;
};

/// Whether the rows of a view are contiguous, one after another, and not known to be short.
bool has_rows(const Function& f, NodeId view) {
  const auto rank = static_cast<size_t>(f.type(view).rank());
  if (rank < 2) return false;
  if (f.op(view) == Op::param) {
    if (f[view].parent != f.body()) return false;
    const ir::ParameterInfo& own = f.parameters()[static_cast<size_t>(f.attribute(view, 0))];
    return own.layout == ir::Layout::C && own.last == 0;
  }
  if (f.op(view) != Op::view || !is_in_c_order(f, view)) return false;
  const NodeId last = f.operand(view, 1 + rank);
  return !f.is_constant(last) || f.constant(last).as<int64_t>() > ir::kLongestShort;
}

/// Whether a loop round others would have lanes that step along the rows of arrays in C order, which lanes do
/// not fetch: it would be entered one iteration after the other.
bool steps_over_rows(const Function& f, NodeId loop) {
  const NodeId index = f.region_parameters(f.region(loop))[0];
  std::vector<bool> depends(f.node_count());
  depends[index.index] = true;
  bool any = false;
  ir::walk(f, f.region(loop), [&](NodeId node) {
    const auto operands = f.operands(node);
    const bool is_access = f.op(node) == Op::load || f.op(node) == Op::store;
    if (!is_access) {
      depends[node.index] = f[node].region_count == 0 &&
                            std::ranges::any_of(operands, [&](NodeId id) { return depends[id.index]; });
      return;
    }
    const NodeId view = operands[0];
    const auto rank = static_cast<size_t>(f.type(view).rank());
    if (!has_rows(f, view)) return;
    const auto outer = operands.subspan(1, rank - 1);
    any = any || std::ranges::any_of(outer, [&](NodeId id) { return depends[id.index]; });
  });
  return any;
}

class Scheduler : public ParallelWriter {
 public:
  explicit Scheduler(const Function& source)
      : ParallelWriter(source), loops_(b_), none_(source.node_count()), chosen_(source.node_count()) {
    choose_in(source.body());
    const auto has_strided_lanes = [&](NodeId loop) {
      return ir::has_loop(source_, source_.region(loop)) && steps_over_rows(source_, loop);
    };
    choose_innermost_in(source.body(), [&](NodeId loop) {
      return !has_strided_lanes(loop) && fits_lanes(source_, loop, none_, true);
    });
    choose_innermost_in(source.body(), [&](NodeId loop) {
      if (has_strided_lanes(loop)) return false;
      auto pairs = pairs_to_ask_for(source_, loop);
      if (pairs) asked_[loop.index] = std::move(*pairs);
      return asked_.contains(loop.index);
    });
  }

 protected:
  void visit(NodeId id) override {
    if (chosen_[id.index] && source_.op(id) == Op::for_ && !ir::cursors_of(source_, id)) return reduce(id);
    if (is_contribution(id)) return;
    if (asked_.contains(id.index)) return ask(id);
    clone(id);
  }
  void set_attributes(NodeId id, std::span<int64_t> attributes) override {
    if (!chosen_[id.index]) return;
    if (id == in_order_) attributes[1] = 1;
    const bool threads = ir::has_threads(static_cast<ir::Schedule>(attributes[0]));
    attributes[0] = static_cast<int64_t>(ir::cpu_schedule(threads, true));
  }

 private:
  enum class Found : uint8_t { NoLoop, All, NotAll };

  static Found both(Found a, Found b) { return std::max(a, b); }

  /// Chooses loops of a region; whether all innermost ones were.
  Found choose_in(RegionId region) {
    Found found = Found::NoLoop;
    for (NodeId node : source_.region_body(region))
      if (source_[node].region_count > 0) found = both(found, choose(node));
    return found;
  }
  Found choose(NodeId node) {
    if (ir::runs_in_lanes(source_, node)) return Found::All;
    Found inside = Found::NoLoop;
    for (size_t i = 0; i < source_[node].region_count; ++i)
      inside = both(inside, choose_in(source_.region(node, i)));
    if (inside == Found::All || !ir::is_counted_loop(source_.op(node))) return inside;
    if (!fits_lanes(source_, node, none_)) return Found::NotAll;
    const auto keeps_inside = [&] {
      return RowReductions(source_, node).are_better() || steps_over_rows(source_, node);
    };
    if (inside == Found::NotAll && keeps_inside()) return Found::NotAll;
    ir::walk(source_, source_.region(node), [&](NodeId inner) { chosen_[inner.index] = false; });
    chosen_[node.index] = true;
    return Found::All;
  }

  /// Of the loops that neither are in a chosen one nor hold one, chooses the innermost that fit; gives
  /// whether there are chosen ones in the region.
  template <class Fits>
  bool choose_innermost_in(RegionId region, Fits&& fits) {
    bool any = false;
    for (NodeId node : source_.region_body(region)) {
      bool inside = chosen_[node.index] || ir::runs_in_lanes(source_, node);
      for (size_t i = 0;
           i < source_[node].region_count && !chosen_[node.index] && !ir::runs_in_lanes(source_, node); ++i)
        inside |= choose_innermost_in(source_.region(node, i), fits);
      if (!inside && source_.op(node) == Op::for_ && fits(node)) inside = chosen_[node.index] = true;
      any |= inside;
    }
    return any;
  }

  /// The loop in lanes where its accesses keep their order, else one iteration after the other.
  void ask(NodeId id) {
    const auto pairs = asked_.extract(id.index);
    const ir::SpanId location = b_.span();
    set_location(id);
    const NodeId keeps =
        keeps_order(loops_, source_, id, pairs.mapped(), [this](NodeId old) { return use(old); });
    const auto written = [&](NodeId in_order) {
      in_order_ = in_order;
      clone(id);
      in_order_ = {};
    };
    write_versions(id, keeps, [&] { written({}); }, [&] { written(id); });
    b_.set_span(location);
  }

  /// Makes a parallel loop of a `for` that carries reductions: an iteration yields its contributions.
  void reduce(NodeId id) {
    const std::vector<Op> combiners = combiners_of(source_, id).value();
    const bool threads = ir::has_threads(ir::schedule_of(source_, id));
    std::vector<Slot> slots;
    for (size_t i = 0; i < combiners.size(); ++i) {
      const DType dtype = source_.type(source_.result(id, i)).dtype();
      slots.push_back(
          {i, combiners[i], ir::identity_of(combiners[i], dtype), use(source_.operand(id, i + 1))});
    }
    const Nodes given = write_parallel(id, ir::cpu_schedule(threads, true), slots);
    for (size_t i = 0; i < given.size(); ++i) bind(source_.result(id, i), given[i]);
  }

  LoopWriter loops_;
  std::vector<bool> none_;  ///< no check is gone
  std::vector<bool> chosen_;
  std::unordered_map<uint32_t, std::vector<AccessPair>> asked_;  ///< by chosen loop: what is asked before it
  NodeId in_order_;  ///< a chosen loop that runs iteration after iteration
};

}  // namespace

std::unique_ptr<ir::Function> schedule(const ir::Function& function) { return Scheduler(function).run(); }

}  // namespace ingot::transform
