#pragma once

#include "transform/kernels/block_scan.h"
#include "transform/kernels/digit_sweeps.h"

namespace ingot::transform {

/// Sorts lines of unsigned elements by their keys so that equal ones keep their order (radix sort). Lines are
/// contiguous, one after the other, in views of one axis.
class KernelSort {
 public:
  KernelSort(KernelWriter& kernels, LoopWriter& loops);

  /// How many elements a block sorts by itself.
  int64_t tile() const { return kIterationsOfThread * kernels_.block_threads(); }
  /// Bits of a key that a pass of `by_digits` sorts by.
  int64_t digit_bits() const;
  /// How many digits keys of a dtype's size have.
  int64_t digits_of(DType dtype) const {
    return (8 * static_cast<int64_t>(base::size_of(dtype)) + digit_bits() - 1) / digit_bits();
  }

  /// One launch, of lines that a block sorts by itself: a block each. `give(line, place, from)` is called for
  /// each index `place` of a sorted line, by one thread; `from` is the index of the element that goes there.
  /// `bits` of a key.
  void in_blocks(NodeId lines, NodeId count, NodeId elements, int64_t bits, const SortKey& key,
                 const std::function<void(NodeId line, NodeId index, NodeId from)>& give);
  /// Of any lines: one launch for each digit, after two, where blocks look back (`DigitSweeps`); else three
  /// for each, and one for each result.
  void by_digits(const KeyLines& what, const SortKey& key);

 private:
  static constexpr int64_t kIterationsOfThread = 8;

  /// What the threads of a block share to sort a tile: indices into it, in two halves that are used
  /// alternately.
  struct Tile {
    NodeId order;
    NodeId counters;
    Nodes sums;
  };
  /// One pass over the elements of lines.
  struct Pass {
    NodeId lines;
    NodeId count;
    NodeId tiles;  ///< of a line
    NodeId shift;
    Nodes
        views;  ///< of the elements, and perhaps of their indices: where they are, where they go, another one
    NodeId counts;  ///< by line, digit and tile: how many; then how many of the digit before
    NodeId totals;  ///< by line and digit
    const SortKey& key;
  };
  Tile make_tile();
  void split(const Tile& tile, NodeId thread, NodeId count, NodeId from, NodeId to,
             const std::function<NodeId(NodeId)>& bin_of);
  Nodes views_of(const KeyLines& what);
  void count_digits(const Pass& pass);
  void add_digits(const Pass& pass);
  void move(const Pass& pass);
  void place_digits(const Pass& pass, NodeId thread, NodeId line, NodeId tile, const Nodes& sums,
                    NodeId first_indices);
  NodeId digit_at(const Pass& pass, NodeId at);
  NodeId digits() { return b_.index(int64_t{1} << digit_bits()); }
  void each_tile(const Pass& pass, const std::function<Nodes()>& at_top,
                 const std::function<void(NodeId thread, NodeId line, NodeId tile, NodeId first, NodeId count,
                                          const Nodes& common)>& body);
  void iterations_of(NodeId thread, NodeId count, const std::function<void(NodeId)>& body);
  NodeId load(NodeId view, NodeId at) { return loops_.load(view, {&at, 1}); }
  NodeId load_index(NodeId view, NodeId at) { return b_.cast(load(view, at), DType::Int64); }
  void store(NodeId view, NodeId at, NodeId value);

  KernelWriter& kernels_;
  LoopWriter& loops_;
  ir::Builder& b_;
  BlockScan scan_;
};

}  // namespace ingot::transform
