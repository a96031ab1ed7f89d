#pragma once

#include "transform/kernels/block_scan.h"

namespace ingot::transform {

/// Tiles that the blocks of launches take one after the other, and words that blocks publish of them. Where
/// `KernelWriter::may_look_back`.
class PublishedTiles {
 public:
  /// `word`: the dtype of the words, an unsigned one that atomics take.
  PublishedTiles(KernelWriter& kernels, LoopWriter& loops, DType word);

  /// Before the launch: memory for so many words, all of which are 0.
  void allocate(NodeId words);
  /// At the top of a launch.
  void place() { number_ = kernels_.shared(1, DType::Int64); }
  /// The next tile, which is this block's. A collective of the block.
  NodeId take(NodeId thread);
  void publish(NodeId at, NodeId word);
  /// What a word is now.
  NodeId look(NodeId at);
  /// Lets others go on.
  void pause();

 private:
  NodeId position(NodeId at) { return loops_.add(at, b_.index(first_)); }

  KernelWriter& kernels_;
  LoopWriter& loops_;
  ir::Builder& b_;
  DType dtype_;
  int64_t first_;  ///< the counter has a line of the cache for itself
  NodeId words_;   ///< the counter of tiles that are taken, then those of the tiles
  NodeId number_;  ///< in the block's memory: its tile
};

/// What the tiles before a block's tile give, in one launch: decoupled look-back (Merrill, Garland 2016).
/// Each block takes the next tile and publishes what that gives; then a warp of it looks back over what 32
/// tiles at a time have published, up to one that has all before it, too, and publishes that of its own.
/// Where `KernelWriter::may_look_back`.
///
/// In a fixed order of combining, for values that it changes: tiles form groups of 32. Each tile combines
/// those of its group before it with what comes before the group, which the group's first tile publishes.
///
/// A value is published as words of 64 bits, each with 32 bits of it and the state: a reader has the value
/// when the states of all its words are the same.
class LookBack {
 public:
  enum class Order : uint8_t { Any, Fixed };

  LookBack(KernelWriter& kernels, LoopWriter& loops, BlockScan& scan, Order order = Order::Any);

  /// Before the launch: memory for so many tiles, as many as there are blocks.
  void allocate(NodeId tiles);
  /// At the top of the launch.
  void place();
  /// The tile of this block. A collective of the block.
  NodeId take_tile(NodeId thread) { return published_.take(thread); }
  /// What the tiles before give after `inits`, in their order; `own`: what this one gives. A collective of
  /// the block.
  Nodes before(NodeId tile, NodeId thread, const Nodes& own, const Nodes& inits);

 private:
  enum State : uint8_t { Missing, OfTile, OfAll };  // OfAll: of the tile and all before it

  NodeId position(NodeId row, int64_t word);
  void publish(NodeId row, NodeId lane, NodeId state, const Nodes& values);
  Nodes wait_for(NodeId row);
  Nodes values_of(NodeId lane, const Nodes& words);
  Nodes fold_warp(Nodes values);
  Nodes look_back(NodeId tile, NodeId lane);
  Nodes look_into_group(NodeId tile, NodeId lane, const Nodes& inits);
  NodeId word(uint64_t number) { return b_.constant(number); }

  KernelWriter& kernels_;
  LoopWriter& loops_;
  ir::Builder& b_;
  BlockScan& scan_;
  Order order_;
  std::vector<int64_t> words_of_;  ///< by slot
  int64_t words_ = 0;              ///< of a row
  NodeId tiles_;
  /// Rows of words, of each tile and, where the order is fixed, of what comes before each group.
  PublishedTiles published_;
  Nodes found_;   ///< in the block's memory: what comes before its tile, by slot,
  Nodes values_;  ///< ... for each lane a value, by slot,
  Nodes bits_;    ///< ... and the same memory as words of up to 32 bits
};

}  // namespace ingot::transform
