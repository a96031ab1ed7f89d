#include "transform/kernels/kernel_together.h"

#include <algorithm>

#include "base/dtype.h"
#include "ir/neighbours.h"

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

}  // namespace

int64_t iterations_together(const ir::Function& f, std::span<const NodeId> levels) {
  const ir::Neighbours iterations(f, levels.back());
  const auto body = f.region_body(f.region(levels.back()));
  if (body.size() > kMostNodes || !iterations.are_plain()) return 1;
  int cost = 0;
  int64_t size = 0;  // of the largest elements that neighbouring iterations load or store
  for (const NodeId node : body) {
    const Op op = f.op(node);
    if (ir::info(op).elementwise) cost += ir::cost_of(op, f.type(f.operand(node, 0)).dtype());
    if (op != Op::load && op != Op::store) continue;
    const NodeId view = f.operand(node, 0);
    const std::optional<size_t> axis = iterations.axis_of(node);
    if (axis && is_dense(f, view, *axis))
      size = std::max(size, static_cast<int64_t>(base::size_of(f.type(view).dtype())));
  }
  return size == 0 || cost > kMostCost ? 1 : std::clamp(kAccess / size, kLeast, kMost);
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
