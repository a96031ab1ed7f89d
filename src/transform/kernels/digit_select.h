#pragma once

#include "transform/kernels/block_scan.h"
#include "transform/kernels/digit_sweeps.h"

namespace ingot::transform {

/// Which elements of lines are wanted: of equal length, contiguous, one after the other, in a view of one
/// axis.
struct RankedLines {
  NodeId lines;
  NodeId count;                          ///< of a line
  NodeId keys;                           ///< the elements, unsigned; they stay
  NodeId ranks;                          ///< how many elements of each line are wanted
  std::function<NodeId(NodeId k)> rank;  ///< the index in a sorted line of the k-th that is wanted
  NodeId sorted;                         ///< where sorted lines would go: the wanted elements go there
};

/// What orders elements for a selection: a number of as many bits, unsigned, from which the element, or one
/// that serves as well, comes back.
struct RankKey {
  std::function<NodeId(NodeId element)> of;
  std::function<NodeId(NodeId key)> element;
};

/// Finds elements by their index in sorted lines without sorting them (radix select): the highest digit of
/// all elements is counted; then, digit by digit, that of those which begin as a wanted one does. A launch
/// for each digit and one more. The second one, which reads all elements again, keeps those that the others
/// read.
class DigitSelect {
 public:
  /// Where it `is_possible`.
  DigitSelect(KernelWriter& kernels, LoopWriter& loops, const RankedLines& what, const RankKey& key);

  /// Whether a block of a machine has a thread for each value of a digit, as sweeps need, too.
  static bool is_possible(KernelWriter& kernels) { return DigitSweeps::are_possible(kernels); }
  /// Whether lines are few enough to be counted in 32 bits, and ranks to be in the memory of a block: asked
  /// by the function that is written, before `write`.
  static NodeId takes(LoopWriter& loops, const RankedLines& what);

  /// Of lines that it `takes`.
  void write();

 private:
  static constexpr int64_t kMostRanks = 16;

  /// What a step reads: all elements, from which it may keep those that begin as a wanted one, or these.
  enum class Reads : uint8_t { All, AllAndKeeps, Kept };
  /// What the threads of a block have together.
  struct Shared {
    NodeId bins;      ///< by distinct beginning and digit: how many
    NodeId begins;    ///< by rank: the digits that are known of the element
    NodeId rests;     ///< by rank: its index among the elements that begin so
    NodeId next;      ///< ... after the next digit,
    NodeId digits;    ///< ... and that digit
    NodeId leaders;   ///< by rank: the first one that begins so
    NodeId distinct;  ///< the ranks that are first ones, and
    NodeId number;    ///< ... how many; then where the elements go that a block keeps
    Nodes places;
  };
  /// A block at a digit of a line.
  struct Block {
    NodeId step;
    NodeId line;
    NodeId part;   ///< of those of the line,
    NodeId parts;  ///< ... of so many
    NodeId thread;
    Shared shared;
    NodeId beginnings = {};  ///< how many distinct ones
  };

  void write_step(NodeId step, Reads reads);
  Shared place();
  void each_line(NodeId blocks, NodeId parts, NodeId step, const std::function<void(Block&)>& body);
  void know(Block& own);
  void start(const Block& own);
  void go_on(const Block& own);
  void find_distinct(Block& own);
  void count(const Block& own, NodeId elements, Reads reads);
  void count_chunk(const Block& own, NodeId from, NodeId first, NodeId elements, Nodes& loaded,
                   Nodes& begin_so);
  void keep(const Block& own, const Nodes& loaded, const Nodes& begin_so);
  void flush(const Block& own);
  void give(const Block& own);

  NodeId row(const Block& own, NodeId step);
  NodeId shift_of(NodeId step);
  NodeId in_rank(const Block& own) { return loops_.less(own.thread, what_.ranks); }
  int64_t bins() const { return kernels_.block_threads(); }
  NodeId load(NodeId view, NodeId at) { return loops_.load(view, {&at, 1}); }
  void store(NodeId view, NodeId at, NodeId value) { loops_.store(view, {&at, 1}, value); }
  void each(NodeId count, const std::function<void(NodeId)>& body);
  NodeId u32(uint32_t number) { return b_.constant(number); }
  NodeId narrow(NodeId number) { return b_.cast(number, DType::UInt32); }
  NodeId index(NodeId number) { return b_.cast(number, DType::Int64); }

  KernelWriter& kernels_;
  LoopWriter& loops_;
  ir::Builder& b_;
  RankedLines what_;
  RankKey key_;
  DType dtype_;  ///< of the elements
  BlockScan scan_;
  int64_t digit_bits_;
  int64_t digits_;
  NodeId parts_;   ///< blocks of a line that count
  NodeId counts_;  ///< by line, digit, rank and bin
  NodeId begins_;  ///< by line, digit and rank: `Shared::begins` when it is counted,
  NodeId rests_;   ///< ... and `Shared::rests`
  NodeId kept_;    ///< elements, by line,
  NodeId number_;  ///< ... of which there are so many
};

}  // namespace ingot::transform
