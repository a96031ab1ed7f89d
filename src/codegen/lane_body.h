#pragma once

#include <unordered_map>

#include "codegen/body.h"
#include "ir/cursor.h"

namespace ingot::codegen {

/// A body whose vector loops run several iterations together, one in each lane. While they do, a part of a
/// value is a number that all lanes share (uniform), or a vector with one element a lane (varying). In code
/// for any floating-point state, which is rarely run, iterations run one by one.
class LaneBody : public Body {
 public:
  using Body::Body;

 protected:
  struct Lanes {
    unsigned width = 0;           ///< 0: iterations run one by one
    llvm::Value* mask = nullptr;  ///< of the lanes that run here; null: all do
    NodeId loop;
    llvm::Value* first = nullptr;  ///< i64: the mask is of so many lanes, the first ones; null: of any
  };
  /// The label of a block that is open in lanes.
  struct LaneLabel {
    NodeId label;
    llvm::AllocaInst* left = nullptr;              ///< the mask of lanes that have left for it
    llvm::SmallVector<llvm::AllocaInst*, 2> home;  ///< what they gave, by part
  };
  /// An i64 that is `base` in the first lane and grows by `step` from lane to lane; both uniform.
  struct Affine {
    llvm::Value* base;
    llvm::Value* step;
  };
  /// The addresses of the lanes' elements: `base` in the first, `step` bytes more in each next one; or
  /// arbitrary ones.
  struct LaneAddress {
    llvm::Value* base = nullptr;
    llvm::Value* step = nullptr;
    llvm::Value* offsets = nullptr;  ///< more bytes, varying; null: none
    llvm::Value* unit = nullptr;     ///< the one stride that `step` is, if it is one from outside the loop
    llvm::Value* index = nullptr;    ///< the first lane's index of that stride, which `base` leaves out
  };
  using UnitStride = std::pair<llvm::Value*, uint64_t>;  ///< a stride and the bytes that it is assumed to be

  /// @name Loops (lanes.cpp)
  void emit_all_iterations(NodeId id) override;
  void emit_parallel_for(NodeId id) override;
  Parts emit_blocks(NodeId id, std::span<Reduction> reductions, const Blocks& blocks,
                    const Parts& starts) override;
  bool is_vector_loop(NodeId id) const;
  bool in_lanes() const { return lanes_.width > 0; }
  void emit_vector_for(NodeId id);
  void emit_compact_for(NodeId id);
  bool only_reads(RegionId region) const;
  unsigned lanes_of_reductions(NodeId loop) const;
  std::vector<size_t> reductions_at_once(NodeId id, std::span<Reduction> reductions) const;
  Parts emit_block_of_lanes(NodeId id, std::span<Reduction> reductions, size_t begin, size_t count,
                            llvm::Value* first, llvm::Value* in_block, const Parts& running);
  Parts emit_blocks_in_lanes(NodeId id, std::span<Reduction> reductions, const Blocks& blocks,
                             const Parts& starts);
  Parts emit_blocks_compactly(NodeId id, std::span<Reduction> reductions, const Blocks& blocks,
                              const Parts& starts);
  /// Of a vector loop: the first iteration of a block, and how many there are in it.
  std::pair<llvm::Value*, llvm::Value*> range_of(const Blocks& blocks, llvm::Value* block);
  /// `block_of(block, running)` for each block.
  template <class BlockOf>
  Parts emit_each_block(NodeId id, std::span<Reduction> reductions, const Blocks& blocks, const Parts& starts,
                        BlockOf block_of);
  /// The iterations k ... of a vector loop's body in lanes; gives what they yield, as vectors.
  Parts emit_lanes(const Lanes& lanes, llvm::Value* k, const Parts& carried = {});
  bool is_masked_throughout(NodeId loop) const;
  unsigned widest_element(NodeId loop) const;
  /// The lanes of a loop below a count, which is not negative.
  Lanes lanes_below(NodeId loop, unsigned width, llvm::Value* count);
  llvm::Value* full_mask() const;
  template <class Vector, class Serial>
  Parts emit_if_unit_strides(const Types& types, Vector vector, Serial serial);

  /// @name Values (lanes.cpp)
  void emit_select(NodeId id) override;
  void emit_elementwise(NodeId id) override;
  llvm::Value* widen(llvm::Value* part);
  Parts widen(const Parts& parts);
  /// Parts of several values that an operation takes together: all widened if any is varying.
  void widen_together(std::span<Parts> operands);
  void follow_affine(NodeId id);
  std::optional<Affine> affine_of(NodeId id) const;

  /// @name Control (lane_control.cpp)
  std::optional<Parts> emit_nodes(RegionId region) override;
  void emit_if_(NodeId id) override;
  void emit_for_(NodeId id) override;
  void emit_while_(NodeId id) override;
  void emit_block(NodeId id) override;
  void emit_exit_(NodeId id) override;
  void emit_unreachable(NodeId id) override;
  void emit_if_in_lanes(NodeId id);
  void emit_for_in_lanes(NodeId id);
  void emit_while_in_lanes(NodeId id);
  void emit_block_in_lanes(NodeId id);
  void emit_exit_in_lanes(NodeId id);
  std::optional<Parts> emit_nodes_in_lanes(RegionId region, std::span<const NodeId> nodes);
  std::optional<Parts> emit_arm(RegionId region, llvm::Value* mask);
  void emit_divergent_for(NodeId id);
  bool is_used(NodeId value) const;
  bool needs_a_lane(std::span<const NodeId> nodes) const;
  int cost_of(std::span<const NodeId> nodes) const;
  /// The labels that are open around a node and that lanes may leave for in it.
  std::vector<LaneLabel*> exits_of(NodeId id);
  /// From here on, the lanes of `mask` that have not left for one of the labels run.
  void go_on(llvm::Value* mask, std::span<LaneLabel* const> exits);
  llvm::AllocaInst* lane_home(llvm::Type* type);
  Parts nothing_in_lanes(NodeId id);

  /// @name Cursors (cursors.cpp)
  /// In lanes a cursor's parameter is its value in the first of them, as a number.
  struct LaneCursor {
    ir::Cursor cursor;
    llvm::AllocaInst* count;  ///< i64: the lanes in which it has grown
  };
  /// Elements that lanes have stored at a cursor and that are not yet where they belong: CPUs that write some
  /// lanes of a register slowly or not at all write whole registers here, and from here whole lines.
  struct Stage {
    NodeId store;
    llvm::AllocaInst* elements;
    llvm::AllocaInst* count;  ///< i64
    llvm::AllocaInst* next;   ///< where the first of them belongs
    uint64_t size;            ///< bytes of an element
  };
  /// Before the iterations of a loop, and after them.
  void open_stages(NodeId loop);
  void close_stages();
  Stage* stage_of(NodeId store);
  void open_cursors(NodeId loop);
  /// The cursors' values for the next lanes; closes them.
  Parts grown_cursors(const Parts& cursors);
  void count_growth(NodeId id);
  const LaneCursor* cursor_of_store(NodeId id) const;
  void emit_store_at_cursor(NodeId id);
  /// What of a store's lanes a mask selects, a register of them at a time: `store` gets the numbers, the
  /// selected ones first, and how many these are, as i64.
  template <class Store>
  void each_compressed(const Parts& stored, Store store);
  void store_compressed(const Parts& stored, llvm::Value* address);
  void stage_compressed(const Stage& stage, const Parts& stored, llvm::Value* address);
  void store_one_by_one(DType dtype, const Parts& stored, llvm::Value* address, llvm::Value* stride);

  /// @name Memory (lane_memory.cpp)
  void emit_load(NodeId id) override;
  void emit_store(NodeId id) override;
  void emit_stream(NodeId id) override;
  void emit_prefetch(NodeId id) override;
  void emit_load_in_lanes(NodeId id);
  /// A store, of which `past` (null: never) is whether it goes past the caches.
  void emit_store_in_lanes(NodeId id, std::span<const NodeId> operands, llvm::Value* past);
  LaneAddress lane_address(NodeId view, std::span<const NodeId> indices);
  llvm::Value* moved(llvm::Value* address, llvm::Value* index, llvm::Value* stride);
  bool is_contiguous(LaneAddress& address, uint64_t size);
  llvm::Value* lane_pointers(const LaneAddress& address, uint64_t offset);
  Parts load_contiguous(DType dtype, llvm::Value* address);
  /// The first numbers of as many pairs as there are lanes. What is after the last of them, which may be
  /// after the array, is not touched.
  llvm::Value* load_every_second(llvm::Type* number, llvm::Value* address);
  void store_contiguous(DType dtype, const Parts& value, llvm::Value* address, llvm::Value* past);
  bool masks_memory(Instructions::Access access, llvm::Type* number) const;
  /// The results of `all` where no lane is masked out, else those of `some`; both have these types.
  template <class All, class Some>
  Parts emit_if_all_lanes(All all, Some some);
  /// Whether the lanes that run can move contiguous numbers, so many `each`, at once.
  bool moves_neighbours(Instructions::Access access, llvm::Type* number, unsigned each) const;
  llvm::Value* mask_of_each(unsigned each);
  llvm::Value* load_neighbours(llvm::Type* number, unsigned each, llvm::Value* address);
  void store_neighbours(llvm::Value* stored, unsigned each, llvm::Value* address, llvm::Value* past);
  llvm::Value* masked_load(llvm::Type* type, llvm::Value* address);
  void masked_store(llvm::Value* value, llvm::Value* address, llvm::Value* past);
  llvm::Value* gather_lanes(llvm::Type* type, llvm::Value* pointers);
  void scatter_lanes(llvm::Value* value, llvm::Value* pointers);

  /// @name The first few lanes (lane_ends.cpp)
  llvm::Value* first_lanes() const;
  /// Whether the first of so many numbers can be moved, as below, while only the first lanes run.
  bool moves_first(Instructions::Access access, llvm::Type* number, unsigned count) const;
  /// The `first` (i64) ones of `count` numbers at an address, and zeros. Nothing after them is touched.
  llvm::Value* load_first(llvm::Type* number, unsigned count, llvm::Value* address, llvm::Value* first);
  void store_first(llvm::Value* stored, llvm::Value* address, llvm::Value* first);

  /// @name Short rows (lane_rows.cpp)
  /// An index in rows of a few elements.
  struct RowElement {
    unsigned length;
    unsigned index;
  };
  std::optional<RowElement> row_element(NodeId view, std::span<const NodeId> indices,
                                        const LaneAddress& address, uint64_t size);
  llvm::Value* load_of_rows(llvm::Type* number, llvm::Value* address, const RowElement& element);
  std::vector<NodeId> stores_to_row(NodeId id, unsigned length) const;
  bool store_row(NodeId id, const LaneAddress& address, const RowElement& element, DType type,
                 llvm::Value* past);
  llvm::Value* rows_of(std::vector<llvm::Value*> elements);

  /// @name Columns (lane_columns.cpp)
  bool may_be_column(NodeId view, const LaneAddress& address, uint64_t size) const;
  llvm::Value* ahead_of_rows(NodeId view, const LaneAddress& address);
  llvm::Value* load_column(NodeId id, llvm::Type* number, const LaneAddress& address, uint64_t size);
  bool store_column(NodeId id, const LaneAddress& address, uint64_t size);

  /// @name Stores past the caches (streaming.cpp)
  /// Decides, when a vector loop is entered, whether it stores past them.
  void note_streams(NodeId loop);
  /// All lanes, to one address after the other: past the caches where `past`, if it is not null, holds.
  void store_lanes(llvm::Value* stored, llvm::Value* address, llvm::Value* past);
  void fence_streams();

 private:
  Lanes lanes_;
  llvm::Value* first_mask_ = nullptr;            ///< the mask that they had at the start
  std::unordered_map<uint32_t, Affine> affine_;  ///< by node, while in lanes
  llvm::SmallVector<UnitStride, 4> unit_strides_;
  std::unordered_map<uint32_t, llvm::Value*> columns_;  ///< by load, of those that are still to come
  llvm::AllocaInst* streamed_ = nullptr;                ///< whether anything has gone past the caches
  std::vector<LaneLabel> lane_labels_;                  ///< of the blocks that are open in lanes
  std::vector<LaneCursor> lane_cursors_;                ///< of the loop whose iterations are in lanes
  std::vector<Stage> stages_;                           ///< of that loop's stores at cursors
};

}  // namespace ingot::codegen
