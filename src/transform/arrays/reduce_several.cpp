// Reductions over several axes. Where every order gives the same values, rows are reduced one after another.
// Otherwise each block of the range, in C order, is evaluated row by row into a buffer that stays in the
// cache, and reduced there; several blocks, in strips of columns, where the columns are contiguous in memory.

#include <algorithm>

#include "base/reduction.h"
#include "ir/evaluate.h"
#include "transform/arrays/lowering.h"
#include "transform/writers/block_tree.h"

namespace ingot::transform {

namespace {

/// Of contiguous columns: rows, and at most blocks, that a buffer holds; columns of a strip.
constexpr int64_t kRowsAtOnce = 256;
constexpr int64_t kMostBlocksAtOnce = 1024;
constexpr int64_t kColumnsAtOnce = 16;
/// Elements of a row that are in as many pages as a TLB has entries for.
constexpr int64_t kLongRow = 2048;

}  // namespace

Nodes Lowering::reduce_rows(const Reductions& all, const Axes& axes, Indices kept) {
  const auto rows = [&](bool turned) {
    Nodes reduced = axes.reduced;
    if (turned) std::ranges::reverse(reduced);
    const NodeId inner = reduced.back();
    reduced.pop_back();
    return loops_.nest(reduced, starts(all, axes, kept), [&](Indices row, Indices carried) {
      return combine_range(all, inner, carried, [&](NodeId k) {
        Nodes at(row.begin(), row.end());
        at.push_back(k);
        if (turned) std::ranges::reverse(at);
        return contributions(all, axes.join(kept, at));
      });
    });
  };
  if (!axes.kept.empty() || loops_.one_by_one()) return rows(false);
  std::vector<Type> types;
  for (const Reduction& r : all) types.push_back(Type::scalar(r.dtype));
  const NodeId turned = lies_closer(source_.operand(all[0].id, 0), 0, axes.reduced.size() - 1, false);
  return loops_.branch(turned, types, [&] { return rows(true); }, [&] { return rows(false); });
}

Lowering::Blocks Lowering::make_blocks(const Reductions& all, const Axes& axes) {
  Blocks made;
  made.total = loops_.product(axes.reduced);
  made.count = count_blocks(loops_, made.total);
  // Where columns are contiguous and the lines of a row do not stay in the cache until the next row, many
  // rows are evaluated a few columns at once.
  NodeId turned = b_.constant(false);
  std::vector<Nodes> strides;
  const bool in_c_order = collect_strides(source_.operand(all[0].id, 0), strides);
  if (axes.is_reduced.size() == 2 && !in_c_order && !loops_.one_by_one())
    for (const Nodes& each : strides) turned = loops_.either(turned, is_turned(each));
  const NodeId inner = axes.reduced.back();
  turned = loops_.both(turned, loops_.less(b_.index(kLongRow), inner));
  const NodeId rows = count_blocks(loops_, loops_.multiply(inner, b_.index(kRowsAtOnce)));
  const NodeId most = loops_.minimum(rows, b_.index(kMostBlocksAtOnce));
  made.at_once = loops_.select(turned, loops_.maximum(most, b_.index(1)), b_.index(1));
  made.columns = loops_.select(turned, b_.index(kColumnsAtOnce), loops_.maximum(inner, b_.index(1)));
  const NodeId size = b_.index(base::kReductionBlock);
  made.reach = loops_.multiply(size, made.at_once);
  const NodeId length = loops_.minimum(made.total, made.reach);
  for (const Reduction& r : all) {
    made.elements.push_back(loops_.new_view({&length, 1}, r.lane));
    made.trees.emplace_back(loops_, r.combiner, r.lane, made.count);
  }
  return made;
}

Nodes Lowering::reduce_blocks(const Reductions& all, const Axes& axes, Indices kept, Blocks& blocks) {
  const NodeId steps = loops_.ceiling(blocks.count, blocks.at_once);
  loops_.nest({&steps, 1}, [&](Indices step) {
    const NodeId first = loops_.multiply(step[0], blocks.reach);
    const NodeId end = loops_.minimum(loops_.add(first, blocks.reach), blocks.total);
    fill_blocks(all, axes, kept, blocks, first, end);
    const NodeId number = loops_.multiply(step[0], blocks.at_once);
    const NodeId count = loops_.minimum(blocks.at_once, loops_.subtract(blocks.count, number));
    loops_.nest({&count, 1},
                [&](Indices block) { reduce_block(all, blocks, loops_.add(number, block[0]), first, end); });
  });
  Nodes totals;
  for (size_t i = 0; i < all.size(); ++i) totals.push_back(b_.cast(blocks.trees[i].total(), all[i].dtype));
  return totals;
}

/// Reduces a block whose elements are in the buffers, which hold those from `first` to `end`.
void Lowering::reduce_block(const Reductions& all, Blocks& blocks, NodeId number, NodeId first, NodeId end) {
  const NodeId size = b_.index(base::kReductionBlock);
  const NodeId begin = loops_.subtract(loops_.multiply(number, size), first);
  const NodeId count = loops_.minimum(size, loops_.subtract(loops_.subtract(end, first), begin));
  const auto load = [&](NodeId k) {
    Nodes values;
    const NodeId index = loops_.add(begin, k);
    for (NodeId view : blocks.elements) values.push_back(loops_.load(view, {&index, 1}));
    return values;
  };
  Nodes inits = load(b_.index(0));
  for (size_t i = 0; i < all.size(); ++i)
    if (const auto identity = ir::identity_of(all[i].combiner, all[i].lane))
      inits[i] = b_.constant(Type::scalar(all[i].lane), *identity);
  const Nodes values = combine_range(all, count, inits, load);
  for (size_t i = 0; i < all.size(); ++i) blocks.trees[i].push(number, values[i]);
}

/// Evaluates the elements first ... end - 1 of a range: some columns after the other, of these row by row.
void Lowering::fill_blocks(const Reductions& all, const Axes& axes, Indices kept, const Blocks& blocks,
                           NodeId first, NodeId end) {
  const NodeId inner = axes.reduced.back();
  const Nodes outer(axes.reduced.begin(), axes.reduced.end() - 1);
  const NodeId one = b_.index(1);
  const NodeId first_row = b_.make(Op::floor_divide, {first, inner});
  const NodeId last_row = b_.make(Op::floor_divide, {loops_.subtract(end, one), inner});
  const NodeId rows = loops_.add(loops_.subtract(last_row, first_row), one);
  const NodeId strips = loops_.ceiling(inner, blocks.columns);
  loops_.nest(Nodes{strips, rows}, [&](Indices iteration) {
    const NodeId left = loops_.multiply(iteration[0], blocks.columns);
    const NodeId right = loops_.minimum(loops_.add(left, blocks.columns), inner);
    const NodeId row = loops_.add(first_row, iteration[1]);
    const NodeId row_begin = loops_.multiply(row, inner);
    const NodeId begin = loops_.maximum(first, loops_.add(row_begin, left));
    const NodeId count = loops_.subtract(loops_.minimum(end, loops_.add(row_begin, right)), begin);
    const NodeId in_row = loops_.subtract(begin, row_begin);
    const NodeId in_block = loops_.subtract(begin, first);
    Nodes at = loops_.unflatten(row, outer);
    at.emplace_back();
    loops_.nest({&count, 1}, [&](Indices k) {
      at.back() = loops_.add(in_row, k[0]);
      const Nodes values = contributions(all, axes.join(kept, at));
      const NodeId index = loops_.add(in_block, k[0]);
      for (size_t i = 0; i < all.size(); ++i)
        loops_.store(blocks.elements[i], {&index, 1}, b_.cast(values[i], all[i].lane));
    });
  });
}

}  // namespace ingot::transform
