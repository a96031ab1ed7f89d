#pragma once

#include "transform/kernels/block_scan.h"
#include "transform/kernels/look_back.h"

namespace ingot::transform {

/// The key of an element, by whose digits it is sorted: a number of as many bits, unsigned.
struct SortKey {
  std::function<NodeId(NodeId element)> of;  ///< but for some bits,
  NodeId flipped;                            ///< ... which are flipped then
  NodeId last;                               ///< an element whose key has all bits set

  NodeId bits(ir::Builder& b, NodeId element) const {
    return b.make(Op::bitwise_xor, {of(element), flipped});
  }
};

/// What is sorted: lines of equal length, contiguous, one after the other, in views of one axis.
struct KeyLines {
  NodeId lines;
  NodeId count;   ///< of a line
  NodeId digits;  ///< by which keys differ; at least one
  NodeId keys;    ///< the elements, unsigned; they stay
  NodeId sorted;  ///< where the elements go; perhaps none
  NodeId order;   ///< where the index of each in its line goes, Int64; perhaps none

  /// Of all lines.
  NodeId elements(LoopWriter& loops) const { return loops.multiply(lines, count); }
};

/// Sorts by digits, the lowest first, each in one launch that reads and writes the elements once (onesweep;
/// Adinets, Merrill 2022). A launch before counts the digits of all keys, another one adds them up. A block
/// takes the next tile of a line, publishes how often it has each digit, and each of its threads looks back
/// over what the tiles before have published of one digit. Where `KernelWriter::may_look_back`, and a block
/// has a thread for each digit.
class DigitSweeps {
 public:
  DigitSweeps(KernelWriter& kernels, LoopWriter& loops, const KeyLines& what, const SortKey& key);

  static constexpr int64_t kMostDigitBits = 8;
  static bool are_possible(KernelWriter& kernels);

  void write();

 private:
  enum State : uint8_t { Missing, OfTile, OfAll };  // OfAll: of the tile and all before it in its line

  /// Which digit: by how many bits keys are shifted for it, and bits of it that are flipped then (u32).
  struct Digit {
    NodeId shift;
    NodeId flipped;
  };
  /// What the threads of a block have together.
  struct Shared {
    NodeId counters;  ///< by warp and digit: how many; then where they begin in the sorted tile
    NodeId keys;      ///< the elements of the tile, then the sorted ones,
    NodeId order;     ///< ... in the same memory
    NodeId starts;    ///< by digit: where those of the tile go, less where they begin in it
    Nodes places;
  };
  /// A thread in a sweep over a tile.
  struct Thread {
    NodeId step;
    Digit digit;
    NodeId number;  ///< of the thread,
    NodeId lane;
    NodeId warp;
    NodeId tile;  ///< in all lines
    NodeId line;
    NodeId first;  ///< the index in the line of the tile's first element
    NodeId count;  ///< of the tile, u32
    NodeId half;   ///< which half the elements go to: 0 or 1
    NodeId stays;  ///< whether the sweep moves nothing of the line
    Shared shared;
    Nodes digits;  ///< of its elements, u32; of each
    Nodes ranks;   ///< ... its rank in the warp and the counter of its digit, then that in the tile
  };
  /// A sweep: bits of the digit that are flipped, where elements are, and where they and their indices go.
  struct Sweep {
    NodeId step;
    NodeId is_first;
    NodeId is_last;
    NodeId flipped;
    NodeId keys_from;
    NodeId keys_to;
    NodeId order_to;
  };
  /// ... of a thread in it: what goes somewhere does from the thread's number on.
  struct Views {
    NodeId keys_to;
    NodeId order_from;
    NodeId order_to;
  };

  void count_digits();
  void count_chunk(NodeId found, NodeId line, NodeId first);
  void count_element(NodeId found, NodeId element);
  void add_digits();
  void add_digit(NodeId line, NodeId step, NodeId lane, NodeId are_same);
  void plan(NodeId line, NodeId are_same);
  void write_sweep(NodeId step);
  Shared place();
  Thread begin(const Sweep& sweep, NodeId number, const Shared& shared);
  void sort_tile(Thread& own, NodeId from);
  NodeId is_whole(const Thread& own);
  NodeId own_place(const Thread& own, size_t iteration);
  NodeId first_in_tile(const Thread& own);
  Nodes load_tile(const Thread& own, NodeId from, NodeId other, bool is_whole);
  void rank_in_warp(Thread& own);
  void find_starts(Thread& own);
  NodeId code_of(const Thread& own, NodeId state);
  void publish(const Thread& own, NodeId state, NodeId number);
  NodeId look_back(const Thread& own);
  void move_tile(const Thread& own, const Sweep& sweep, const Views& views, bool is_whole);
  void each_sorted(const Thread& own, NodeId from,
                   const std::function<NodeId(size_t iteration, NodeId value)>& digit, NodeId to,
                   NodeId moves, bool is_whole);

  NodeId shift_of(NodeId step) { return loops_.multiply(step, b_.index(digit_bits())); }
  NodeId digit_of(NodeId element, const Digit& digit);
  NodeId lowest_digit(NodeId bits, NodeId shift);
  /// One of two halves of a view, or all of a view that has no other one; from an element on.
  NodeId half_of(NodeId both, NodeId half, NodeId from = {});
  NodeId words_of_all();
  int64_t bins() const { return kernels_.block_threads(); }
  int64_t digit_bits() const;
  int64_t warps() const { return kernels_.block_threads() / KernelWriter::kWarp; }
  int64_t tile_size() const { return kernels_.block_threads() * iterations_; }
  NodeId load(NodeId view, NodeId at) { return loops_.load(view, {&at, 1}); }
  void store(NodeId view, NodeId at, NodeId value) { loops_.store(view, {&at, 1}, value); }
  NodeId u32(uint32_t number) { return b_.constant(number); }
  NodeId index(NodeId number) { return b_.cast(number, DType::Int64); }

  KernelWriter& kernels_;
  LoopWriter& loops_;
  ir::Builder& b_;
  KeyLines what_;
  SortKey key_;
  DType dtype_;  ///< of the elements
  BlockScan scan_;
  BlockScan sums_;
  PublishedTiles published_;
  int64_t most_digits_;
  int64_t iterations_;  ///< of a thread
  NodeId all_;          ///< elements
  NodeId tiles_;        ///< of a line
  NodeId keys_;         ///< in two halves: elements that are sorted by some digits,
  NodeId order_;        ///< ... and their indices
  NodeId starts_;       ///< by line, digit and bin: how many; then how many of lesser bins
  NodeId plans_;        ///< by line and digit
  NodeId is_long_;      ///< whether counts of a line have more bits than a word has for them
};

}  // namespace ingot::transform
