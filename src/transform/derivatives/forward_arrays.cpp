#include <algorithm>
#include <array>

#include "transform/derivatives/forward.h"
#include "transform/derivatives/reduce_slopes.h"
#include "transform/writers/linear.h"
#include "transform/writers/loop_writer.h"

namespace ingot::transform {

void Forward::visit_reduce(NodeId id) {
  const auto old = source_.operands(id);
  const NodeId own = tangent(old[0]);
  if (!own) return;
  Nodes operands{own};
  const Op combiner = source_.op_attribute(id, 0);
  std::vector<int64_t> attributes(source_.attributes(id).begin(), source_.attributes(id).end());
  attributes[0] = static_cast<int64_t>(Op::add);
  if (combiner == Op::multiply && old.size() == 1) {
    const NodeId others = product_of_others(b_, source_.ints(id), use(old[0]));
    operands[0] = make(Op::multiply, {own, others});
  } else if (ir::info(combiner).laws.extreme) {
    const NodeId weights = weights_of_extreme(b_, source_.attributes(id), use(old[0]), use(id));
    const NodeId none = b_.constant(source_.type(id).element(), {});
    const NodeId has = make(Op::not_equal, {weights, spread(none, weights)});
    operands[0] = make(Op::select, {has, make(Op::multiply, {own, weights}), none});
  } else if (combiner != Op::add) {
    refuse(id);
  }
  for (size_t i = 1; i < old.size(); ++i) operands.push_back(use(old[i]));
  set_tangent(id, b_.make(Op::reduce, operands, attributes));
}

/// Sums are linear; others go step by step along the axis.
void Forward::visit_scan(NodeId id) {
  const NodeId own = tangent(source_.operand(id, 0));
  if (!own) return;
  const Op combiner = source_.op_attribute(id, 0);
  if (combiner == Op::add) return set_tangent(id, b_.make(Op::scan, std::array{own}, source_.attributes(id)));
  const auto axis = static_cast<int>(source_.attribute(id, 1));
  const NodeId x = use(source_.operand(id, 0));
  const NodeId y = use(id);
  LoopWriter w(b_);
  const Nodes lengths = lengths_of(b_, x);
  const auto line = [&](NodeId of, NodeId k) {
    Nodes operands{of};
    for (int i = 0; i < static_cast<int>(lengths.size()); ++i) {
      const auto part = static_cast<size_t>(i);
      operands.insert(operands.end(),
                      {i == axis ? k : w.index(0), i == axis ? w.index(1) : lengths[part], w.index(1)});
    }
    return b_.make(Op::slice, operands);
  };
  const NodeId made = w.new_view(lengths, source_.type(id).dtype());
  const NodeId is_empty = w.equal(lengths[static_cast<size_t>(axis)], w.index(0));
  const NodeId steps =
      w.select(is_empty, w.index(0), w.subtract(lengths[static_cast<size_t>(axis)], w.index(1)));
  Nodes first{made};
  for (int i = 0; i < static_cast<int>(lengths.size()); ++i) {
    const NodeId length = lengths[static_cast<size_t>(i)];
    first.insert(first.end(), {w.index(0), i == axis ? w.minimum(length, w.index(1)) : length, w.index(1)});
  }
  Nodes of_own = first;
  of_own[0] = own;
  b_.make(Op::write, {b_.make(Op::slice, first), b_.make(Op::slice, of_own)});
  w.loop(steps, {}, [&](std::span<const NodeId> indices, std::span<const NodeId>) {
    const NodeId k = w.add(indices[0], w.index(1));
    const Nodes operands{line(y, indices[0]), line(x, k)};
    const NodeId now = line(y, k);
    NodeId all;
    const NodeId tangents[] = {b_.make(Op::read, {line(made, indices[0])}), line(own, k)};
    for (size_t i = 0; i < operands.size(); ++i) {
      const auto part = push_forward(b_, combiner, operands, now, i, tangents[i]);
      if (part) all = sum(all, *part);
    }
    b_.make(Op::write, {line(made, k), all});
    return Nodes();
  });
  set_tangent(id, b_.make(Op::read, {made}));
}

/// The tangents go where the elements go.
void Forward::visit_sort(NodeId id) {
  const NodeId own = tangent(source_.operand(id, 0));
  if (!own) return;
  const NodeId positions =
      b_.make(Op::argsort, std::array{use(source_.operand(id, 0))}, source_.attributes(id));
  const int rank = source_.type(id).rank();
  Nodes operands{own};
  std::vector<int64_t> axes;
  const Nodes lengths = lengths_of(b_, own);
  for (int64_t axis = 0; axis < rank; ++axis) {
    axes.push_back(axis);
    operands.push_back(axis == source_.attribute(id, 0)
                           ? positions
                           : b_.make(Op::iota, lengths, std::array<int64_t, 1>{axis}));
  }
  set_tangent(id, b_.make(Op::gather, operands, axes));
}

void Forward::visit_concat(NodeId id) {
  if (!is_varied(id)) return;
  Nodes parts;
  for (const NodeId part : source_.operands(id)) parts.push_back(some_tangent(part));
  set_tangent(id, b_.make(Op::concat, parts, source_.attributes(id)));
}

void Forward::visit_dot(NodeId id) {
  const NodeId a = source_.operand(id, 0);
  const NodeId b = source_.operand(id, 1);
  NodeId all;
  if (const NodeId own = tangent(a)) all = make(Op::dot, {own, use(b)});
  if (const NodeId own = tangent(b)) all = sum(all, make(Op::dot, {use(a), own}));
  if (all) set_tangent(id, all);
}

bool Forward::is_product(NodeId id) const {
  const auto routine = ir::TextId(static_cast<uint32_t>(source_.attribute(id, 0)));
  return source_.module().text(routine) == "matmul";
}

/// The product of matrices is linear in each.
void Forward::visit_library(NodeId id) {
  const auto old = source_.operands(id);
  if (!is_product(id)) return visit_other(id);
  NodeId all;
  for (size_t i = 0; i < old.size(); ++i) {
    if (!tangent(old[i])) continue;
    Nodes operands = use_all(old);
    operands[i] = tangent(old[i]);
    all = sum(all, b_.make(Op::library, operands, source_.attributes(id), source_.type(id)));
  }
  if (all) set_tangent(id, all);
}

}  // namespace ingot::transform
