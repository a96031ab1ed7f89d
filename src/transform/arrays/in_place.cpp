// Assignments to memory that the value is evaluated from at other indices. The rows that are written -
// indices along the first axis - are compared with the rows that are read for them, before the assignment
// runs. Where no row is written that another one is evaluated from, elements are stored directly; by loops of
// their own, if what is computed is short, as a factorisation does little else for each of its rows.
//
// Else the rows are taken in chunks, of at least as many rows as the distance between a read and the write of
// the same row. A chunk is computed into a buffer that stays in the cache, and copied to the target once the
// next one has been computed. Threads share blocks of chunks: the first and the last chunk of each, which
// other blocks may read, are copied to the target when all blocks are done. Only the first assignments of a
// function are made so (`Lowering::lower_write`).
//
// The loops are marked `independent`, since only these comparisons show it.

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "transform/arrays/lowering.h"

namespace ingot::transform {

namespace {

/// Chunks that a block has memory for: its first and last one, and two that alternate.
constexpr int64_t kSlots = 4;
/// Elementwise ops of an element whose loops are written for either case.
constexpr int kShort = 16;

}  // namespace

class Lowering::InPlaceWriter {
 public:
  InPlaceWriter(Lowering& lowering, NodeId x, NodeId view, bool is_disjoint)
      : lowering_(lowering),
        loops_(lowering.loops_),
        b_(lowering.b_),
        x_(x),
        view_(view),
        is_disjoint_(is_disjoint),
        lengths_(lowering.lengths_of_view(view)),
        strides_(lowering.strides_of_view(view)),
        offset_(b_.make(Op::offset, {view})),
        size_(b_.index(static_cast<int64_t>(base::size_of(dtype())))) {}

  void write() {
    rows_ = reach(lengths_, strides_, {offset_, loops_.add(offset_, size_)});
    collect(x_, b_.constant(true), true);
    compare();
    if (lowering_.whole(x_).cost > kShort) return write_blocks();
    const NodeId meets = meets_;
    const auto in_chunks = [&] {
      meets_ = b_.constant(true);
      write_blocks();
      return Nodes();
    };
    loops_.branch(meets, {}, in_chunks, [&] { return write_rows(view_, b_.index(0)), Nodes(); });
  }

 private:
  /// Bytes of a buffer: from the first one to one past the last.
  struct Bytes {
    NodeId low;
    NodeId high;
  };
  struct Block {
    NodeId first;  ///< row
    NodeId count;
    NodeId chunks;
    NodeId place;  ///< where its memory for chunks begins
  };
  /// Reads along the same axes: the views' strides, lengths, and whether their rows follow those of the
  /// target.
  struct Reads {
    NodeId follows;
    Nodes lengths;
    Nodes strides;
    Bytes elements;  ///< the first of each
  };

  DType dtype() const { return b_.function().type(view_).dtype(); }
  NodeId absolute(NodeId value) { return b_.make(Op::absolute, {value}); }
  NodeId maximum(NodeId a, NodeId b) { return loops_.maximum(a, b); }

  /// The bytes of a row of views of these lengths and strides, from those of their first elements.
  Bytes reach(const Nodes& lengths, const Nodes& strides, Bytes row) {
    for (size_t i = 1; i < lengths.size(); ++i) {
      const NodeId far = loops_.multiply(loops_.subtract(lengths[i], b_.index(1)), strides[i]);
      row.low = loops_.add(row.low, loops_.minimum(far, b_.index(0)));
      row.high = loops_.add(row.high, maximum(far, b_.index(0)));
    }
    return row;
  }
  /// ... of all rows, `step` bytes apart.
  Bytes all(Bytes row, NodeId count, NodeId step) {
    const NodeId far = loops_.multiply(loops_.subtract(count, b_.index(1)), step);
    return {loops_.add(row.low, loops_.minimum(far, b_.index(0))),
            loops_.add(row.high, maximum(far, b_.index(0)))};
  }

  /// Collects what elements of `old` are read from in the target's buffer. `follows`: whether the row of an
  /// element is the row of the target's; `same`: so are all other indices, for certain.
  void collect(NodeId old, NodeId follows, bool same) {
    if (!lowering_.source_.type(old).is_array() || lowering_.whole(old).reads.empty()) return;
    if (!collected_.emplace(old.index, follows.index, same).second) return;
    const Whole& w = lowering_.whole(old);
    if (w.view) {
      const Function& f = b_.function();
      if (memory_of(f, w.view) == memory_of(f, view_) && !(same && is_beside(f, w.view, view_)))
        add(w.view, follows);
      return;
    }
    const bool steps = lowering_.is_pointwise(old);
    if (!steps && lowering_.source_.op(old) == Op::broadcast) return collect_repeated(old, follows);
    for (NodeId operand : lowering_.source_.operands(old))
      collect(operand, steps ? follows : b_.constant(false), steps && same);
  }
  void collect_repeated(NodeId broadcast, NodeId follows) {
    const NodeId x = lowering_.source_.operand(broadcast, 0);
    if (!lowering_.source_.type(x).is_array()) return;
    const Nodes& own = lowering_.whole(x).lengths;
    const Nodes& to = lowering_.whole(broadcast).lengths;
    const bool has_rows = own.size() == to.size();
    const NodeId rows = has_rows ? lowering_.repeats_not(own[0], to[0]) : b_.constant(false);
    collect(x, loops_.both(follows, rows), false);
  }
  void add(NodeId view, NodeId follows) {
    Nodes lengths = lowering_.lengths_of_view(view);
    Nodes strides = lowering_.strides_of_view(view);
    if (b_.function().is_constant(follows) && b_.function().constant(follows).bits[0] == 0) {
      // All of the view, for each row.
      lengths.insert(lengths.begin(), b_.index(1));
      strides.insert(strides.begin(), b_.index(0));
    }
    const NodeId offset = b_.make(Op::offset, {view});
    const auto size = static_cast<int64_t>(base::size_of(b_.function().type(view).dtype()));
    const Bytes first{offset, loops_.add(offset, b_.index(size))};
    const auto known = std::ranges::find_if(reads_, [&](const Reads& reads) {
      return reads.follows == follows && reads.lengths == lengths && reads.strides == strides;
    });
    if (known == reads_.end()) return reads_.push_back({follows, lengths, strides, first});
    known->elements.low = loops_.minimum(known->elements.low, first.low);
    known->elements.high = maximum(known->elements.high, first.high);
  }

  /// Whether an element may be written before it is read, and the largest distance in rows between the two,
  /// at least 1.
  void compare() {
    const NodeId zero = b_.index(0);
    const NodeId one = b_.index(1);
    const NodeId count = lengths_[0];
    const NodeId step = maximum(absolute(strides_[0]), one);
    // Rows of the target that overlap are written in one block.
    apart_ = b_.make(Op::less_equal, {loops_.subtract(rows_.high, rows_.low), step});
    reach_ = is_disjoint_ ? zero : loops_.select(lowering_.is_disjoint(view_), zero, count);
    const Bytes target = all(rows_, count, strides_[0]);
    for (const Reads& reads : reads_) {
      const NodeId own_step = loops_.select(reads.follows, reads.strides[0], zero);
      const Bytes row = reach(reads.lengths, reads.strides, reads.elements);
      const Bytes read = all(row, count, own_step);
      const NodeId overlaps =
          loops_.both(loops_.less(read.low, target.high), loops_.less(target.low, read.high));
      const NodeId far = loops_.branch(
          overlaps, {ir::kInt64},
          [&] {
            const NodeId in_step = loops_.both(apart_, loops_.equal(own_step, strides_[0]));
            // Row i that is read is in the rows `i - before` ... `i + behind` that are written.
            const auto rows_to = [&](NodeId bytes) {
              return b_.make(Op::floor_divide, {loops_.subtract(bytes, one), step});
            };
            const NodeId behind = rows_to(loops_.subtract(row.high, rows_.low));
            const NodeId before = rows_to(loops_.subtract(rows_.high, row.low));
            const NodeId any = loops_.less(b_.index(-1), loops_.add(behind, before));
            const NodeId rows = maximum(loops_.minimum(maximum(behind, before), count), one);
            return Nodes{loops_.select(in_step, loops_.select(any, rows, zero), count)};
          },
          [&] { return Nodes{zero}; })[0];
      reach_ = maximum(reach_, far);
    }
    meets_ = loops_.less(zero, reach_);
  }
  /// Rows that are computed before they are put where they belong stay in the near cache, as far as these are
  /// not longer; what one thread does at least fills the far one.
  void choose_blocks() {
    const NodeId one = b_.index(1);
    const NodeId count = maximum(lengths_[0], one);
    const Nodes inner(lengths_.begin() + 1, lengths_.end());
    const NodeId bytes = maximum(loops_.multiply(loops_.product(inner), size_), one);
    const auto rows_of = [&](int64_t some) { return b_.make(Op::floor_divide, {b_.index(some), bytes}); };
    const NodeId many = loops_.select(
        apart_, loops_.minimum(maximum(rows_of(lowering_.machine_.far_cache), one), count), count);
    const auto in_chunks = [&] {
      const NodeId chunk = loops_.minimum(maximum(rows_of(lowering_.machine_.near_cache / 2), reach_), count);
      const NodeId chunks = loops_.ceiling(maximum(many, chunk), chunk);
      return Nodes{chunk, chunks};
    };
    const Nodes sizes =
        loops_.branch(meets_, {ir::kInt64, ir::kInt64}, in_chunks, [&] { return Nodes{many, one}; });
    chunk_ = sizes[0];
    slots_ = loops_.select(loops_.less(b_.index(2), sizes[1]), b_.index(kSlots), sizes[1]);
    height_ = loops_.multiply(sizes[1], chunk_);
    blocks_ = loops_.ceiling(lengths_[0], height_);
  }

  void write_blocks() {
    choose_blocks();
    Nodes kept = lengths_;
    kept[0] = loops_.select(meets_, loops_.multiply(blocks_, loops_.multiply(slots_, chunk_)), b_.index(0));
    const Type type = b_.function().type(view_);
    kept_ = loops_.new_view(kept, type.dtype(), type.space());
    base_ = loops_.branch(meets_, {type}, [&] { return Nodes{kept_}; }, [&] { return Nodes{view_}; })[0];
    const bool before = loops_.independent();
    loops_.set_independent(true);
    loops_.nest({&blocks_, 1}, [&](Indices number) { write_block(number[0]); });
    const NodeId ends = loops_.select(meets_, blocks_, b_.index(0));
    loops_.nest({&ends, 1}, [&](Indices number) { put_ends(number[0]); });
    loops_.set_independent(before);
  }

  /// Evaluates rows from `first` on, as many as the view has, into it.
  void write_rows(NodeId view, NodeId first) {
    const bool before = loops_.independent();
    loops_.set_independent(true);
    Elements elements{
        .views = {view},
        .values =
            [&](Indices at) {
              Nodes from(at.begin(), at.end());
              from[0] = loops_.add(first, at[0]);
              return Nodes{lowering_.element(x_, from)};
            },
        .strides = {strides_},
        .time = lowering_.whole(x_).work.time,
    };
    lowering_.collect_strides(x_, elements.strides);
    lowering_.store_elements(elements);
    loops_.set_independent(before);
  }

  Block block_at(NodeId number) {
    Block block;
    block.first = loops_.multiply(number, height_);
    block.count = loops_.minimum(height_, loops_.subtract(lengths_[0], block.first));
    block.chunks = loops_.branch(
        meets_, {ir::kInt64}, [&] { return Nodes{loops_.ceiling(block.count, chunk_)}; },
        [&] { return Nodes{b_.index(1)}; })[0];
    block.place = loops_.multiply(number, loops_.multiply(slots_, chunk_));
    return block;
  }
  /// Where a chunk of a block, neither the first nor the last one, is kept before it is copied to the target.
  NodeId location_of(const Block& block, NodeId chunk) {
    const NodeId iteration = b_.make(Op::bitwise_and, {chunk, b_.index(1)});
    return loops_.add(block.place, loops_.multiply(loops_.add(b_.index(2), iteration), chunk_));
  }
  void write_block(NodeId number) {
    const Block block = block_at(number);
    const bool before = loops_.independent();
    loops_.set_independent(false);
    loops_.nest({&block.chunks, 1}, [&](Indices chunk) {
      loops_.set_independent(true);
      write_chunk(block, chunk[0]);
      // The one before.
      const NodeId last = loops_.subtract(chunk[0], b_.index(1));
      const NodeId waits = loops_.both(meets_, loops_.less(b_.index(0), last));
      put(loops_.select(waits, chunk_, b_.index(0)), location_of(block, last),
          loops_.add(block.first, loops_.multiply(last, chunk_)));
      loops_.set_independent(false);
    });
    loops_.set_independent(before);
  }
  void write_chunk(const Block& block, NodeId chunk) {
    const NodeId zero = b_.index(0);
    const NodeId start = loops_.multiply(chunk, chunk_);
    const NodeId first = loops_.add(block.first, start);
    Nodes lengths = lengths_;
    lengths[0] = loops_.minimum(chunk_, loops_.subtract(block.count, start));
    const NodeId is_last = loops_.equal(chunk, loops_.subtract(block.chunks, b_.index(1)));
    const NodeId behind = loops_.select(is_last, loops_.add(block.place, chunk_), location_of(block, chunk));
    const NodeId place = loops_.select(loops_.equal(chunk, zero), block.place, behind);
    Nodes strides;
    Nodes own = lowering_.strides_of_view(kept_);
    for (size_t i = 0; i < own.size(); ++i) strides.push_back(loops_.select(meets_, own[i], strides_[i]));
    const NodeId offset = loops_.add(loops_.select(meets_, zero, offset_),
                                     loops_.multiply(loops_.select(meets_, place, first), strides[0]));
    const NodeId buffer = b_.make(Op::buffer, {base_});
    write_rows(loops_.view(buffer, offset, lengths, strides, b_.function().type(view_)), first);
  }
  /// Puts the first and the last chunk of a block where they belong.
  void put_ends(NodeId number) {
    const Block block = block_at(number);
    const NodeId one = b_.index(1);
    const NodeId two = b_.index(2);
    loops_.nest({&two, 1}, [&](Indices end) {
      const NodeId last = loops_.subtract(block.chunks, one);
      const NodeId start = loops_.multiply(loops_.multiply(end[0], last), chunk_);
      const NodeId rows = loops_.minimum(chunk_, loops_.subtract(block.count, start));
      const NodeId is_other =
          loops_.either(loops_.equal(end[0], b_.index(0)), loops_.less(one, block.chunks));
      put(loops_.select(is_other, rows, b_.index(0)),
          loops_.add(block.place, loops_.multiply(end[0], chunk_)), loops_.add(block.first, start));
    });
  }
  /// Copies rows that wait to where they belong.
  void put(NodeId rows, NodeId from, NodeId to) {
    Nodes lengths = lengths_;
    lengths[0] = rows;
    loops_.nest(lengths, [&](Indices at) {
      const auto place = [&](NodeId first) {
        Nodes indices(at.begin(), at.end());
        indices[0] = loops_.add(first, at[0]);
        return indices;
      };
      loops_.store(view_, place(to), loops_.load(kept_, place(from)));
    });
  }

  Lowering& lowering_;
  LoopWriter& loops_;
  ir::Builder& b_;
  NodeId x_;          ///< the array that is assigned, of the source
  NodeId view_;       ///< ... and to which view
  bool is_disjoint_;  ///< its elements are known to have different locations
  Nodes lengths_;
  Nodes strides_;
  NodeId offset_;
  NodeId size_;
  Bytes rows_;  ///< of the first row
  std::vector<Reads> reads_;
  std::set<std::tuple<uint32_t, uint32_t, bool>> collected_;  ///< what `collect` has been asked for
  NodeId apart_;                                              ///< rows of the target do not overlap
  NodeId meets_;   ///< some element may be written before it is read
  NodeId reach_;   ///< ... so many rows apart, at most; 0: none is
  NodeId chunk_;   ///< rows of a chunk
  NodeId height_;  ///< ... of a block
  NodeId blocks_;
  NodeId slots_;  ///< chunks that a block has memory for
  NodeId kept_;   ///< a view of the rows that wait
  NodeId base_;   ///< that view, or the target
};

/// Whether elements of `old` are read from this view's buffer alone, as far as they may be from memory of its
/// root.
bool Lowering::reads_one_buffer(NodeId old, NodeId view, const Root& root) const {
  return all_below({&old, 1}, [&](NodeId each) -> std::optional<bool> {
    const Whole& w = whole(each);
    if (!may_read(w, root)) return true;
    return w.view ? std::optional(memory_of(b_.function(), w.view) == memory_of(b_.function(), view))
                  : std::nullopt;
  });
}

void Lowering::write_in_place(NodeId x, NodeId view, bool is_disjoint) {
  InPlaceWriter(*this, x, view, is_disjoint).write();
}

}  // namespace ingot::transform
