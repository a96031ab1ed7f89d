#include <algorithm>

#include "transform/lowering.h"

namespace ingot::transform {

NodeId Lowering::element(NodeId old, Indices indices) {
  if (!source_.type(old).is_array()) return use(old);
  if (whole(old).view) return loops_.load(whole(old).view, indices);
  switch (source_.op(old)) {
    case Op::iota: return indices[static_cast<size_t>(source_.attribute(old, 0))];
    case Op::broadcast: return element_of_broadcast(old, indices);
    case Op::transpose:
    case Op::slice:
    case Op::squeeze:
    case Op::expand: return element_of_rearrangement(old, indices);
    default: return element_of_elementwise(old, indices);
  }
}

NodeId Lowering::element_of_elementwise(NodeId old, Indices indices) {
  Nodes operands;
  for (NodeId operand : source_.operands(old)) operands.push_back(element(operand, indices));
  const Type type = ir::info(source_.op(old)).typed ? source_.type(old).element() : Type();
  return b_.make(source_.op(old), operands, source_.attributes(old), type);
}

NodeId Lowering::element_of_broadcast(NodeId old, Indices indices) {
  const NodeId x = source_.operand(old, 0);
  if (!source_.type(x).is_array()) return element(x, {});
  const Nodes& own = whole(x).lengths;
  const size_t added = indices.size() - own.size();
  Nodes at;
  for (size_t i = 0; i < own.size(); ++i) {
    const NodeId same = loops_.equal(own[i], whole(old).lengths[added + i]);
    at.push_back(loops_.select(same, indices[added + i], b_.index(0)));
  }
  return element(x, at);
}

NodeId Lowering::element_of_rearrangement(NodeId old, Indices indices) {
  const NodeId x = source_.operand(old, 0);
  const Op op = source_.op(old);
  Nodes at(static_cast<size_t>(source_.type(x).rank()), b_.index(0));
  if (op == Op::slice) {
    for (size_t i = 0; i < at.size(); ++i)
      at[i] = loops_.add(use(source_.operand(old, 1 + 3 * i)),
                         loops_.multiply(indices[i], use(source_.operand(old, 3 + 3 * i))));
    return element(x, at);
  }
  const auto axes = source_.ints(old);
  const auto listed = [&](size_t i) {
    return std::ranges::find(axes, static_cast<int64_t>(i)) != axes.end();
  };
  size_t next = 0;
  if (op == Op::transpose) {
    for (size_t i = 0; i < at.size(); ++i) at[static_cast<size_t>(axes[i])] = indices[i];
  } else if (op == Op::squeeze) {
    for (size_t i = 0; i < at.size(); ++i)
      if (!listed(i)) at[i] = indices[next++];
  } else {
    for (size_t i = 0; i < indices.size(); ++i)
      if (!listed(i)) at[next++] = indices[i];
  }
  return element(x, at);
}

/// An element is evaluated from those of the operands at the same indices.
bool Lowering::is_pointwise(NodeId old) const {
  const Op op = source_.op(old);
  return ir::info(op).elementwise || op == Op::cast || op == Op::select;
}

/// Whether evaluating elements of `old` reads memory of this root only at the element of `view` of the same
/// indices.
bool Lowering::reads_only_at(NodeId old, NodeId view, const Root& root) const {
  if (!source_.type(old).is_array()) return true;
  const Whole& w = whole(old);
  if (std::ranges::none_of(w.reads, [&](const Root& read) { return may_overlap(read, root); })) return true;
  if (w.view) return w.view == view;
  if (!is_pointwise(old)) return false;
  return std::ranges::all_of(source_.operands(old),
                             [&](NodeId operand) { return reads_only_at(operand, view, root); });
}

void Lowering::lower_pointwise(NodeId id) {
  Whole w{.dtype = dtype_of(id), .cost = 1};
  for (NodeId operand : source_.operands(id)) {
    if (!source_.type(operand).is_array()) continue;
    const Whole& x = whole(operand);
    if (w.lengths.empty()) w.lengths = x.lengths;
    w.cost += x.cost;
    w.reads.insert(w.reads.end(), x.reads.begin(), x.reads.end());
  }
  define(id, std::move(w));
}

void Lowering::lower_iota(NodeId id) {
  define(id, {.dtype = DType::Int64, .lengths = use_all(source_.operands(id))});
}

void Lowering::lower_read(NodeId id) {
  const NodeId view = use(source_.operand(id, 0));
  define(id, {.dtype = dtype_of(id),
              .lengths = lengths_of_view(view),
              .view = view,
              .reads = {root_of(source_, source_.operand(id, 0))}});
}

void Lowering::lower_write(NodeId id) {
  const NodeId old_view = source_.operand(id, 0);
  const NodeId x = source_.operand(id, 1);
  const NodeId view = use(old_view);
  const Root root = root_of(source_, old_view);
  const bool in_place = reads_only_at(x, view, root);
  std::optional<Whole> held;
  if (!in_place) held = settled(x);
  loops_.nest(lengths_of_view(view), [&](Indices indices) {
    loops_.store(view, indices, held ? loops_.load(held->view, indices) : element(x, indices));
  });
}

void Lowering::lower_materialize(NodeId id) {
  const NodeId x = source_.operand(id, 0);
  const bool last = uses_[x.index] == 1 && !crosses_loop(source_[id].parent, source_[x].parent);
  const Whole made = whole(x).fresh && last ? whole(x) : evaluated(x);
  bind(id, made.view);
}

}  // namespace ingot::transform
