#include <algorithm>
#include <array>
#include <numeric>

#include "transform/derivatives/pullback.h"
#include "transform/derivatives/reduce_slopes.h"
#include "transform/writers/linear.h"
#include "transform/writers/loop_writer.h"

namespace ingot::transform {

/// Sums over the axes that were added, and over those of length 1 that were repeated.
void Pullback::visit_broadcast(NodeId id, NodeId c) {
  const NodeId x = source_.operand(id, 0);
  if (!source_.type(x).is_array()) return sweep_.add(x, sum_of(c));
  LoopWriter w(b_);
  const int rank = source_.type(x).rank();
  const int more = source_.type(id).rank() - rank;
  const auto summed = [&](NodeId of, std::vector<int64_t> axes) {
    axes.insert(axes.begin(), static_cast<int64_t>(Op::add));
    return b_.make(Op::reduce, std::array{of}, axes);
  };
  std::vector<int64_t> added(static_cast<size_t>(more));
  std::iota(added.begin(), added.end(), int64_t{0});
  NodeId sum = more == 0 ? c : summed(c, added);
  if (rank == 0) {
    // Of all axes the sum is a number.
    if (!b_.function().type(sum).is_array()) sum = b_.make(Op::broadcast, {sum});
    return sweep_.add(x, sum);
  }
  for (int axis = 0; axis < rank; ++axis) {
    const NodeId own = sweep_.length(x, axis);
    if (own == sweep_.length(id, axis + more)) continue;
    const auto over_it = [&] {
      NodeId one = summed(sum, {axis});
      if (!b_.function().type(one).is_array()) one = b_.make(Op::broadcast, {one});
      return Nodes{b_.make(Op::expand, {one}, {axis})};
    };
    const std::vector<Type> types{source_.type(x)};
    const NodeId before = sum;
    sum = w.branch(w.equal(own, w.index(1)), types, over_it, [&] { return Nodes{before}; })[0];
  }
  sweep_.add(x, sum);
}

void Pullback::visit_slice(NodeId id, NodeId c) {
  const auto old = source_.operands(id);
  const NodeId memory = zeros(old[0]);
  Nodes operands{memory};
  for (const NodeId part : old.subspan(1)) operands.push_back(sweep_.value(part));
  make(Op::write, {b_.make(Op::slice, operands), c});
  sweep_.add(old[0], make(Op::read, {memory}));
}

void Pullback::visit_gather(NodeId id, NodeId c) {
  const auto old = source_.operands(id);
  const NodeId memory = zeros(old[0]);
  Nodes operands{memory, c};
  for (const NodeId index : old.subspan(1)) operands.push_back(sweep_.value(index));
  std::vector<int64_t> attributes(source_.ints(id).begin(), source_.ints(id).end());
  attributes.insert(attributes.begin(), static_cast<int64_t>(Op::add));
  b_.make(Op::scatter, operands, attributes);
  sweep_.add(old[0], make(Op::read, {memory}));
}

/// Each element that was chosen has its number among them; after all of them is a zero, for those that were
/// not.
void Pullback::visit_compress(NodeId id, NodeId c) {
  const NodeId x = source_.operand(id, 0);
  const NodeId mask = source_.operand(id, 1);
  LoopWriter w(b_);
  const NodeId chosen = sweep_.value(mask);
  const NodeId count = w.product(lengths_of(b_, chosen));
  const NodeId flat = make(Op::reshape, {chosen, count});
  const NodeId ones = b_.cast(flat, base::DType::Int64);
  const NodeId number = b_.make(Op::scan, {ones}, {static_cast<int64_t>(Op::add), 0});
  const Nodes shape = lengths_of(b_, c);
  const NodeId position = w.select(flat, w.subtract(number, w.index(1)), shape[0]);
  Nodes behind{zero(source_.type(x)), w.index(1)};
  behind.insert(behind.end(), shape.begin() + 1, shape.end());
  const NodeId longer = b_.make(Op::concat, {c, b_.make(Op::broadcast, behind)}, {0});
  Nodes operands = lengths(x);
  operands.insert(operands.begin(), b_.make(Op::gather, {longer, position}, {0}));
  sweep_.add(x, b_.make(Op::reshape, operands));
}

void Pullback::visit_reduce(NodeId id, NodeId c) {
  const auto old = source_.operands(id);
  const Op combiner = source_.op_attribute(id, 0);
  const NodeId none = zero(source_.type(id));
  NodeId all = over_axes(b_, source_.ints(id), c, lengths(old[0]));
  if (combiner == Op::multiply && old.size() == 1) {
    all = make(Op::multiply, {all, product_of_others(b_, source_.ints(id), sweep_.value(old[0]))});
  } else if (ir::info(combiner).laws.extreme) {
    const NodeId weights =
        weights_of_extreme(b_, source_.attributes(id), sweep_.value(old[0]), sweep_.value(id));
    const NodeId has = make(Op::not_equal, {weights, none});
    all = make(Op::select, {has, make(Op::multiply, {all, weights}), none});
  } else if (combiner != Op::add) {
    refuse_derivative(source_, id);
  }
  if (old.size() > 1) all = make(Op::select, {sweep_.value(old[1]), all, none});
  sweep_.add(old[0], all);
}

void Pullback::visit_scan(NodeId id, NodeId c) {
  if (source_.op_attribute(id, 0) != Op::add) return visit_product_along(id, c);
  const NodeId x = source_.operand(id, 0);
  const auto axis = static_cast<int>(source_.attribute(id, 1));
  const NodeId length = sweep_.length(x, axis);
  const NodeId last = make(Op::subtract, {length, b_.index(1)});
  const auto turned = [&](NodeId of) {
    // An empty axis has no last element to begin with.
    const NodeId first = make(Op::maximum, {last, b_.index(0)});
    return slice_along(b_, of, axis, first, length, -1);
  };
  sweep_.add(x, turned(b_.make(Op::scan, std::array{turned(c)}, source_.attributes(id))));
}

/// Step by step from the end: what a running combination adds to the one before, and to its element.
void Pullback::visit_product_along(NodeId id, NodeId c) {
  const NodeId x = source_.operand(id, 0);
  const Op combiner = source_.op_attribute(id, 0);
  const auto axis = static_cast<int>(source_.attribute(id, 1));
  LoopWriter w(b_);
  const NodeId values = sweep_.value(x);
  const NodeId results = sweep_.value(id);
  const NodeId given = w.new_view(lengths(x), source_.type(x).dtype());
  const NodeId running = w.new_view(lengths(x), source_.type(x).dtype());
  make(Op::write, {running, c});
  const auto line = [&](NodeId of, NodeId k) { return slice_along(b_, of, axis, k, w.index(1)); };
  const auto now = [&](NodeId view, NodeId k) { return make(Op::read, {line(view, k)}); };
  const NodeId count = sweep_.length(x, axis);
  const NodeId steps = make(Op::maximum, {w.subtract(count, w.index(1)), w.index(0)});
  w.loop(steps, {}, [&](std::span<const NodeId> iteration, std::span<const NodeId>) {
    const NodeId k = w.subtract(w.subtract(count, w.index(1)), iteration[0]);
    const NodeId before = w.subtract(k, w.index(1));
    const Nodes operands{line(results, before), line(values, k)};
    const NodeId result = line(results, k);
    const NodeId own = now(running, k);
    const auto to_running = pull_back(b_, combiner, operands, result, 0, own);
    const auto to_element = pull_back(b_, combiner, operands, result, 1, own);
    if (to_element) make(Op::write, {line(given, k), *to_element});
    if (to_running)
      make(Op::write, {line(running, before), make(Op::add, {now(running, before), *to_running})});
    return Nodes();
  });
  const NodeId first = make(Op::minimum, {count, w.index(1)});
  const auto start = [&](NodeId view) { return slice_along(b_, view, axis, w.index(0), first); };
  make(Op::write, {start(given), make(Op::read, {start(running)})});
  sweep_.add(x, make(Op::read, {given}));
}

/// Each element goes back to where it came from.
void Pullback::visit_sort(NodeId id, NodeId c) {
  const NodeId x = source_.operand(id, 0);
  const NodeId indices = b_.make(Op::argsort, std::array{sweep_.value(x)}, source_.attributes(id));
  const NodeId memory = zeros(x);
  Nodes operands{memory, c};
  std::vector<int64_t> attributes{static_cast<int64_t>(Op::constant)};
  const Nodes shape = lengths(x);
  for (int64_t axis = 0; axis < source_.type(id).rank(); ++axis) {
    attributes.push_back(axis);
    operands.push_back(
        axis == source_.attribute(id, 0) ? indices : b_.make(Op::iota, shape, std::array<int64_t, 1>{axis}));
  }
  b_.make(Op::scatter, operands, attributes);
  sweep_.add(x, make(Op::read, {memory}));
}

void Pullback::visit_concat(NodeId id, NodeId c) {
  const auto axis = static_cast<int>(source_.attribute(id, 0));
  NodeId start = b_.index(0);
  auto parts = source_.operands(id);
  // The lengths of constants after the last one that varies are not kept.
  while (!parts.empty() && !sweep_.varies(parts.back())) parts = parts.first(parts.size() - 1);
  for (const NodeId part : parts) {
    const NodeId length = sweep_.length(part, axis);
    if (sweep_.varies(part)) sweep_.add(part, slice_along(b_, c, axis, start, length));
    start = make(Op::add, {start, length});
  }
}

/// The product of matrices; vectors are matrices of one row or column.
void Pullback::visit_dot(NodeId id, NodeId c) {
  const NodeId a = source_.operand(id, 0);
  const NodeId b = source_.operand(id, 1);
  const int rank_a = source_.type(a).rank();
  const int rank_b = source_.type(b).rank();
  const auto product = [&](NodeId left, NodeId right) {
    if (source_.op(id) == Op::dot) return make(Op::dot, {left, right});
    return b_.make(Op::library, std::array{left, right}, source_.attributes(id), b_.function().type(left));
  };
  const auto swapped = [&](NodeId of) {
    const int rank = b_.function().type(of).rank();
    std::vector<int64_t> axes(static_cast<size_t>(rank));
    std::iota(axes.begin(), axes.end(), int64_t{0});
    std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
    return b_.make(Op::transpose, std::array{of}, axes);
  };
  const auto as_matrix = [&](NodeId of) {
    Nodes shape = lengths_of(b_, of);
    const NodeId last = shape.back();
    shape.pop_back();
    return make(Op::reshape, {of, LoopWriter(b_).product(shape), last});
  };
  const auto row = [&](NodeId of) { return b_.make(Op::expand, {of}, {0}); };
  const auto column = [&](NodeId of) { return b_.make(Op::expand, {of}, {1}); };
  NodeId whole = c;
  if (rank_a == 1 && rank_b == 1) whole = b_.make(Op::broadcast, {c, b_.index(1), b_.index(1)});
  else if (rank_a == 1) whole = row(c);
  else if (rank_b == 1) whole = column(c);
  if (sweep_.varies(a)) {
    const NodeId right = sweep_.value(b);
    const NodeId made = product(whole, swapped(rank_b == 1 ? column(right) : right));
    sweep_.add(a, rank_a == 1 ? b_.make(Op::squeeze, {made}, {0}) : made);
  }
  if (sweep_.varies(b)) {
    NodeId left = sweep_.value(a);
    if (rank_b == 2 && rank_a > 2) {
      // One matrix for all of the batch.
      left = as_matrix(left);
      whole = as_matrix(whole);
    }
    const NodeId made = product(swapped(rank_a == 1 ? row(left) : left), whole);
    sweep_.add(b, rank_b == 1 ? b_.make(Op::squeeze, {made}, {1}) : made);
  }
}

}  // namespace ingot::transform
