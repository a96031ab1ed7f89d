#include "transform/derivatives/reduce_slopes.h"

#include <algorithm>
#include <array>

namespace ingot::transform {

Nodes lengths_of(ir::Builder& b, NodeId made) {
  Nodes lengths;
  for (int axis = 0; axis < b.function().type(made).rank(); ++axis) lengths.push_back(b.length(made, axis));
  return lengths;
}

NodeId slice_along(ir::Builder& b, NodeId of, int axis, NodeId start, NodeId length, int64_t step) {
  Nodes operands{of};
  for (int i = 0; i < b.function().type(of).rank(); ++i) {
    const bool is_it = i == axis;
    operands.push_back(is_it ? start : b.index(0));
    operands.push_back(is_it ? length : b.length(of, i));
    operands.push_back(b.index(is_it ? step : 1));
  }
  return b.make(Op::slice, operands);
}

NodeId over_axes(ir::Builder& b, std::span<const int64_t> axes, NodeId reduced, const Nodes& lengths) {
  if (b.function().type(reduced).is_array()) reduced = b.make(Op::expand, std::array{reduced}, axes);
  Nodes operands{reduced};
  operands.insert(operands.end(), lengths.begin(), lengths.end());
  return b.make(Op::broadcast, operands);
}

NodeId weights_of_extreme(ir::Builder& b, std::span<const int64_t> attributes, NodeId x, NodeId y) {
  const auto axes = attributes.subspan(1);
  const Nodes lengths = lengths_of(b, x);
  const NodeId extreme = over_axes(b, axes, y, lengths);
  const NodeId is_it = b.cast(b.make(Op::equal, {x, extreme}), b.function().type(x).dtype());
  std::vector<int64_t> of_sum(attributes.begin(), attributes.end());
  of_sum[0] = static_cast<int64_t>(Op::add);
  const NodeId count = b.make(Op::reduce, std::array{is_it}, of_sum);
  return b.make(Op::divide, {is_it, over_axes(b, axes, count, lengths)});
}

/// Of the elements before each element, and of those after it, along the one axis that all reduced axes make
/// when they are put last.
NodeId product_of_others(ir::Builder& b, std::span<const int64_t> axes, NodeId x) {
  const Type type = b.function().type(x);
  std::vector<int64_t> order;
  for (int64_t axis = 0; axis < type.rank(); ++axis)
    if (std::ranges::find(axes, axis) == axes.end()) order.push_back(axis);
  const auto axis = static_cast<int>(order.size());
  order.insert(order.end(), axes.begin(), axes.end());
  const NodeId moved = b.make(Op::transpose, std::array{x}, order);
  Nodes flat{moved};
  NodeId count = b.index(1);
  for (int i = 0; i < type.rank(); ++i) {
    const NodeId length = b.length(moved, i);
    if (i < axis) flat.push_back(length);
    else count = b.make(Op::multiply, {count, length});
  }
  flat.push_back(count);
  const NodeId lines = b.make(Op::reshape, flat);
  const NodeId last = b.make(Op::subtract, {count, b.index(1)});
  Nodes ones_like{b.cast(b.constant(1.0), type.dtype())};
  for (int i = 0; i < axis; ++i) ones_like.push_back(b.length(lines, i));
  ones_like.push_back(b.make(Op::minimum, {count, b.index(1)}));
  const NodeId one = b.make(Op::broadcast, ones_like);
  const NodeId but_one = b.make(Op::maximum, {last, b.index(0)});
  const auto before = [&](NodeId of) {
    const NodeId shifted = b.make(Op::concat, {one, slice_along(b, of, axis, b.index(0), but_one)}, {axis});
    return b.make(Op::scan, {shifted}, {static_cast<int64_t>(Op::multiply), axis});
  };
  const auto turned = [&](NodeId of) { return slice_along(b, of, axis, last, count, -1); };
  Nodes back{b.make(Op::multiply, {before(lines), turned(before(turned(lines)))})};
  for (int i = 0; i < type.rank(); ++i) back.push_back(b.length(moved, i));
  std::vector<int64_t> inverse(order.size());
  for (size_t i = 0; i < order.size(); ++i) inverse[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  return b.make(Op::transpose, std::array{b.make(Op::reshape, back)}, inverse);
}

}  // namespace ingot::transform
