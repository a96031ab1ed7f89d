#include "transform/kernels/spans.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "ir/loops.h"
#include "ir/walk.h"
#include "transform/analyses/alias.h"
#include "transform/analyses/dependence.h"
#include "transform/analyses/from_outside.h"
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
      if (ir::is_careful(source, node) || can_share(source, node)) return ir::Walk::Past;
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
    if (id == independent_) make_independent(attributes);
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
    // ... before the loop, for any of its iterations.
    const NodeId iteration = source_.region_parameters(source_.region(loop))[0];
    FromOutside is_known(source_, [&](NodeId value) {
      const Origin origin = value == iteration ? Origin::Outside : origin_in(source_, loop, value);
      const bool is_load = origin != Origin::Outside && source_.op(value) == Op::load;
      return is_load && is_loaded_before(value, loop) ? Origin::Outside : origin;
    });
    const bool are_known = std::ranges::all_of(found, [&](NodeId view) {
      NodeId memory = source_.operand(view, 0);
      if (source_.op(memory) == Op::buffer) memory = source_.operand(memory, 0);
      return !source_.encloses(loop, memory) && is_known(source_.operand(view, 1)) &&
             is_known(source_.operand(view, 2));
    });
    return are_known ? found : Nodes();
  }
  /// Whether an element that no iteration writes has been loaded before the loop, too: it is there.
  bool is_loaded_before(NodeId load, NodeId loop) const {
    if (may_write(source_, loop, source_.operand(load, 0))) return false;
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
    return loops_.negate(loops_.any(pairs, [&](NodeId iteration) {
      NestCopies copies(b_, source_, loop, [this](NodeId old) { return use(old); });
      NestCopies::Lane lanes[] = {copies.none(), copies.none()};
      const NodeId parameter = source_.region_parameters(source_.region(loop))[0];
      lanes[0][parameter.index] = iteration;
      lanes[1][parameter.index] = loops_.add(iteration, one);
      NodeId any = b_.constant(false);
      for (const NodeId view : views) {
        const NodeId length = loops_.maximum(copies.rebuilt(lanes[0], source_.operand(view, 2)), b_.index(0));
        const auto size = static_cast<int64_t>(base::size_of(source_.type(view).dtype()));
        const NodeId bytes = loops_.multiply(length, b_.index(size));
        const NodeId end = loops_.add(copies.rebuilt(lanes[0], source_.operand(view, 1)), bytes);
        any = loops_.either(any, loops_.less(copies.rebuilt(lanes[1], source_.operand(view, 1)), end));
      }
      return any;
    }));
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
