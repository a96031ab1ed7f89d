// A stable merge sort from the bottom up: runs of width 1, 2, 4, ... are merged from one set of buffers into
// another. What is sorted are keys, and with them positions where these are asked for.

#include "transform/lowering.h"

namespace ingot::transform {

namespace {

class MergeSort {
 public:
  MergeSort(LoopWriter& loops, NodeId count) : loops_(loops), b_(loops.builder()), count_(count) {}

  /// Sorts columns of `count` elements by the first of them: the views that hold them then, which are those
  /// given or `scratch`.
  Nodes sort(const Nodes& columns, const Nodes& scratch) {
    const size_t n = columns.size();
    Nodes state{b_.index(1)};
    state.insert(state.end(), columns.begin(), columns.end());
    state.insert(state.end(), scratch.begin(), scratch.end());
    const Nodes sorted = loops_.repeat(
        state,
        [&](std::span<const NodeId> at) {
          Nodes next{loops_.less(at[0], count_)};
          next.insert(next.end(), at.begin(), at.end());
          return next;
        },
        [&](std::span<const NodeId> at) {
          const Nodes from(at.begin() + 1, at.begin() + 1 + static_cast<ptrdiff_t>(n));
          const Nodes to(at.begin() + 1 + static_cast<ptrdiff_t>(n), at.end());
          const NodeId width = at[0];
          merge_runs(width, from, to);
          Nodes next{loops_.add(width, width)};
          next.insert(next.end(), to.begin(), to.end());
          next.insert(next.end(), from.begin(), from.end());
          return next;
        });
    return {sorted.begin() + 1, sorted.begin() + 1 + static_cast<ptrdiff_t>(n)};
  }

 private:
  NodeId load(NodeId view, NodeId i) { return loops_.load(view, {&i, 1}); }

  void merge_runs(NodeId width, const Nodes& from, const Nodes& to) {
    const NodeId pair = loops_.add(width, width);
    const NodeId up = loops_.add(count_, loops_.subtract(pair, b_.index(1)));
    const NodeId pairs = b_.make(Op::floor_divide, {up, pair});
    loops_.nest({&pairs, 1}, [&](std::span<const NodeId> at) {
      const NodeId first = loops_.multiply(at[0], pair);
      const NodeId middle = loops_.minimum(loops_.add(first, width), count_);
      const NodeId end = loops_.minimum(loops_.add(first, pair), count_);
      merge(from, to, first, middle, end);
    });
  }

  /// Without branches: which run gives the next element cannot be foreseen.
  void merge(const Nodes& from, const Nodes& to, NodeId first, NodeId middle, NodeId end) {
    const NodeId count = loops_.subtract(end, first);
    const NodeId last = loops_.subtract(count_, b_.index(1));
    loops_.loop(count, Nodes{first, middle}, [&](std::span<const NodeId> k, std::span<const NodeId> next) {
      const NodeId place = loops_.add(first, k[0]);
      const NodeId left = next[0];
      const NodeId right = next[1];
      const NodeId left_is_there = loops_.less(left, middle);
      const NodeId right_is_there = loops_.less(right, end);
      // Equal keys keep their order: the right one goes first only if it is less.
      const NodeId is_less =
          less(load(from[0], loops_.minimum(right, last)), load(from[0], loops_.minimum(left, last)));
      const NodeId takes_right =
          loops_.both(right_is_there, loops_.either(loops_.negate(left_is_there), is_less));
      const NodeId taken = loops_.select(takes_right, right, left);
      for (size_t column = 0; column < from.size(); ++column)
        loops_.store(to[column], {&place, 1}, load(from[column], taken));
      const NodeId step = b_.cast(takes_right, DType::Int64);
      return Nodes{loops_.add(left, loops_.subtract(b_.index(1), step)), loops_.add(right, step)};
    });
  }

  NodeId is_nan(NodeId a) { return b_.make(Op::isnan, {a}); }
  NodeId less(NodeId a, NodeId b) {
    const DType dtype = b_.function().type(a).dtype();
    if (base::is_complex(dtype)) return complex_less(a, b);
    const NodeId smaller = loops_.less(a, b);
    if (!base::is_float(dtype)) return smaller;
    // NaN last.
    return loops_.either(smaller, loops_.both(is_nan(b), loops_.negate(is_nan(a))));
  }
  /// By real, then imaginary part; NaN last, those in the real part after those in the imaginary part only.
  NodeId complex_less(NodeId a, NodeId b) {
    const NodeId x = b_.make(Op::real, {a});
    const NodeId y = b_.make(Op::real, {b});
    const NodeId u = b_.make(Op::imaginary, {a});
    const NodeId v = b_.make(Op::imaginary, {b});
    const NodeId a_is_good = loops_.either(loops_.negate(is_nan(u)), is_nan(v));
    const NodeId b_is_bad = loops_.both(is_nan(v), loops_.negate(is_nan(u)));
    const NodeId same = loops_.either(loops_.equal(x, y), loops_.both(is_nan(x), is_nan(y)));
    const NodeId by_imaginary = loops_.select(same, less(u, v), is_nan(y));
    const NodeId not_less = loops_.select(loops_.less(y, x), b_is_bad, by_imaginary);
    return loops_.select(loops_.less(x, y), a_is_good, not_less);
  }

  LoopWriter& loops_;
  ir::Builder& b_;
  NodeId count_;
};

}  // namespace

/// Sorts each line along an axis; the result is the sorted keys or, with them, their positions before.
void Lowering::sort_lines(NodeId id, bool gives_positions) {
  const NodeId x = source_.operand(id, 0);
  const int64_t along[] = {source_.attribute(id, 0)};
  const Axes axes = split_axes(x, along);
  const NodeId count = axes.reduced[0];
  const Nodes lengths = whole(x).lengths;
  const NodeId view = loops_.new_view(lengths, dtype_of(id));
  const auto new_columns = [&] {
    Nodes columns{loops_.new_view({&count, 1}, dtype_of(x))};
    if (gives_positions) columns.push_back(loops_.new_view({&count, 1}, DType::Int64));
    return columns;
  };
  const Nodes columns = new_columns();
  const Nodes scratch = new_columns();
  loops_.nest(axes.kept, [&](Indices kept) {
    loops_.nest({&count, 1}, [&](Indices k) {
      loops_.store(columns[0], k, element(x, axes.join(kept, k)));
      if (gives_positions) loops_.store(columns[1], k, k[0]);
    });
    const Nodes sorted = MergeSort(loops_, count).sort(columns, scratch);
    loops_.nest({&count, 1},
                [&](Indices k) { loops_.store(view, axes.join(kept, k), loops_.load(sorted.back(), k)); });
  });
  define(id, fresh(view, lengths, dtype_of(id)));
}

void Lowering::lower_sort(NodeId id) { sort_lines(id, false); }
void Lowering::lower_argsort(NodeId id) { sort_lines(id, true); }

}  // namespace ingot::transform
