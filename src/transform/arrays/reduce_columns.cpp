// Reductions of rows, the last axis being kept (base/reduction.h). Where the stride of rows is larger than
// that of columns, rows are reduced one after another, the columns of a strip side by side: the partial
// results of a block of rows are in a buffer that stays in the cache. Of few columns they are in registers:
// two blocks of rows at once, so that their sums do not wait for each other, with the columns in lanes.
// Elsewhere each block of a column is a loop of its own.

#include "base/reduction.h"
#include "transform/arrays/lowering.h"
#include "transform/writers/block_tree.h"

namespace ingot::transform {

namespace {

constexpr int64_t kFewColumns = 8;
/// So many rows are gone through side by side, for a few columns at a time.
constexpr int64_t kFewRows = 16;
/// Steps of the tree of blocks that a thread does.
constexpr int64_t kStepsAtOnce = 4;

}  // namespace

/// Writes the loops of one group of reductions.
class Lowering::RowWriter {
 public:
  RowWriter(Lowering& lowering, const Reductions& all, const Axes& axes, const Nodes& to)
      : lowering_(lowering),
        loops_(lowering.loops_),
        b_(lowering.b_),
        all_(all),
        axes_(axes),
        to_(to),
        size_(b_.index(base::kOrderOfRows.block)),
        total_(loops_.product(axes.reduced)),
        blocks_(count_blocks(loops_, total_, base::kOrderOfRows.block)),
        has_block_first_(lowering.machine_.has_kernels()) {}

  void write_strips() {
    size_t widest = 1;
    for (const Reduction& r : all_) widest = std::max(widest, base::size_of(r.lane));
    // Long pieces of rows are read at once.
    const NodeId strip = b_.index(lowering_.machine_.near_cache / static_cast<int64_t>(widest));
    const NodeId columns = axes_.kept.back();
    const NodeId width = loops_.minimum(strip, columns);
    for (const Reduction& r : all_) {
      sums_.push_back(loops_.new_view(Nodes{width}, r.lane));
      trees_.emplace_back(loops_, r.combiner, r.lane, blocks_, Nodes{width});
    }
    const Nodes outer(axes_.kept.begin(), axes_.kept.end() - 1);
    const NodeId strips = loops_.ceiling(columns, strip);
    loops_.nest(outer, [&](Indices kept) {
      loops_.nest({&strips, 1}, [&](Indices number) {
        kept_.assign(kept.begin(), kept.end());
        first_column_ = loops_.multiply(number[0], strip);
        width_ = loops_.minimum(strip, loops_.subtract(columns, first_column_));
        write_strip();
      });
    });
  }

  /// Of few rows, each column at once.
  void write_few() {
    loops_.nest(axes_.kept, [&](Indices kept) {
      const Nodes made = rows(kept, b_.index(0), total_, lane_starts(kept));
      for (size_t i = 0; i < all_.size(); ++i) loops_.store(to_[i], kept, b_.cast(made[i], all_[i].dtype));
    });
  }

  /// Two blocks of all columns, into a buffer; then pairs of blocks, of pairs, and so on.
  void write_narrow() {
    // Without columns there may be more rows than any loop gets through.
    const NodeId columns = loops_.product(axes_.kept);
    loops_.when(loops_.less(b_.index(0), columns), [&] { write_couples(); });
  }
  void write_couples() {
    has_block_first_ = true;
    const NodeId two = b_.index(2);
    const NodeId couples = loops_.ceiling(loops_.maximum(blocks_, b_.index(1)), two);
    const NodeId least = loops_.multiply(couples, two);
    const Nodes values = new_values(least);
    Nodes lengths = with_block(axes_.kept, couples);
    lengths.back() = loops_.minimum(lengths.back(), b_.index(kFewColumns - 1));
    loops_.nest(lengths, [&](Indices at) {
      const Indices kept = kept_of(at);
      const NodeId low = loops_.multiply(block_of(at), two);
      const NodeId high = loops_.add(low, b_.index(1));
      const NodeId first = loops_.multiply(low, size_);
      const NodeId second = loops_.multiply(high, size_);
      const NodeId left = loops_.maximum(loops_.subtract(total_, second), b_.index(0));
      const NodeId count = loops_.minimum(size_, left);
      const NodeId others = loops_.subtract(loops_.minimum(size_, loops_.subtract(total_, first)), count);
      const size_t n = all_.size();
      Nodes inits = lane_starts(kept);
      inits.insert(inits.end(), inits.begin(), inits.begin() + static_cast<std::ptrdiff_t>(n));
      const Nodes both = loops_.loop(count, inits, [&](Indices row, Indices before) {
        Nodes made = combined(row_at(loops_.add(first, row[0])), kept, before.first(n));
        const Nodes upper = combined(row_at(loops_.add(second, row[0])), kept, before.subspan(n));
        made.insert(made.end(), upper.begin(), upper.end());
        return made;
      });
      const NodeId next = loops_.add(first, count);
      const Nodes lower = rows(kept, next, others, Indices(both).first(n));
      store_all(values, with_block(kept, low), lower);
      store_all(values, with_block(kept, high), Indices(both).subspan(n));
    });
    combine_pairs(values, blocks_);
    store_first(values);
  }

  /// Block by block of each column, into a buffer; then pairs of blocks, of pairs, and so on.
  void write_columns() {
    // What a pair of blocks has is not compared with what others have.
    const bool before = loops_.independent();
    loops_.set_independent(before || has_block_first_);
    const NodeId least = loops_.maximum(blocks_, b_.index(1));
    const Nodes values = new_values(least);
    loops_.nest(with_block(axes_.kept, least), [&](Indices at) {
      const NodeId first = loops_.multiply(block_of(at), size_);
      const NodeId count = loops_.minimum(size_, loops_.subtract(total_, first));
      store_all(values, at, rows(kept_of(at), first, count, lane_starts(kept_of(at))));
    });
    loops_.set_independent(before);
    if (has_block_first_) combine_many(values, least);
    else combine_pairs(values, least);
    loops_.set_independent(before || has_block_first_);
    store_first(values);
    loops_.set_independent(before);
  }

 private:
  /// For a block of each column.
  Nodes new_values(NodeId blocks) {
    Nodes values;
    for (const Reduction& r : all_) values.push_back(loops_.new_view(with_block(axes_.kept, blocks), r.lane));
    return values;
  }
  void store_all(const Nodes& values, Indices at, Indices made) {
    for (size_t i = 0; i < all_.size(); ++i) loops_.store(values[i], at, made[i]);
  }
  /// Gives each column the value of its first block.
  void store_first(const Nodes& values) {
    loops_.nest(axes_.kept, [&](Indices kept) {
      const Nodes first = with_block(kept, b_.index(0));
      for (size_t i = 0; i < all_.size(); ++i)
        loops_.store(to_[i], kept, b_.cast(loops_.load(values[i], first), all_[i].dtype));
    });
  }

  /// Pairs of blocks, then pairs of these, and so on.
  void combine_pairs(const Nodes& values, NodeId blocks) {
    const NodeId steps = count_digits(loops_, loops_.subtract(blocks, b_.index(1)));
    loops_.nest({&steps, 1}, [&](Indices step) {
      const NodeId apart = b_.make(Op::left_shift, {b_.index(1), step[0]});
      const NodeId pairs = loops_.ceiling(loops_.subtract(blocks, apart), loops_.add(apart, apart));
      loops_.nest(with_block(axes_.kept, pairs), [&](Indices at) {
        const NodeId left = loops_.multiply(block_of(at), loops_.add(apart, apart));
        const Nodes low = with_block(kept_of(at), left);
        const Nodes high = with_block(kept_of(at), loops_.add(left, apart));
        for (size_t i = 0; i < all_.size(); ++i)
          loops_.store(
              values[i], low,
              b_.make(all_[i].combiner, {loops_.load(values[i], low), loops_.load(values[i], high)}));
      });
    });
  }

  /// The same, some steps at once: each is a launch.
  void combine_many(const Nodes& values, NodeId blocks) {
    const NodeId steps = count_digits(loops_, loops_.subtract(blocks, b_.index(1)));
    const NodeId rounds = loops_.ceiling(steps, b_.index(kStepsAtOnce));
    loops_.set_independent(false);
    loops_.nest({&rounds, 1}, [&](Indices round) {
      loops_.set_independent(true);
      const NodeId shift = loops_.multiply(round[0], b_.index(kStepsAtOnce));
      const NodeId apart = b_.make(Op::left_shift, {b_.index(1), shift});
      const NodeId width = loops_.multiply(apart, b_.index(int64_t{1} << kStepsAtOnce));
      const NodeId groups = loops_.ceiling(loops_.subtract(blocks, apart), width);
      loops_.nest(with_block(axes_.kept, groups), [&](Indices at) {
        const NodeId first = loops_.multiply(block_of(at), width);
        const Nodes all = combined_blocks(values, kept_of(at), {first, apart, blocks}, 0, kStepsAtOnce);
        for (size_t i = 0; i < all_.size(); ++i)
          loops_.store(values[i], with_block(kept_of(at), first), all[i]);
      });
      loops_.set_independent(false);
    });
  }

  /// Blocks from the first one on, so far apart, as far as there are.
  struct Group {
    NodeId first;
    NodeId apart;
    NodeId blocks;
  };
  /// Of 2 to the power of `steps` of them, from number k on, which is there.
  Nodes combined_blocks(const Nodes& values, Indices kept, const Group& group, int64_t k, int64_t steps) {
    const auto block = [&](int64_t number) {
      return loops_.add(group.first, loops_.multiply(group.apart, b_.index(number)));
    };
    if (steps == 0) {
      Nodes loaded;
      for (const NodeId view : values) loaded.push_back(loops_.load(view, with_block(kept, block(k))));
      return loaded;
    }
    const int64_t next = k + (int64_t{1} << (steps - 1));
    const Nodes low = combined_blocks(values, kept, group, k, steps - 1);
    std::vector<Type> types;
    for (const Reduction& r : all_) types.push_back(Type::scalar(r.lane));
    const auto both = [&] {
      const Nodes high = combined_blocks(values, kept, group, next, steps - 1);
      Nodes made;
      for (size_t i = 0; i < all_.size(); ++i) made.push_back(b_.make(all_[i].combiner, {low[i], high[i]}));
      return made;
    };
    return loops_.branch(loops_.less(block(next), group.blocks), types, both, [&] { return low; });
  }

  Nodes with_block(Indices kept, NodeId block) const {
    Nodes all(kept.begin(), kept.end());
    all.insert(has_block_first_ ? all.begin() : all.end(), block);
    return all;
  }
  NodeId block_of(Indices at) const { return has_block_first_ ? at.front() : at.back(); }
  Indices kept_of(Indices at) const { return at.subspan(has_block_first_ ? 1 : 0, at.size() - 1); }

  void write_strip() {
    loops_.nest({&blocks_, 1}, [&](Indices block) {
      const NodeId first = loops_.multiply(block[0], size_);
      write_block(first, loops_.minimum(size_, loops_.subtract(total_, first)));
      loops_.nest({&width_, 1}, [&](Indices w) {
        for (size_t i = 0; i < all_.size(); ++i) trees_[i].push(block[0], loops_.load(sums_[i], w), w);
      });
    });
    loops_.nest({&width_, 1}, [&](Indices w) {
      for (size_t i = 0; i < all_.size(); ++i)
        loops_.store(to_[i], columns_at(w[0]), b_.cast(trees_[i].total(w), all_[i].dtype));
    });
  }

  void write_block(NodeId first, NodeId count) {
    loops_.nest({&count, 1}, [&](Indices k) {
      const NodeId is_first = loops_.equal(k[0], b_.index(0));
      const Nodes row = row_at(loops_.add(first, k[0]));
      loops_.nest({&width_, 1}, [&](Indices w) {
        const Nodes at = columns_at(w[0]);
        const Nodes starts = lowering_.starts(all_, axes_, at);
        Nodes before;
        for (size_t i = 0; i < all_.size(); ++i)
          before.push_back(
              loops_.select(is_first, b_.cast(starts[i], all_[i].lane), loops_.load(sums_[i], w)));
        const Nodes sums = combined(row, at, before);
        for (size_t i = 0; i < all_.size(); ++i) loops_.store(sums_[i], w, sums[i]);
      });
    });
  }

  Nodes columns_at(NodeId w) {
    Nodes at = kept_;
    at.push_back(loops_.add(first_column_, w));
    return at;
  }

  /// What the lanes of a column start from.
  Nodes lane_starts(Indices kept) {
    Nodes starts = lowering_.starts(all_, axes_, kept);
    for (size_t i = 0; i < all_.size(); ++i) starts[i] = b_.cast(starts[i], all_[i].lane);
    return starts;
  }
  Nodes row_at(NodeId number) { return loops_.unflatten(number, axes_.reduced); }
  /// The partial result of a column with some more rows.
  Nodes rows(Indices kept, NodeId first, NodeId count, Indices inits) {
    return loops_.loop(count, inits, [&](Indices row, Indices before) {
      return combined(row_at(loops_.add(first, row[0])), kept, before);
    });
  }

  /// The partial results of columns with one more row.
  Nodes combined(Indices row, Indices kept, Indices before) {
    const Nodes values = lowering_.contributions(all_, axes_.join(kept, row));
    Nodes made;
    for (size_t i = 0; i < all_.size(); ++i)
      made.push_back(b_.make(all_[i].combiner, {before[i], b_.cast(values[i], all_[i].lane)}));
    return made;
  }

  Lowering& lowering_;
  LoopWriter& loops_;
  ir::Builder& b_;
  const Reductions& all_;
  const Axes& axes_;
  const Nodes& to_;
  NodeId size_;
  NodeId total_;
  NodeId blocks_;
  Nodes sums_;
  std::vector<BlockTree> trees_;
  Nodes kept_;  ///< the indices of the kept axes around
  NodeId first_column_;
  NodeId width_;
  bool has_block_first_;  ///< neighbours in a row are taken by neighbouring threads, or lanes
};

/// Chosen when the loops are entered: by the number of rows and of columns, and by which have the smaller
/// stride.
void Lowering::reduce_columns(const Reductions& all, const Axes& axes, const Nodes& to) {
  const auto writer = [&] { return RowWriter(*this, all, axes, to); };
  const auto by_columns = [&] { return writer().write_columns(), Nodes(); };
  if (loops_.one_by_one() || machine_.has_kernels()) return void(by_columns());
  const size_t column = axes.index_of(false);
  const size_t row = axes.index_of(true);
  const NodeId x = source_.operand(all[0].id, 0);
  const NodeId has_columns = loops_.less(b_.index(kFewColumns - 1), axes.kept.back());
  const auto side_by_side = [&] {
    return loops_.branch(
        has_columns, {}, [&] { return writer().write_strips(), Nodes(); },
        [&] { return writer().write_narrow(), Nodes(); });
  };
  loops_.branch(
      loops_.less(b_.index(kFewRows), loops_.product(axes.reduced)), {},
      [&] { return loops_.branch(lies_closer(x, column, row, row < column), {}, side_by_side, by_columns); },
      [&] { return writer().write_few(), Nodes(); });
}

}  // namespace ingot::transform
