// Reductions over several axes. Where every order gives the same values, rows are reduced one after another.
// Otherwise each block of the range, in C order, is evaluated row by row into a buffer that stays in the
// cache, and reduced there.

#include "base/reduction.h"
#include "ir/evaluate.h"
#include "transform/block_tree.h"
#include "transform/lowering.h"

namespace ingot::transform {

Nodes Lowering::reduce_rows(const Reductions& all, const Axes& axes, Indices kept) {
  const Nodes outer(axes.reduced.begin(), axes.reduced.end() - 1);
  return loops_.nest(outer, starts(all, axes, kept), [&](Indices row, Indices carried) {
    return combine_range(all, axes.reduced.back(), carried, [&](NodeId k) {
      Nodes at(row.begin(), row.end());
      at.push_back(k);
      return contributions(all, axes.join(kept, at));
    });
  });
}

Lowering::Blocks Lowering::make_blocks(const Reductions& all, const Axes& axes) {
  Blocks made;
  made.total = loops_.product(axes.reduced);
  made.count = count_blocks(loops_, made.total);
  const NodeId size = loops_.minimum(made.total, b_.index(base::kReductionBlock));
  for (const Reduction& r : all) {
    made.elements.push_back(loops_.new_view({&size, 1}, r.lane));
    made.trees.emplace_back(loops_, r.combiner, r.lane, made.count);
  }
  return made;
}

Nodes Lowering::reduce_blocks(const Reductions& all, const Axes& axes, Indices kept, Blocks& blocks) {
  const NodeId size = b_.index(base::kReductionBlock);
  loops_.nest({&blocks.count, 1}, [&](Indices number) {
    const NodeId first = loops_.multiply(number[0], size);
    const NodeId end = loops_.minimum(loops_.add(first, size), blocks.total);
    fill_block(all, axes, kept, blocks, first, end);
    const auto load = [&](NodeId k) {
      Nodes values;
      for (NodeId view : blocks.elements) values.push_back(loops_.load(view, {&k, 1}));
      return values;
    };
    Nodes inits = load(b_.index(0));
    for (size_t i = 0; i < all.size(); ++i)
      if (const auto identity = ir::identity_of(all[i].combiner, all[i].lane))
        inits[i] = b_.constant(Type::scalar(all[i].lane), *identity);
    const Nodes values = combine_range(all, loops_.subtract(end, first), inits, load);
    for (size_t i = 0; i < all.size(); ++i) blocks.trees[i].push(number[0], values[i]);
  });
  Nodes totals;
  for (size_t i = 0; i < all.size(); ++i) {
    const Type type = Type::scalar(all[i].lane);
    const base::Scalar none = ir::identity_of(all[i].combiner, all[i].lane).value_or(base::Scalar{});
    totals.push_back(b_.cast(blocks.trees[i].total(b_.constant(type, none)), all[i].dtype));
  }
  return totals;
}

/// Evaluates the elements first ... end - 1 of a range: rows, and parts of them.
void Lowering::fill_block(const Reductions& all, const Axes& axes, Indices kept, const Blocks& blocks,
                          NodeId first, NodeId end) {
  const NodeId inner = axes.reduced.back();
  const Nodes outer(axes.reduced.begin(), axes.reduced.end() - 1);
  const NodeId one = b_.index(1);
  const NodeId first_row = b_.make(Op::floor_divide, {first, inner});
  const NodeId last_row = b_.make(Op::floor_divide, {loops_.subtract(end, one), inner});
  const NodeId rows = loops_.add(loops_.subtract(last_row, first_row), one);
  loops_.nest({&rows, 1}, [&](Indices turn) {
    const NodeId row = loops_.add(first_row, turn[0]);
    const NodeId row_begin = loops_.multiply(row, inner);
    const NodeId begin = b_.make(Op::maximum, {first, row_begin});
    const NodeId count = loops_.subtract(loops_.minimum(end, loops_.add(row_begin, inner)), begin);
    const NodeId in_row = loops_.subtract(begin, row_begin);
    const NodeId in_block = loops_.subtract(begin, first);
    Nodes at = loops_.unflatten(row, outer);
    at.emplace_back();
    loops_.nest({&count, 1}, [&](Indices k) {
      at.back() = loops_.add(in_row, k[0]);
      const Nodes values = contributions(all, axes.join(kept, at));
      const NodeId place = loops_.add(in_block, k[0]);
      for (size_t i = 0; i < all.size(); ++i)
        loops_.store(blocks.elements[i], {&place, 1}, b_.cast(values[i], all[i].lane));
    });
  });
}

}  // namespace ingot::transform
