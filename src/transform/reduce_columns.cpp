// Reductions of rows that lie further apart than the elements along the last axis that is kept: rows one
// after another, the columns of a strip side by side. A strip's partial values (base/reduction.h) lie in a
// buffer that stays in the cache, one row for each lane.

#include "base/reduction.h"
#include "ir/evaluate.h"
#include "transform/block_tree.h"
#include "transform/lowering.h"

namespace ingot::transform {

namespace {

/// Of strips of long columns, whose rows are then read in long pieces, and of short ones, which are folded as
/// often as they are read.
constexpr int64_t kLongStripBytes = 8192;
constexpr int64_t kShortStripBytes = 1024;
constexpr int64_t kLong = 8 * base::kReductionLanes;
constexpr int64_t kRowsAtOnce = 8;
constexpr int64_t kFewColumns = 8;

}  // namespace

/// Writes the loops of one group of reductions.
class Lowering::ColumnWriter {
 public:
  ColumnWriter(Lowering& lowering, const Reductions& all, const Axes& axes, const Nodes& to)
      : lowering_(lowering), loops_(lowering.loops_), b_(lowering.b_), all_(all), axes_(axes), to_(to) {
    size_t widest = 1;
    for (const Reduction& r : all) {
      ordered_ = ordered_ || r.ordered;
      widest = std::max(widest, base::size_of(r.lane));
    }
    columns_ = axes.kept.back();
    total_ = loops_.product(axes.reduced);
    const auto size = static_cast<int64_t>(widest);
    const NodeId is_short = loops_.less(total_, b_.index(kLong));
    strip_ = loops_.select(is_short, b_.index(kShortStripBytes / size), b_.index(kLongStripBytes / size));
    // Without an order all is one block, of one lane.
    blocks_ = ordered_ ? count_blocks(loops_, total_) : loops_.minimum(total_, b_.index(1));
    lane_count_ = b_.index(ordered_ ? base::kReductionLanes : 1);
    const NodeId width = loops_.minimum(strip_, columns_);
    for (const Reduction& r : all) {
      lanes_.push_back(loops_.new_view(Nodes{lane_count_, width}, r.lane));
      if (ordered_) trees_.emplace_back(loops_, r.combiner, r.lane, blocks_, Nodes{width});
    }
  }

  void write() {
    const Nodes outer(axes_.kept.begin(), axes_.kept.end() - 1);
    const NodeId strips = ceiling(columns_, strip_);
    loops_.nest(outer, [&](Indices kept) {
      loops_.nest({&strips, 1}, [&](Indices strip) {
        kept_.assign(kept.begin(), kept.end());
        first_column_ = loops_.multiply(strip[0], strip_);
        width_ = loops_.minimum(strip_, loops_.subtract(columns_, first_column_));
        write_strip();
      });
    });
  }

 private:
  void write_strip() {
    loops_.nest({&blocks_, 1}, [&](Indices number) {
      if (!ordered_) return write_rows(b_.index(0), total_);
      const NodeId size = b_.index(base::kReductionBlock);
      const NodeId first = loops_.multiply(number[0], size);
      const NodeId count = loops_.minimum(size, loops_.subtract(total_, first));
      write_rows(first, count);
      write_fold(number[0], loops_.minimum(count, lane_count_));
    });
    loops_.nest({&width_, 1}, [&](Indices w) {
      Nodes at = kept_;
      at.push_back(loops_.add(first_column_, w[0]));
      for (size_t i = 0; i < all_.size(); ++i)
        loops_.store(to_[i], at, b_.cast(total(i, w[0]), all_[i].dtype));
    });
  }

  /// Takes rows into their lanes, a few rows of a lane at once.
  void write_rows(NodeId first, NodeId count) {
    const NodeId step = loops_.multiply(lane_count_, b_.index(kRowsAtOnce));
    const NodeId steps = ceiling(count, step);
    loops_.nest({&steps, 1}, [&](Indices turn) {
      const NodeId begin = loops_.multiply(turn[0], step);
      const NodeId left = loops_.subtract(count, begin);
      const NodeId lanes = loops_.minimum(lane_count_, left);
      loops_.nest({&lanes, 1}, [&](Indices lane) {
        const NodeId of_lane = ceiling(loops_.subtract(left, lane[0]), lane_count_);
        const NodeId rows = loops_.minimum(of_lane, b_.index(kRowsAtOnce));
        const NodeId row = loops_.add(loops_.add(first, begin), lane[0]);
        loops_.nest({&width_, 1}, [&](Indices w) {
          Nodes carried;
          for (NodeId view : lanes_) carried.push_back(loops_.load(view, Nodes{lane[0], w[0]}));
          const NodeId is_first = loops_.equal(turn[0], b_.index(0));
          const Nodes sums = loops_.loop(rows, carried, [&](Indices u, Indices before) {
            const NodeId starts_here = loops_.both(is_first, loops_.equal(u[0], b_.index(0)));
            return combined(loops_.add(row, loops_.multiply(u[0], lane_count_)), w[0], before, starts_here);
          });
          for (size_t i = 0; i < all_.size(); ++i) loops_.store(lanes_[i], Nodes{lane[0], w[0]}, sums[i]);
        });
      });
    });
  }

  /// What lanes hold once they have taken a row. A lane that starts from its own first element has the same
  /// value as one that starts from x[0].
  Nodes combined(NodeId row, NodeId w, Indices before, NodeId starts_here) {
    Nodes kept = kept_;
    kept.push_back(loops_.add(first_column_, w));
    const Nodes values =
        lowering_.contributions(all_, axes_.join(kept, loops_.unflatten(row, axes_.reduced)));
    Nodes made;
    for (size_t i = 0; i < all_.size(); ++i) {
      const Reduction& r = all_[i];
      const NodeId value = b_.cast(values[i], r.lane);
      const auto identity = ir::identity_of(r.combiner, r.lane);
      const NodeId start = identity ? b_.constant(Type::scalar(r.lane), *identity) : value;
      made.push_back(b_.make(r.combiner, {loops_.select(starts_here, start, before[i]), value}));
    }
    return made;
  }

  NodeId ceiling(NodeId count, NodeId divisor) {
    const NodeId up = loops_.add(count, loops_.subtract(divisor, b_.index(1)));
    return b_.make(Op::floor_divide, {up, divisor});
  }

  /// Folds the lanes that rows have reached; the others hold what changes nothing.
  void write_fold(NodeId block, NodeId reached) {
    const NodeId one = b_.index(1);
    const NodeId steps = count_digits(loops_, loops_.subtract(reached, one));
    const NodeId widest = b_.make(Op::right_shift, {b_.make(Op::left_shift, {one, steps}), one});
    loops_.nest({&width_, 1}, [&](Indices w) {
      loops_.nest({&steps, 1}, [&](Indices step) {
        const NodeId half = b_.make(Op::right_shift, {widest, step[0]});
        const NodeId pairs = loops_.minimum(half, loops_.subtract(reached, half));
        loops_.nest({&pairs, 1}, [&](Indices lane) {
          const Nodes low{lane[0], w[0]};
          const Nodes high{loops_.add(lane[0], half), w[0]};
          for (size_t i = 0; i < all_.size(); ++i)
            loops_.store(
                lanes_[i], low,
                b_.make(all_[i].combiner, {loops_.load(lanes_[i], low), loops_.load(lanes_[i], high)}));
        });
      });
      for (size_t i = 0; i < all_.size(); ++i)
        trees_[i].push(block, loops_.load(lanes_[i], Nodes{b_.index(0), w[0]}), w);
    });
  }

  NodeId total(size_t i, NodeId w) {
    const base::Scalar none = ir::identity_of(all_[i].combiner, all_[i].lane).value_or(base::Scalar{});
    const NodeId start = b_.constant(Type::scalar(all_[i].lane), none);
    if (ordered_) return trees_[i].total(start, {&w, 1});
    const NodeId sum = loops_.load(lanes_[i], Nodes{b_.index(0), w});
    return loops_.select(loops_.equal(blocks_, b_.index(0)), start, sum);
  }

  Lowering& lowering_;
  LoopWriter& loops_;
  ir::Builder& b_;
  const Reductions& all_;
  const Axes& axes_;
  const Nodes& to_;
  bool ordered_ = false;
  NodeId strip_;    ///< columns of a strip
  NodeId columns_;  ///< ... of all
  NodeId total_;
  NodeId blocks_;
  NodeId lane_count_;
  Nodes lanes_;
  std::vector<BlockTree> trees_;
  Nodes kept_;  ///< the indices of the kept axes around
  NodeId first_column_;
  NodeId width_;
};

void Lowering::reduce_columns(const Reductions& all, const Axes& axes, const Nodes& to) {
  ColumnWriter(*this, all, axes, to).write();
}

/// Whether to take columns side by side: there are some, and rows do not lie closer together.
NodeId Lowering::runs_along_columns(NodeId x, const Axes& axes) {
  const size_t column = axes.place_of(false);
  const size_t row = axes.place_of(true);
  return loops_.both(loops_.less(b_.index(kFewColumns - 1), axes.kept.back()),
                     lies_closer(x, column, row, row < column));
}

}  // namespace ingot::transform
