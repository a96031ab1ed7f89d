#include "transform/loops/split.h"

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <utility>

#include "ir/loops.h"
#include "ir/walk.h"
#include "transform/analyses/alias.h"
#include "transform/analyses/thread_judge.h"
#include "transform/writers/loop_writer.h"
#include "transform/writers/rewriter.h"

namespace ingot::transform {

namespace {

/// Loops of so few iterations, known while compiling, are one thread's.
constexpr int64_t kFewIterations = 16;
/// So many iterations keep all threads of a device busy.
constexpr int64_t kManyIterations = 1 << 14;

class Splitter : public Rewriter {
 public:
  explicit Splitter(const Function& source) : Rewriter(source), left_out_(source.node_count()) {
    ir::walk(source, source.body(), [&](NodeId node) {
      if (source.op(node) == Op::launch) return ir::Walk::Past;
      if (source.op(node) != Op::for_) return ir::Walk::Into;
      Nodes inner = parts_of(node);
      if (inner.empty()) return ir::Walk::Into;
      parts_[node.index] = std::move(inner);
      return ir::Walk::Past;
    });
  }
  bool any() const { return !parts_.empty(); }

 protected:
  void visit(NodeId id) override {
    if (left_out_[id.index]) return;
    const auto found = parts_.find(id.index);
    if (found == parts_.end()) return clone(id);
    const ir::SpanId location = b_.span();
    for (const NodeId own : found->second) {
      leave_out_others(id, own);
      b_.set_span(location);
      clone(id);
    }
    for (const NodeId node : source_.region_body(source_.region(id))) left_out_[node.index] = false;
  }

 private:
  /// The loops for each of which a loop is made; none: it stays whole.
  Nodes parts_of(NodeId loop) const {
    const RegionId body = source_.region(loop);
    Nodes inner;
    Nodes loads;
    for (const NodeId node : source_.region_body(body)) {
      const Op op = source_.op(node);
      if (op == Op::yield) continue;
      if (op == Op::for_ && source_.result_count(node) == 0) {
        inner.push_back(node);
      } else if (op == Op::load) {
        loads.push_back(node);
      } else if (source_[node].region_count > 0 || !ir::info(op).effects.pure() || ir::info(op).terminator) {
        return {};
      }
    }
    if (inner.size() < 2 || ir::is_careful(source_, loop) || !can_share(source_, loop)) return {};
    const bool are_axes = std::ranges::all_of(inner, [&](NodeId part) { return is_axis(loop, part); });
    const bool are_disjoint = std::ranges::none_of(
        loads, [&](NodeId load) { return may_write(source_, loop, source_.operand(load, 0)); });
    const bool raises = ir::effects_of(source_, loop).any(ir::effect::Raise);
    return are_axes && are_disjoint && !raises ? inner : Nodes();
  }
  bool is_axis(NodeId loop, NodeId inner) const {
    const NodeId count = source_.operand(inner, 0);
    const bool is_short =
        source_.is_constant(count) && source_.constant(count).as<int64_t>() <= kFewIterations;
    return !is_short && !ir::is_careful(source_, inner) && can_share(source_, inner) &&
           !source_.encloses(loop, count);
  }

  /// Of the loop's iteration one of the loops inside is left, with what it is computed from.
  void leave_out_others(NodeId loop, NodeId own) {
    const auto body = source_.region_body(source_.region(loop));
    for (const NodeId node : body) left_out_[node.index] = node != own && source_.op(node) != Op::yield;
    ir::walk(source_, own, [&](NodeId node) { keep(source_.operands(node)); });
  }
  void keep(std::span<const NodeId> values) {
    for (const NodeId value : values) {
      if (!left_out_[value.index]) continue;
      left_out_[value.index] = false;
      keep(source_.operands(value));
    }
  }

  std::unordered_map<uint32_t, Nodes> parts_;  ///< by loop
  std::vector<bool> left_out_;                 ///< by node, of the loop that is being written
};

/// Loops whose iterations are independent, but for whose iterations a loop goes on that is none of a grid's
/// axes: that one comes to be the outer one, so that both the iterations and the loops in them are a
/// launch's.
class Swapper : public Rewriter {
 public:
  explicit Swapper(const Function& source) : Rewriter(source), loops_(b_) {
    ir::walk(source, source.body(), [&](NodeId node) {
      if (source.op(node) == Op::launch) return ir::Walk::Past;
      if (source.op(node) != Op::for_) return ir::Walk::Into;
      const NodeId inner = inner_of(node);
      if (!inner) return can_share(source, node) ? ir::Walk::Past : ir::Walk::Into;
      inner_[node.index] = inner;
      return ir::Walk::Past;
    });
  }
  bool any() const { return !inner_.empty(); }

 protected:
  void visit(NodeId id) override {
    const auto found = inner_.find(id.index);
    if (found == inner_.end() || is_as_it_was_) return clone(id);
    const ir::SpanId location = b_.span();
    const NodeId count = use(source_.operand(id, 0));
    const auto swapped = [&] {
      loops_.when(loops_.less(b_.index(0), count), [&] { write_swapped(id, found->second); });
      return Nodes();
    };
    const auto as_it_was = [&] {
      is_as_it_was_ = true;
      b_.set_span(location);
      clone(id);
      is_as_it_was_ = false;
      return Nodes();
    };
    loops_.branch(loops_.less(count, b_.index(kManyIterations)), {}, swapped, as_it_was);
    b_.set_span(location);
  }

 private:
  /// The loop that goes on in each iteration of a loop; none: they do not change places.
  NodeId inner_of(NodeId loop) const {
    if (source_.result_count(loop) > 0 || ir::is_careful(source_, loop)) return {};
    NodeId inner;
    for (const NodeId node : source_.region_body(source_.region(loop))) {
      const Op op = source_.op(node);
      if (op == Op::yield) continue;
      const bool is_simple = source_[node].region_count == 0 &&
                             (ir::info(op).effects.pure() || op == Op::load) && !ir::info(op).terminator &&
                             op != Op::result;
      if (is_simple && !inner) {
        if (op == Op::load && may_write(source_, loop, source_.operand(node, 0))) return {};
        continue;
      }
      if (inner || op != Op::for_ || source_.result_count(node) > 0 || ir::is_careful(source_, node))
        return {};
      inner = node;
    }
    if (!inner || source_.encloses(loop, source_.operand(inner, 0))) return {};
    if (source_.op(source_.terminator(source_.region(loop))) != Op::yield ||
        source_.op(source_.terminator(source_.region(inner))) != Op::yield)
      return {};
    if (!can_share(source_, loop) || ir::effects_of(source_, loop).any(ir::effect::Raise)) return {};
    if (can_share(source_, inner) || !has_axis(inner)) return {};
    return inner;
  }
  bool has_axis(NodeId loop) const {
    return ir::any_within(source_, source_.region(loop), [&](NodeId node) {
      if (!ir::is_counted_loop(source_.op(node)) || ir::is_careful(source_, node)) return false;
      const NodeId count = source_.operand(node, 0);
      const bool is_short =
          source_.is_constant(count) && source_.constant(count).as<int64_t>() <= kFewIterations;
      return !is_short && can_share(source_, node);
    });
  }

  void write_swapped(NodeId loop, NodeId inner) {
    const int64_t serial[] = {static_cast<int64_t>(ir::Schedule::Serial), 0};
    int64_t independent[] = {source_.attribute(loop, 0), 0};
    make_independent(independent);
    const std::vector<bool> is_common = common_of(loop, inner);
    const NodeId outer = open(inner, serial);
    write_nodes(inner, [&](NodeId node) { return is_common[node.index]; });
    const NodeId made = open(loop, independent);
    write_nodes(loop, [&](NodeId node) { return node != inner; });
    write_nodes(inner, [&](NodeId node) { return !is_common[node.index]; });
    for (const NodeId node : {made, outer}) {
      b_.yield({});
      b_.end(node);
    }
  }
  NodeId open(NodeId loop, std::span<const int64_t> attributes) {
    set_location(loop);
    const NodeId count = use(source_.operand(loop, 0));
    const NodeId made = b_.begin(Op::for_, {&count, 1}, attributes);
    const Type index = ir::kInt64;
    bind(source_.region_parameters(source_.region(loop))[0], b_.enter(made, 0, {&index, 1})[0]);
    return made;
  }
  void write_nodes(NodeId loop, const std::function<bool(NodeId)>& is_wanted) {
    for (const NodeId node : source_.region_body(source_.region(loop))) {
      if (source_.op(node) == Op::yield || source_.op(node) == Op::result || !is_wanted(node)) continue;
      set_location(node);
      clone(node);
    }
  }
  /// What of an iteration of the inner loop is the same in all iterations of the outer one.
  std::vector<bool> common_of(NodeId loop, NodeId inner) const {
    std::vector<bool> is_common(source_.node_count());
    is_common[source_.region_parameters(source_.region(inner))[0].index] = true;
    for (const NodeId node : source_.region_body(source_.region(inner))) {
      const Op op = source_.op(node);
      const bool is_simple = source_[node].region_count == 0 && !ir::info(op).terminator &&
                             op != Op::result &&
                             (ir::info(op).effects.pure() ||
                              (op == Op::load && !may_write(source_, loop, source_.operand(node, 0))));
      is_common[node.index] = is_simple && std::ranges::all_of(source_.operands(node), [&](NodeId operand) {
                                return is_common[operand.index] || !source_.encloses(loop, operand);
                              });
    }
    return is_common;
  }

  LoopWriter loops_;
  std::unordered_map<uint32_t, NodeId> inner_;  ///< by the loop around
  bool is_as_it_was_ = false;
};

}  // namespace

std::unique_ptr<ir::Function> split(const ir::Function& function, const base::Machine&) {
  std::unique_ptr<ir::Function> made;
  Swapper swapper(function);
  if (swapper.any()) made = swapper.run();
  Splitter splitter(made ? *made : function);
  return splitter.any() ? splitter.run() : std::move(made);
}

}  // namespace ingot::transform
