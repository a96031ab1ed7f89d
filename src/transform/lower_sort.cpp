// A stable merge sort of positions, from the bottom up: runs of width 1, 2, 4, ... are merged from one buffer
// into another.

#include "transform/lowering.h"

namespace ingot::transform {

namespace {

class MergeSort {
 public:
  /// Sorts `count` positions by the keys in `keys`, of rank 1.
  MergeSort(LoopWriter& loops, NodeId keys, NodeId count)
      : loops_(loops), b_(loops.builder()), keys_(keys), count_(count) {}

  /// The view that holds the sorted positions: one of two of `count`, whose contents are lost.
  NodeId sort(NodeId positions, NodeId scratch) {
    loops_.nest({&count_, 1}, [&](std::span<const NodeId> k) { loops_.store(positions, k, k[0]); });
    return loops_.repeat(
        Nodes{b_.index(1), positions, scratch},
        [&](std::span<const NodeId> at) { return Nodes{loops_.less(at[0], count_), at[0], at[1], at[2]}; },
        [&](std::span<const NodeId> at) {
          merge_runs(at[0], at[1], at[2]);
          return Nodes{loops_.add(at[0], at[0]), at[2], at[1]};
        })[1];
  }

 private:
  NodeId load(NodeId view, NodeId i) { return loops_.load(view, {&i, 1}); }

  void merge_runs(NodeId width, NodeId from, NodeId to) {
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

  void merge(NodeId from, NodeId to, NodeId first, NodeId middle, NodeId end) {
    const NodeId count = loops_.subtract(end, first);
    loops_.loop(count, Nodes{first, middle}, [&](std::span<const NodeId> k, std::span<const NodeId> next) {
      const NodeId place = loops_.add(first, k[0]);
      const NodeId left = next[0];
      const NodeId right = next[1];
      const NodeId left_is_there = loops_.less(left, middle);
      const NodeId both_are_there = loops_.both(left_is_there, loops_.less(right, end));
      // Equal keys keep their order: the right one goes first only if it is less.
      const NodeId takes_right = loops_.branch(
          both_are_there, {ir::kBool}, [&] { return Nodes{before(load(from, right), load(from, left))}; },
          [&] { return Nodes{loops_.negate(left_is_there)}; })[0];
      const NodeId taken = loops_.select(takes_right, right, left);
      loops_.store(to, {&place, 1}, load(from, taken));
      const NodeId step = b_.cast(takes_right, DType::Int64);
      return Nodes{loops_.add(left, loops_.subtract(b_.index(1), step)), loops_.add(right, step)};
    });
  }

  NodeId before(NodeId i, NodeId j) { return less(load(keys_, i), load(keys_, j)); }

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
  NodeId keys_;
  NodeId count_;
};

}  // namespace

/// Sorts each line along an axis; `take(keys, position)` is what stands at a sorted place.
void Lowering::sort_lines(NodeId id, const std::function<NodeId(NodeId keys, NodeId position)>& take) {
  const NodeId x = source_.operand(id, 0);
  const int64_t along[] = {source_.attribute(id, 0)};
  const Axes axes = split_axes(x, along);
  const NodeId count = axes.reduced[0];
  const Nodes lengths = whole(x).lengths;
  const NodeId view = loops_.new_view(lengths, dtype_of(id));
  const NodeId keys = loops_.new_view({&count, 1}, dtype_of(x));
  const NodeId positions = loops_.new_view({&count, 1}, DType::Int64);
  const NodeId scratch = loops_.new_view({&count, 1}, DType::Int64);
  loops_.nest(axes.kept, [&](Indices kept) {
    loops_.nest({&count, 1}, [&](Indices k) { loops_.store(keys, k, element(x, axes.join(kept, k))); });
    const NodeId sorted = MergeSort(loops_, keys, count).sort(positions, scratch);
    loops_.nest({&count, 1}, [&](Indices k) {
      loops_.store(view, axes.join(kept, k), take(keys, loops_.load(sorted, k)));
    });
  });
  define(id, fresh(view, lengths, dtype_of(id)));
}

void Lowering::lower_sort(NodeId id) {
  sort_lines(id, [&](NodeId keys, NodeId position) { return loops_.load(keys, {&position, 1}); });
}

void Lowering::lower_argsort(NodeId id) {
  sort_lines(id, [](NodeId, NodeId position) { return position; });
}

}  // namespace ingot::transform
