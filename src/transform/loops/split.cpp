#include "transform/loops/split.h"

#include <algorithm>
#include <unordered_map>

#include "ir/walk.h"
#include "transform/analyses/alias.h"
#include "transform/analyses/thread_judge.h"
#include "transform/writers/rewriter.h"

namespace ingot::transform {

namespace {

/// Loops of so few iterations, known while compiling, are one thread's.
constexpr int64_t kFewIterations = 16;

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
    if (inner.size() < 2 || source_.attribute(loop, 1) == 1 || !can_share(source_, loop)) return {};
    const bool are_axes = std::ranges::all_of(inner, [&](NodeId part) { return is_axis(loop, part); });
    const bool are_disjoint = std::ranges::none_of(loads, [&](NodeId load) {
      return may_write(source_, body, root_of(source_, source_.operand(load, 0)));
    });
    const bool raises = ir::effects_of(source_, loop).any(ir::effect::Raise);
    return are_axes && are_disjoint && !raises ? inner : Nodes();
  }
  bool is_axis(NodeId loop, NodeId inner) const {
    const NodeId count = source_.operand(inner, 0);
    const bool is_short =
        source_.is_constant(count) && source_.constant(count).as<int64_t>() <= kFewIterations;
    return !is_short && source_.attribute(inner, 1) != 1 && can_share(source_, inner) &&
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

}  // namespace

std::unique_ptr<ir::Function> split(const ir::Function& function, const base::Machine&) {
  Splitter splitter(function);
  return splitter.any() ? splitter.run() : nullptr;
}

}  // namespace ingot::transform
