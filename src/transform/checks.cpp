#include "transform/checks.h"

#include <algorithm>

#include "transform/intervals.h"
#include "transform/rewriter.h"

namespace ingot::transform {

namespace {

class Divider : public Rewriter {
 public:
  explicit Divider(const Function& source) : Rewriter(source), loops_(b_), dropped_(source.node_count()) {}

 protected:
  void visit(NodeId id) override {
    if (dropped_[id.index]) {
      if (source_.op(id) == Op::select) bind(id, use(source_.operand(id, 2)));
      return;
    }
    const Op op = source_.op(id);
    if (!careful_ && (op == Op::for_ || op == Op::parallel_for)) return divide(id);
    clone(id);
  }

  void set_attributes(NodeId id, std::span<int64_t> attributes) override {
    if (!careful_ || source_.op(id) != Op::for_) return;
    attributes[0] = static_cast<int64_t>(ir::Schedule::Vector);
    attributes[1] = 1;
  }

 private:
  void collect(RegionId region, Nodes& checks, Nodes& selects) const {
    for (NodeId node : source_.region_body(region)) {
      if (dropped_[node.index]) continue;
      if (source_.op(node) == Op::check) checks.push_back(node);
      if (counts_from_end(node)) selects.push_back(node);
      for (size_t i = 0; i < source_[node].region_count; ++i)
        collect(source_.region(node, i), checks, selects);
    }
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

  void divide(NodeId loop) {
    Nodes checks;
    Nodes selects;
    for (size_t i = 0; i < source_[loop].region_count; ++i) collect(source_.region(loop, i), checks, selects);
    if (checks.empty()) return clone(loop);
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
    const bool any_check =
        std::ranges::any_of(gone, [&](NodeId node) { return source_.op(node) == Op::check; });
    if (!any_check || (b_.function().is_constant(all) && !is_true(all))) return clone(loop);
    if (b_.function().is_constant(all)) return without(loop, gone);
    write_both(loop, all, gone);
  }

  bool is_true(NodeId made) const { return b_.function().constant(made).bits[0] != 0; }

  void without(NodeId loop, const Nodes& gone) {
    for (NodeId node : gone) dropped_[node.index] = true;
    clone(loop);
    for (NodeId node : gone) dropped_[node.index] = false;
  }

  void write_both(NodeId loop, NodeId condition, const Nodes& gone) {
    const Nodes results = source_.results_of(loop);
    std::vector<Type> types;
    for (NodeId result : results) types.push_back(source_.type(result));
    const ir::SpanId place = b_.span();
    const NodeId choice = b_.begin(Op::if_, {&condition, 1}, {}, types);
    b_.enter(choice, 0, {});
    without(loop, gone);
    b_.yield(use_all(results));
    b_.enter(choice, 1, {});
    b_.set_span(place);
    careful_ = true;
    clone(loop);
    careful_ = false;
    b_.yield(use_all(results));
    b_.set_span(place);
    const Nodes given = b_.end(choice);
    for (size_t i = 0; i < results.size(); ++i) bind(results[i], given[i]);
  }

  LoopWriter loops_;
  std::vector<bool> dropped_;
  bool careful_ = false;
};

}  // namespace

std::unique_ptr<ir::Function> checks(const ir::Function& function) { return Divider(function).run(); }

}  // namespace ingot::transform
