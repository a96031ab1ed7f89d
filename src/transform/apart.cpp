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

}  // namespace ingot::transform
