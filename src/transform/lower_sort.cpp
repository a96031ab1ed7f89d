#include "transform/lowering.h"

namespace ingot::transform {

/// Sorts each line along an axis; the result is the sorted keys or, with them, their places before. A line
/// along the last axis is sorted where the result has it.
void Lowering::sort_lines(NodeId id, bool gives_places) {
  const NodeId x = source_.operand(id, 0);
  const int64_t along[] = {source_.attribute(id, 0)};
  const int64_t stable = source_.attribute(id, 1);
  const Axes axes = split_axes(x, along);
  const NodeId count = axes.reduced[0];
  const Nodes lengths = whole(x).lengths;
  const NodeId result = loops_.new_view(lengths, dtype_of(id));
  const bool is_last = along[0] + 1 == static_cast<int64_t>(lengths.size());
  NodeId scratch;
  if (gives_places || !is_last) scratch = loops_.new_view({&count, 1}, dtype_of(x));
  NodeId places;
  if (gives_places && !is_last) places = loops_.new_view({&count, 1}, DType::Int64);
  loops_.nest(axes.kept, [&](Indices kept) {
    const NodeId line = is_last ? line_of(result, kept) : places;
    const NodeId keys = scratch ? scratch : line;
    loops_.nest({&count, 1}, [&](Indices k) { loops_.store(keys, k, element(x, axes.join(kept, k))); });
    if (gives_places) b_.make(Op::argsort_line, {line, keys}, {stable});
    else b_.make(Op::sort_line, {keys}, {stable});
    if (is_last) return;
    const NodeId sorted = gives_places ? places : keys;
    loops_.nest({&count, 1},
                [&](Indices k) { loops_.store(result, axes.join(kept, k), loops_.load(sorted, k)); });
  });
  define(id, fresh(result, lengths, dtype_of(id)));
}

/// The line along the last axis of a view in C order, at indices of the others.
NodeId Lowering::line_of(NodeId view, Indices indices) {
  if (indices.empty()) return view;
  const Nodes lengths = lengths_of_view(view);
  const Nodes strides = strides_of_view(view);
  NodeId offset = b_.make(Op::offset, {view});
  for (size_t i = 0; i < indices.size(); ++i)
    offset = loops_.add(offset, loops_.multiply(indices[i], strides[i]));
  return loops_.c_view(b_.make(Op::buffer, {view}), offset, {&lengths.back(), 1},
                       b_.function().type(view).dtype());
}

void Lowering::lower_sort(NodeId id) { sort_lines(id, false); }
void Lowering::lower_argsort(NodeId id) { sort_lines(id, true); }

}  // namespace ingot::transform
