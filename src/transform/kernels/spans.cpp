#include "transform/kernels/spans.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "ir/walk.h"
#include "transform/analyses/alias.h"
#include "transform/analyses/dependence.h"
#include "transform/analyses/thread_judge.h"
#include "transform/kernels/nest_copies.h"
#include "transform/writers/loop_writer.h"
#include "transform/writers/rewriter.h"

namespace ingot::transform {

namespace {

class SpanVersioner : public Rewriter {
 public:
  explicit SpanVersioner(const Function& source) : Rewriter(source), loops_(b_) {
    ir::walk(source, source.body(), [&](NodeId node) {
      if (source.op(node) == Op::launch) return ir::Walk::Past;
      if (!ir::is_counted_loop(source.op(node))) return ir::Walk::Into;
      if (source.attribute(node, 1) == 1 || can_share(source, node)) return ir::Walk::Past;
      Nodes found = spans_of(node);
      if (found.empty()) return ir::Walk::Into;
      spans_[node.index] = std::move(found);
      return ir::Walk::Past;
    });
  }
  bool any() const { return !spans_.empty(); }

 protected:
  void visit(NodeId id) override {
    const auto found = spans_.find(id.index);
    if (found == spans_.end() || is_inside_) return clone(id);
    const ir::SpanId location = b_.span();
    const NodeId follow = follow_each_other(id, found->second);
    is_inside_ = true;
    const auto at_once = [&] {
      independent_ = id;
      clone(id);
      independent_ = {};
      return Nodes();
    };
    loops_.branch(follow, {}, at_once, [&] { return clone(id), Nodes(); });
    is_inside_ = false;
    b_.set_span(location);
  }
  void set_attributes(NodeId id, std::span<int64_t> attributes) override {
    if (id != independent_) return;
    const bool is_asked = ir::has_threads(static_cast<ir::Schedule>(attributes[0]));
    attributes[0] =
        static_cast<int64_t>(is_asked ? ir::Schedule::IndependentThreads : ir::Schedule::Independent);
  }

 private:
  /// The views of an iteration whose spans have to follow each other; none: that cannot be asked.
  Nodes spans_of(NodeId loop) const {
    if (source_.op(loop) != Op::for_ || source_.result_count(loop) > 0) return {};
    const ir::Effects bad = ir::effect::Raise | ir::effect::Exit | ir::effect::Host | ir::effect::Random |
                            ir::effect::Sync | ir::effect::Allocate;
    if (ir::effects_of(source_, loop).any(bad) || !ir::has_loop(source_, source_.region(loop))) return {};
    Nodes found;
    if (find_race_but_in_spans(source_, loop, found)) return {};
    const bool are_known = std::ranges::all_of(found, [&](NodeId view) {
      NodeId memory = source_.operand(view, 0);
      if (source_.op(memory) == Op::buffer) memory = source_.operand(memory, 0);
      return !source_.encloses(loop, memory) && is_known(source_.operand(view, 1), loop) &&
             is_known(source_.operand(view, 2), loop);
    });
    return are_known ? found : Nodes();
  }
  /// Whether a value can be computed before the loop, for any of its iterations.
  bool is_known(NodeId value, NodeId loop) const {
    if (!source_.encloses(loop, value) || value == source_.region_parameters(source_.region(loop))[0])
      return true;
    if (source_.op(value) == Op::load) return is_loaded_before(value, loop);
    if (source_[value].region_count > 0 || source_.op(value) == Op::param ||
        source_.op(value) == Op::result || !ir::info(source_.op(value)).effects.pure())
      return false;
    return std::ranges::all_of(source_.operands(value), [&](NodeId part) { return is_known(part, loop); });
  }
  /// Whether an element that no iteration writes has been loaded before the loop, too: it is there.
  bool is_loaded_before(NodeId load, NodeId loop) const {
    if (may_write(source_, source_.region(loop), root_of(source_, source_.operand(load, 0)))) return false;
    for (NodeId at = loop; at; at = source_[source_[at].parent].owner) {
      for (const NodeId node : source_.region_body(source_[at].parent)) {
        if (node == at) break;
        if (source_.op(node) == Op::load &&
            std::ranges::equal(source_.operands(node), source_.operands(load)))
          return true;
      }
    }
    return false;
  }

  NodeId follow_each_other(NodeId loop, const Nodes& views) {
    set_location(loop);
    const NodeId one = b_.index(1);
    const NodeId pairs = loops_.maximum(loops_.subtract(use(source_.operand(loop, 0)), one), b_.index(0));
    const NodeId operands[] = {pairs, b_.constant(false)};
    const int64_t attributes[] = {static_cast<int64_t>(ir::Schedule::Serial), 0,
                                  static_cast<int64_t>(Op::bitwise_or)};
    const NodeId made = b_.begin(Op::parallel_for, operands, attributes);
    const Type index = ir::kInt64;
    const NodeId iteration = b_.enter(made, 0, {&index, 1})[0];
    NestCopies copies(b_, source_, loop, [this](NodeId old) { return use(old); });
    NestCopies::Lane lanes[] = {copies.none(), copies.none()};
    const NodeId parameter = source_.region_parameters(source_.region(loop))[0];
    lanes[0][parameter.index] = iteration;
    lanes[1][parameter.index] = loops_.add(iteration, one);
    NodeId any = b_.constant(false);
    for (const NodeId view : views) {
      const NodeId length = loops_.maximum(copies.rebuilt(lanes[0], source_.operand(view, 2)), b_.index(0));
      const NodeId bytes =
          loops_.multiply(length, b_.index(static_cast<int64_t>(base::size_of(source_.type(view).dtype()))));
      const NodeId end = loops_.add(copies.rebuilt(lanes[0], source_.operand(view, 1)), bytes);
      any = loops_.either(any, loops_.less(copies.rebuilt(lanes[1], source_.operand(view, 1)), end));
    }
    b_.yield({any});
    return loops_.negate(b_.end(made)[0]);
  }

  LoopWriter loops_;
  std::unordered_map<uint32_t, Nodes> spans_;  ///< by loop
  NodeId independent_;
  bool is_inside_ = false;
};

}  // namespace

std::unique_ptr<ir::Function> spans(const ir::Function& function) {
  SpanVersioner versioner(function);
  return versioner.any() ? versioner.run() : nullptr;
}

}  // namespace ingot::transform
