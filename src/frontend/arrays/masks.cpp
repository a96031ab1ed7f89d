#include "frontend/arrays/masks.h"

#include <algorithm>
#include <ranges>

namespace ingot::frontend {

using ir::NodeId;
using ir::Op;

namespace {

bool may_write(const ir::Function& f, NodeId node) {
  return ir::effects_of(f, node).any(ir::effect::Write | ir::effect::Host | ir::effect::Sync);
}

/// Whether two nodes are the same array: the same node, the same memory read twice in one region without a
/// write between, or the same elementwise operation on such.
bool is_same(const ir::Function& f, NodeId a, NodeId b, int depth = 6) {
  if (a == b) return true;
  if (f.op(a) != f.op(b) || depth == 0) return false;
  if (ir::info(f.op(a)).elementwise) {
    return f.type(a) == f.type(b) && std::ranges::equal(f.attributes(a), f.attributes(b)) &&
           std::ranges::equal(f.operands(a), f.operands(b),
                              [&](NodeId x, NodeId y) { return is_same(f, x, y, depth - 1); });
  }
  if (f.op(a) != Op::read || f.operand(a, 0) != f.operand(b, 0)) return false;
  if (f[a].parent != f[b].parent) return false;
  const std::span<const NodeId> body = f.region_body(f[a].parent);
  const auto [first, last] = std::minmax({std::ranges::find(body, a), std::ranges::find(body, b)});
  return std::none_of(first, last, [&](NodeId node) { return may_write(f, node); });
}

/// Whether an op costs nearly nothing compared with reading and writing memory, for any operands.
bool is_cheap(Op op) {
  switch (op) {
    case Op::add:
    case Op::subtract:
    case Op::multiply:
    case Op::divide:
    case Op::negative:
    case Op::absolute:
    case Op::square:
    case Op::minimum:
    case Op::maximum:
    case Op::bitwise_and:
    case Op::bitwise_or:
    case Op::bitwise_xor:
    case Op::invert:
    case Op::select:
    case Op::cast: return true;
    default: return false;
  }
}

}  // namespace

NodeId as_first_read(const ir::Function& f, NodeId array) {
  if (f.op(array) != Op::read) return array;
  NodeId first = array;
  for (const NodeId node : f.region_body(f[array].parent) | std::views::reverse) {
    if (node > array) continue;
    if (may_write(f, node)) break;
    if (f.op(node) == Op::read && f.operand(node, 0) == f.operand(array, 0)) first = node;
  }
  return first;
}

bool has_own_elements(const ir::Function& f, NodeId view) {
  switch (f.op(view)) {
    case Op::slice:
    case Op::squeeze:
    case Op::expand:
    case Op::transpose: return has_own_elements(f, f.operand(view, 0));
    case Op::materialize: return true;
    case Op::param: break;
    default: return false;
  }
  if (f[view].parent != f.body()) return false;
  return f.parameters()[static_cast<size_t>(f.attribute(view, 0))].layout != ir::Layout::Any;
}

NodeId asks_for_own_elements(ir::Builder& builder, NodeId view) {
  const ir::Type type = builder.function().type(view);
  const auto either = [&](NodeId a, NodeId b) { return builder.make(Op::bitwise_or, {a, b}); };
  NodeId all = builder.constant(true);
  std::vector<NodeId> few;  // by axis
  std::vector<NodeId> strides;
  std::vector<NodeId> spans;
  for (int axis = 0; axis < type.rank(); ++axis) {
    const NodeId length = builder.length(view, axis);
    few.push_back(builder.make(Op::less_equal, {length, builder.index(1)}));
    strides.push_back(builder.make(Op::absolute, {builder.make(Op::stride, {view}, {axis})}));
    spans.push_back(builder.make(Op::multiply, {strides.back(), length}));
    const NodeId size = builder.index(static_cast<int64_t>(base::size_of(type.dtype())));
    const NodeId is_disjoint = builder.make(Op::less_equal, {size, strides.back()});
    all = builder.make(Op::bitwise_and, {all, either(few.back(), is_disjoint)});
    for (size_t other = 0; other + 1 < few.size(); ++other) {
      const NodeId inside = builder.make(Op::less_equal, {spans[other], strides.back()});
      const NodeId around = builder.make(Op::less_equal, {spans.back(), strides[other]});
      const NodeId is_one = either(few[other], few.back());
      all = builder.make(Op::bitwise_and, {all, either(is_one, either(inside, around))});
    }
  }
  return all;
}

NodeId before_mask(ir::Builder& builder, NodeId value, NodeId mask) {
  const ir::Function& f = builder.function();
  const int rank = f.type(mask).rank();
  if (f.op(value) == Op::compress) {
    const NodeId chosen_of = f.operand(value, 0);
    return f.type(chosen_of).rank() == rank && is_same(f, f.operand(value, 1), mask) ? chosen_of : NodeId();
  }
  if (f.op(value) == Op::broadcast && f.type(f.operand(value, 0)).is_scalar()) return f.operand(value, 0);
  if (!is_cheap(f.op(value))) return {};
  const std::span<const NodeId> given = f.operands(value);
  std::vector<NodeId> operands(given.begin(), given.end());
  for (NodeId& operand : operands) {
    if (f.type(operand).is_scalar()) continue;
    operand = before_mask(builder, operand, mask);
    if (!operand) return {};
  }
  if (f.op(value) == Op::cast) return builder.cast(operands[0], f.type(value).dtype());
  return builder.make(f.op(value), operands);
}

}  // namespace ingot::frontend
