#include "transform/apart.h"

#include <algorithm>

namespace ingot::transform {

using ir::Function;
using ir::NodeId;
using ir::Op;

bool is_in_c_order(const Function& f, NodeId view) {
  const auto rank = static_cast<size_t>(f.type(view).rank());
  const auto lengths = f.operands(view).subspan(2, rank);
  const auto strides = f.operands(view).subspan(2 + rank, rank);
  const auto size = static_cast<int64_t>(base::size_of(f.type(view).dtype()));
  for (size_t axis = rank; axis-- > 0;) {
    if (axis + 1 == rank) {
      if (!f.is_constant(strides[axis]) || f.constant(strides[axis]).as<int64_t>() != size) return false;
      continue;
    }
    const NodeId inside[] = {strides[axis + 1], lengths[axis + 1]};
    if (f.op(strides[axis]) != Op::multiply ||
        !std::ranges::is_permutation(f.operands(strides[axis]), inside))
      return false;
  }
  return true;
}

NodeId laid_out_as(const Function& f, NodeId view) {
  const auto parts = f.operands(view);
  if (f.op(parts[0]) != Op::buffer) return {};
  const NodeId of = f.operand(parts[0], 0);
  const auto rank = static_cast<size_t>(f.type(view).rank());
  if (!f.type(of).is_view() || static_cast<size_t>(f.type(of).rank()) != rank) return {};
  const auto is_part = [&](NodeId part, Op op) { return f.op(part) == op && f.operand(part, 0) == of; };
  if (!is_part(parts[1], Op::offset)) return {};
  for (size_t axis = 0; axis < rank; ++axis) {
    const NodeId stride = parts[2 + rank + axis];
    if (!is_part(stride, Op::stride) || f.attribute(stride, 0) != static_cast<int64_t>(axis)) return {};
  }
  return of;
}

}  // namespace ingot::transform
