#pragma once

#include "codegen/scalars.h"

namespace ingot::codegen {

/// One combiner of a parallel loop, in the order of base/reduction.h: contributions go to 32 lanes of a block
/// of 1 024 iterations, lanes are combined pairwise at its end, and blocks as a binary counter carries: the
/// value of 2**l blocks waits on level l of a stack. f16 is combined as float. Where every order gives the
/// same value (integers), the running value is carried from iteration to iteration instead.
class Reduction {
 public:
  static constexpr uint64_t kBlockBits = 10;
  static constexpr uint64_t kBlock = uint64_t{1} << kBlockBits;
  static constexpr uint64_t kLanes = 32;
  static constexpr uint64_t kLevels = 64;

  Reduction(Unit& unit, Builder& builder, ir::Relaxations relaxations, FloatStates states, ir::Op combiner,
            DType dtype);

  bool ordered() const { return ordered_; }
  size_t part_count() const { return types_.size(); }  ///< of a contribution, and of a lane
  const Types& types() const { return types_; }        ///< of a lane's parts, and of a block's value

  void begin_block();
  /// Takes iteration k's contribution; gives the running value, which is `running` itself if this is ordered.
  Parts accumulate(llvm::Value* k, const Parts& running, const Parts& contribution);
  void end_block(llvm::Value* block);

  /// @name All lanes at once, as vectors
  /// Before the first block: so many iterations are taken at once, a divisor of kLanes. Fewer than kLanes:
  /// combiners that take any order have so many lanes; the lanes of others are in memory, where iterations
  /// may also be taken one by one (`begin_block`, `accumulate`, `end_block`).
  void set_width(uint64_t width);
  bool is_in_memory() const { return ordered_ && width_ < kLanes; }
  /// The lanes at the begin of a block.
  Parts lanes(const Parts& running);
  /// Takes the contributions of iterations k ... k + width - 1, of those in the mask (null: all; the first
  /// is).
  Parts accumulate_lanes(llvm::Value* k, const Parts& lanes, const Parts& contribution, llvm::Value* mask);
  /// The end of a block, or of the iterations that are taken at once; gives the running value.
  Parts fold(llvm::Value* block, Parts lanes, const Parts& running);

  /// The value of all blocks, of which there have been so many; the running value if this is not ordered.
  Parts total(llvm::Value* blocks, const Parts& running);
  /// Whether no further contribution changes the running value: of `any` and `all`; null of others.
  llvm::Value* decided(const Parts& running);
  /// The loop's value, from that of its iterations; the init if there were no iterations (`some` is false).
  Parts finish(llvm::Value* some, const Parts& init, const Parts& value);

  /// @name Blocks that are found separately
  /// Whether all blocks start from the first iteration's contribution, and that contribution for blocks
  /// without it.
  bool starts_from_first() const { return ordered_ && !has_identity_; }
  void start_from(const Parts& contribution);
  /// What the running value of some blocks starts from, so that it can be combined with that of others.
  Parts neutral(const Parts& init);
  /// Takes the value of a block, or of a number of them that is always the same power of two but for the
  /// last; gives the running value.
  Parts add_block(llvm::Value* block, const Parts& value, const Parts& running);

 private:
  /// @name Lanes in memory: of each part one after the other
  llvm::Value* lane_address(size_t part, llvm::Value* lane);
  Parts load_lanes(llvm::Value* first, uint64_t count);
  void store_lanes(const Parts& lanes, llvm::Value* first);
  /// Of lanes that are a power of two.
  Parts combined(Parts lanes);
  Parts load(llvm::Value* array, llvm::Value* index);
  void store(const Parts& value, llvm::Value* array, llvm::Value* index);
  Parts combine(const Parts& a, const Parts& b);
  void fill(const Parts& value);
  void push(llvm::Value* block);
  Parts splat(const Parts& value);
  /// `while (test(parts)) parts = body(parts)`; gives the parts in the end.
  template <class Test, class Body>
  Parts repeat_while(const Parts& start, Test test, Body body);

  Unit& unit_;
  Builder& b_;
  Scalars scalars_;
  ir::Op combiner_;
  DType dtype_;
  DType lane_;  ///< the dtype of lanes and levels
  bool ordered_;
  bool has_identity_;
  uint64_t width_ = kLanes;
  Types types_;
  llvm::Value* start_ = nullptr;  ///< of combiners without identity: the first contribution
  llvm::Value* lanes_ = nullptr;
  llvm::Value* levels_ = nullptr;
};

}  // namespace ingot::codegen
