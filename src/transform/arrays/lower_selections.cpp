#include <algorithm>

#include "transform/arrays/lowering.h"
#include "transform/kernels/kernel_scan.h"

namespace ingot::transform {

/// The indices into what is gathered from, or scattered to: those that the index arrays hold, and `rest`.
Nodes Lowering::gathered_indices(NodeId id, size_t first, int rank, Indices at, Indices rest) {
  const auto axes = source_.ints(id);
  Nodes indices;
  size_t next = 0;
  for (int64_t axis = 0; axis < rank; ++axis) {
    const auto found = std::ranges::find(axes, axis);
    if (found == axes.end()) {
      indices.push_back(rest[next++]);
    } else {
      const auto number = static_cast<size_t>(found - axes.begin());
      indices.push_back(element(source_.operand(id, first + number), at));
    }
  }
  return indices;
}

void Lowering::lower_gather(NodeId id) {
  const NodeId x = source_.operand(id, 0);
  if (whole(x).cost > 0) in_view(x);
  const Axes axes = split_axes(x, source_.ints(id));
  const bool has_rows = !axes.kept.empty();
  for (NodeId index : source_.operands(id).subspan(1))
    if (has_rows && whole(index).cost > 0) in_view(index);
  const Nodes index_lengths = whole(source_.operand(id, 1)).lengths;
  Nodes lengths = index_lengths;
  lengths.insert(lengths.end(), axes.kept.begin(), axes.kept.end());
  const int rank = source_.type(x).rank();
  define_stored(id, lengths, [&](Indices at) {
    const Indices rest = at.subspan(index_lengths.size());
    return element(x, gathered_indices(id, 1, rank, at.first(index_lengths.size()), rest));
  });
}

void Lowering::lower_scatter(NodeId id) {
  const NodeId old_view = source_.operand(id, 0);
  const NodeId view = use(old_view);
  const Root root = root_of(source_, old_view);
  // All that is read is read before the first element is written.
  std::vector<std::optional<NodeId>> held;
  for (NodeId operand : source_.operands(id).subspan(1)) {
    const bool is_disjoint = reads_only_at(operand, NodeId(), root);
    held.emplace_back(is_disjoint ? std::nullopt : std::optional(settled(operand).view));
  }
  const auto value_at = [&](size_t i, Indices at) {
    return held[i] ? loops_.load(*held[i], at) : element(source_.operand(id, 1 + i), at);
  };
  const NodeId x = source_.operand(id, 1);
  const auto axes = source_.ints(id);
  const auto index_rank = static_cast<size_t>(source_.type(source_.operand(id, 2)).rank());
  const Op combiner = source_.op_attribute(id, 0);
  loops_.nest(whole(x).lengths, [&](Indices at) {
    Nodes position;
    size_t next = index_rank;
    for (int64_t axis = 0; axis < source_.type(old_view).rank(); ++axis) {
      const auto found = std::ranges::find(axes, axis);
      const auto number = static_cast<size_t>(found - axes.begin());
      position.push_back(found == axes.end() ? at[next++] : value_at(1 + number, at.first(index_rank)));
    }
    NodeId value = value_at(0, at);
    if (combiner != Op::constant) value = b_.make(combiner, {loops_.load(view, position), value});
    loops_.store(view, position, value);
  });
}

/// A mask that is evaluated by no more ops than this is so twice: to count and to select.
constexpr int kCheapMask = 4;

/// How many elements of a mask hold.
NodeId Lowering::count_of(NodeId mask) {
  const Nodes& lengths = whole(mask).lengths;
  const NodeId zero = b_.index(0);
  if (lengths.empty()) return b_.cast(element(mask, {}), DType::Int64);
  const auto of_row = [&](Indices row) {
    return loops_.combined(Op::add, lengths.back(), zero, [&](NodeId k) {
      Nodes at(row.begin(), row.end());
      at.push_back(k);
      return b_.cast(element(mask, at), DType::Int64);
    });
  };
  Nodes rows(lengths.begin(), lengths.end() - 1);
  // Rows of nothing are not counted, however many they are.
  if (!rows.empty()) rows[0] = loops_.select(loops_.equal(loops_.product(lengths), zero), zero, rows[0]);
  return loops_.nest(rows, {&zero, 1}, [&](Indices row, Indices counted) {
    return Nodes{loops_.add(counted[0], of_row(row))};
  })[0];
}

/// For devices: tiles of the mask are counted, then each index where it is true is stored, or the element
/// there.
void Lowering::compress_in_tiles(NodeId id, const Nodes& rest) {
  const NodeId x = source_.operand(id, 0);
  const NodeId mask = source_.operand(id, 1);
  const Nodes mask_lengths = whole(mask).lengths;
  const NodeId zero = b_.index(0);
  const NodeId one = b_.index(1);
  const NodeId cell = loops_.new_view({&one, 1}, DType::Int64);
  const auto at_top = [] {};
  const auto holds = [&](NodeId k) { return element(mask, loops_.unflatten(k, mask_lengths)); };
  const auto growth = [&](NodeId k) { return Nodes{b_.cast(holds(k), DType::Int64)}; };
  KernelWriter kernels(loops_, machine_);
  KernelScan scan(kernels, loops_, {{Op::add, DType::Int64, base::Scalar{}}},
                  {{Op::add, DType::Int32, base::Scalar{}}});
  scan.add_up(loops_.product(mask_lengths), at_top, growth, [&] { return Nodes{zero}; }, {&cell, 1});
  Nodes lengths{loops_.load(cell, {&zero, 1})};
  lengths.insert(lengths.end(), rest.begin(), rest.end());
  const NodeId view = loops_.new_view(lengths, dtype_of(id));
  const NodeId positions = rest.empty() ? NodeId() : loops_.new_view({&lengths[0], 1}, DType::Int64);
  scan.run_after(at_top, growth, [&](NodeId k, Indices before, Indices after) {
    const auto keep = [&] {
      if (rest.empty()) loops_.store(view, before, element(x, loops_.unflatten(k, mask_lengths)));
      else loops_.store(positions, before, k);
    };
    loops_.when(b_.make(Op::not_equal, {before[0], after[0]}), keep);
  });
  if (!rest.empty())
    loops_.nest(lengths, [&](Indices to) {
      Nodes from = loops_.unflatten(loops_.load(positions, to.first(1)), mask_lengths);
      from.insert(from.end(), to.begin() + 1, to.end());
      loops_.store(view, to, element(x, from));
    });
  define(id, fresh(view, lengths, dtype_of(id)));
}

void Lowering::lower_compress(NodeId id) {
  const NodeId x = source_.operand(id, 0);
  const NodeId mask = source_.operand(id, 1);
  if (whole(mask).cost > kCheapMask || (whole(mask).cost > 0 && !is_pointwise(mask))) in_view(mask);
  const Nodes mask_lengths = whole(mask).lengths;
  const NodeId one = b_.index(1);
  const NodeId zero = b_.index(0);
  const Nodes& all = whole(x).lengths;
  const Nodes rest(all.begin() + static_cast<ptrdiff_t>(mask_lengths.size()), all.end());
  if (machine_.has_kernels()) return compress_in_tiles(id, rest);
  const NodeId count = count_of(mask);
  Nodes lengths{count};
  lengths.insert(lengths.end(), rest.begin(), rest.end());
  const NodeId view = loops_.new_view(lengths, dtype_of(id));
  loops_.nest(mask_lengths, {&zero, 1}, [&](Indices at, Indices carried) {
    return loops_.branch(
        element(mask, at), {ir::kInt64},
        [&] {
          loops_.nest(rest, [&](Indices row) {
            Nodes from(at.begin(), at.end());
            from.insert(from.end(), row.begin(), row.end());
            Nodes to{carried[0]};
            to.insert(to.end(), row.begin(), row.end());
            loops_.store(view, to, element(x, from));
          });
          return Nodes{loops_.add(carried[0], one)};
        },
        [&] { return Nodes{carried[0]}; });
  });
  define(id, fresh(view, lengths, dtype_of(id)));
}

void Lowering::lower_concat(NodeId id) {
  const auto axis = static_cast<size_t>(source_.attribute(id, 0));
  Nodes lengths = whole(source_.operand(id, 0)).lengths;
  lengths[axis] = b_.index(0);
  for (NodeId x : source_.operands(id)) lengths[axis] = loops_.add(lengths[axis], whole(x).lengths[axis]);
  const NodeId view = loops_.new_view(lengths, dtype_of(id));
  NodeId start = b_.index(0);
  for (NodeId x : source_.operands(id)) {
    loops_.nest(whole(x).lengths, [&](Indices at) {
      Nodes to(at.begin(), at.end());
      to[axis] = loops_.add(start, to[axis]);
      loops_.store(view, to, element(x, at));
    });
    start = loops_.add(start, whole(x).lengths[axis]);
  }
  define(id, fresh(view, lengths, dtype_of(id)));
}

/// On devices. Products with vectors are reductions; those of matrices go along the depth in its order, so
/// that they can be done in tiles.
void Lowering::lower_dot(NodeId id) {
  const NodeId a = source_.operand(id, 0);
  const NodeId b = source_.operand(id, 1);
  if (whole(a).cost > 0) in_view(a);
  if (whole(b).cost > 0) in_view(b);
  const size_t a_rank = whole(a).lengths.size();
  const size_t b_rank = whole(b).lengths.size();
  const DType dtype = dtype_of(a);
  const DType sum_dtype = dtype == DType::Float16 ? DType::Float32 : dtype;
  Nodes lengths(whole(a).lengths.begin(), whole(a).lengths.end() - 1);
  if (b_rank > 1) lengths.push_back(whole(b).lengths.back());
  const NodeId inner = whole(a).lengths.back();
  const auto term = [&](Indices at, NodeId k) {
    Nodes left(at.begin(), at.begin() + static_cast<ptrdiff_t>(a_rank - 1));
    left.push_back(k);
    const size_t batch = b_rank > 2 ? b_rank - 2 : 0;
    Nodes right(at.begin(), at.begin() + static_cast<ptrdiff_t>(batch));
    right.push_back(k);
    if (b_rank > 1) right.push_back(at.back());
    const NodeId x = b_.cast(element(a, left), sum_dtype);
    return loops_.multiply(x, b_.cast(element(b, right), sum_dtype));
  };
  const auto reduced = [&](Indices at, NodeId zero) {
    return loops_.combined(Op::add, inner, zero, [&](NodeId k) { return term(at, k); });
  };
  const auto value = [&](Indices at) {
    const NodeId zero = loops_.zero(sum_dtype);
    if (b_rank == 1) return b_.cast(reduced(at, zero), dtype);
    const NodeId sum = loops_.loop(inner, {&zero, 1}, [&](Indices k, Indices carried) {
      return Nodes{loops_.add(carried[0], term(at, k[0]))};
    })[0];
    return b_.cast(sum, dtype);
  };
  if (source_.type(id).is_scalar()) return bind(id, value({}));
  define_stored(id, lengths, value);
}

}  // namespace ingot::transform
