#include "transform/kernels/kernel_together.h"

#include <algorithm>

#include "base/dtype.h"

namespace ingot::transform {

using ir::NodeId;
using ir::Op;

namespace {

/// What one access loads at most.
constexpr int64_t kAccess = 16;
constexpr int64_t kLeast = 2;
constexpr int64_t kMost = 4;
/// Iterations that take longer, in additions, are not done together: their code would be copied.
constexpr int kMostCost = 24;
constexpr size_t kMostNodes = 64;

class IterationJudge {
 public:
  IterationJudge(const ir::Function& f, NodeId level)
      : f_(f), body_(f.region(level)), index_(f.region_parameters(body_)[0]), varies_(f.node_count()) {}

  int64_t judge() {
    varies_[index_.index] = true;
    int cost = 0;
    const auto body = f_.region_body(body_);
    if (body.size() > kMostNodes) return 1;
    for (const NodeId node : body) {
      const Op op = f_.op(node);
      if (op == Op::yield) continue;
      const bool is_access = op == Op::load || op == Op::store;
      const bool is_plain = f_[node].region_count == 0 && f_.result_count(node) <= 1 &&
                            (is_access || ir::info(op).effects.pure());
      if (!is_plain) return 1;
      varies_[node.index] =
          std::ranges::any_of(f_.operands(node), [&](NodeId operand) { return varies(operand); });
      if (is_access) look(node);
      else if (ir::info(op).elementwise) cost += ir::cost_of(op, f_.type(f_.operand(node, 0)).dtype());
      if (cost > kMostCost) return 1;
    }
    return size_ == 0 ? 1 : std::clamp(kAccess / size_, kLeast, kMost);
  }

 private:
  bool varies(NodeId value) const { return varies_[value.index]; }
  void look(NodeId access) {
    const NodeId view = f_.operand(access, 0);
    const auto rank = static_cast<size_t>(f_.type(view).rank());
    const auto indices = f_.operands(access).subspan(1, rank);
    if (varies(view)) return;
    for (size_t i = 0; i < rank; ++i) {
      if (!varies(indices[i])) continue;
      if (!is_dense(f_, view, i) || !goes_on(indices[i])) return;
      if (std::ranges::any_of(indices.subspan(i + 1), [&](NodeId other) { return varies(other); })) return;
      size_ = std::max(size_, static_cast<int64_t>(base::size_of(f_.type(view).dtype())));
      return;
    }
  }
  /// Whether an index is the iteration's, and something that all iterations have in common.
  bool goes_on(NodeId index) const {
    if (index == index_) return true;
    const Op op = f_.op(index);
    if (f_[index].parent != body_ || (op != Op::add && op != Op::subtract)) return false;
    const NodeId a = f_.operand(index, 0);
    const NodeId b = f_.operand(index, 1);
    if (!varies(b)) return goes_on(a);
    return op == Op::add && !varies(a) && goes_on(b);
  }

  const ir::Function& f_;
  ir::RegionId body_;
  NodeId index_;
  std::vector<bool> varies_;
  int64_t size_ = 0;  ///< of the largest elements that neighbouring iterations load or store
};

}  // namespace

int64_t iterations_together(const ir::Function& f, std::span<const NodeId> levels) {
  return IterationJudge(f, levels.back()).judge();
}

bool is_dense(const ir::Function& f, NodeId view, size_t axis) {
  const auto rank = static_cast<size_t>(f.type(view).rank());
  if (f.op(view) == Op::view) {
    const auto size = static_cast<int64_t>(base::size_of(f.type(view).dtype()));
    return f.is_constant(f.operand(view, 2 + rank + axis), size);
  }
  if (f.op(view) != Op::param || f[view].parent != f.body()) return false;
  const ir::Layout layout = f.parameters()[static_cast<size_t>(f.attribute(view, 0))].layout;
  return layout == ir::Layout::C ? axis + 1 == rank : layout == ir::Layout::F && axis == 0;
}

}  // namespace ingot::transform
