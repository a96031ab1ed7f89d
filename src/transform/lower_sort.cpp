#include "transform/block_tree.h"
#include "transform/lowering.h"

namespace ingot::transform {

/// Sorts each line along an axis; the result is the sorted keys or, with them, their places before. A line
/// along the last axis is sorted where the result has it.
void Lowering::sort_lines(NodeId id, bool gives_places) {
  const NodeId x = source_.operand(id, 0);
  if (machine_.has_kernels() && !base::is_complex(dtype_of(x))) return merge_lines(id, gives_places);
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

/// Sorts all lines at once, for devices: runs of one element are merged in pairs, then those of two, and so
/// on, where each element finds its place in the other run of its pair by bisection. Equal elements keep
/// their order.
void Lowering::merge_lines(NodeId id, bool gives_places) {
  const NodeId x = source_.operand(id, 0);
  const int64_t along[] = {source_.attribute(id, 0)};
  const Axes axes = split_axes(x, along);
  const NodeId count = axes.reduced[0];
  Nodes lengths = axes.kept;
  lengths.push_back(count);
  const auto in_line = [](Indices at) { return at.first(at.size() - 1); };
  Nodes views{loops_.new_view(lengths, dtype_of(x)), loops_.new_view(lengths, dtype_of(x))};
  if (gives_places)
    for (size_t i = 0; i < 2; ++i) views.push_back(loops_.new_view(lengths, DType::Int64));
  loops_.nest(lengths, [&](Indices at) {
    loops_.store(views[0], at, element(x, axes.join(in_line(at), at.last(1))));
    if (gives_places) loops_.store(views[2], at, at.back());
  });
  const NodeId one = b_.index(1);
  const NodeId steps = count_digits(loops_, b_.make(Op::maximum, {loops_.subtract(count, one), b_.index(0)}));
  const bool before = loops_.independent();
  const Nodes sorted = loops_.loop(steps, views, [&](Indices step, Indices now) {
    const NodeId width = b_.make(Op::left_shift, {one, step[0]});
    loops_.set_independent(true);
    loops_.nest(lengths, [&](Indices at) {
      Nodes to(at.begin(), at.end());
      to.back() = place_in_pair(now[0], at, width, count);
      loops_.store(now[1], to, loops_.load(now[0], at));
      if (gives_places) loops_.store(now[3], to, loops_.load(now[2], at));
    });
    loops_.set_independent(before);
    Nodes next{now[1], now[0]};
    if (gives_places) next.insert(next.end(), {now[3], now[2]});
    return next;
  });
  const Nodes whole_lengths = whole(x).lengths;
  const NodeId result = loops_.new_view(whole_lengths, dtype_of(id));
  loops_.nest(lengths, [&](Indices at) {
    loops_.store(result, axes.join(in_line(at), at.last(1)), loops_.load(sorted[gives_places ? 2 : 0], at));
  });
  define(id, fresh(result, whole_lengths, dtype_of(id)));
}

/// NaN comes last.
NodeId Lowering::sorts_before(NodeId a, NodeId b) {
  const DType dtype = b_.function().type(a).dtype();
  const NodeId less = loops_.less(a, b);
  if (!base::is_float(dtype)) return less;
  const NodeId is_last = loops_.both(b_.make(Op::not_equal, {b, b}), loops_.equal(a, a));
  return loops_.either(less, is_last);
}

/// Where the element at an index of a line comes when the two sorted runs of its pair are merged.
NodeId Lowering::place_in_pair(NodeId line, Indices at, NodeId width, NodeId count) {
  const NodeId one = b_.index(1);
  const NodeId key = loops_.load(line, at);
  const NodeId mask = loops_.subtract(loops_.add(width, width), one);
  const NodeId base = loops_.both(at.back(), loops_.negate(mask));
  const NodeId middle = loops_.minimum(loops_.add(base, width), count);
  const NodeId is_left = loops_.less(at.back(), middle);
  const NodeId end = loops_.minimum(loops_.add(middle, width), count);
  // The other run: of those in the right one, the lesser go before; of those in the left one, equal ones,
  // too.
  const NodeId low = loops_.select(is_left, middle, base);
  const NodeId high = loops_.select(is_left, end, middle);
  const NodeId bounds[] = {low, high};
  const Nodes found = loops_.repeat(
      bounds, [&](Indices range) { return Nodes{loops_.less(range[0], range[1]), range[0], range[1]}; },
      [&](Indices range) {
        const NodeId half = b_.make(Op::right_shift, {loops_.add(range[0], range[1]), one});
        Nodes there(at.begin(), at.end());
        there.back() = half;
        const NodeId other = loops_.load(line, there);
        const NodeId goes_before =
            loops_.select(is_left, sorts_before(other, key), loops_.negate(sorts_before(key, other)));
        return Nodes{loops_.select(goes_before, loops_.add(half, one), range[0]),
                     loops_.select(goes_before, range[1], half)};
      });
  const NodeId own =
      loops_.select(is_left, loops_.subtract(at.back(), base), loops_.subtract(at.back(), middle));
  return loops_.add(loops_.add(base, own), loops_.subtract(found[0], low));
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
