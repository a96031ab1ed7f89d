#pragma once

#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "codegen/scalars.h"
#include "codegen/unit.h"
#include "ir/cursor.h"

namespace ingot::codegen {

/// Emits the entry of a function, by its entry symbol.
void emit_entry(Unit& unit, const ir::Function& source, bool recursive);
/// Emits the body of a function that others call.
void emit_internal(Unit& unit, const ir::Function& source, llvm::Function* target, bool recursive);

class Reduction;

/// Emits one function. Nodes become parts in the order in which they stand; regions become basic blocks, and
/// control that arrives at one place from several becomes a `Join` with a phi for each part.
class FunctionEmitter {
 public:
  enum class Form : uint8_t {
    Entry,
    Internal,
    Turns,  ///< some turns of a loop of the function: `runtime::Turns`
  };
  FunctionEmitter(Unit& unit, const ir::Function& source, llvm::Function* target, Form form, bool recursive);
  void emit();

 private:
  using NodeId = ir::NodeId;
  using RegionId = ir::RegionId;
  using Block = llvm::BasicBlock;

  /// A place that control reaches from several blocks, each with its own parts.
  struct Join {
    Block* block = nullptr;
    std::vector<std::pair<Block*, Parts>> incoming;
  };
  /// How often a loop polls: at the end of each strip of 64 k turns, every 64th turn
  /// (of loops round innermost ones), or every turn.
  enum class Poll : uint8_t { Strip, Sometimes, Always, Never };
  /// A loop over 0 ... count - 1 (loops.h). `turn(k, carried)` emits a turn and gives the parts carried to
  /// the next, none if control never gets there. Gives what is carried at the end. With a step, a power of
  /// two of which the count is a multiple, k goes on by it.
  template <class Turn>
  Parts emit_counted(llvm::Value* count, const Parts& inits, Poll poll, Turn turn, uint64_t step = 1);
  /// The same over begin ... end - 1, which is not empty; none if control never gets to the end.
  template <class Turn>
  std::optional<Parts> emit_rotated(llvm::Value* begin, llvm::Value* end, const Parts& inits, Poll poll,
                                    Turn turn, uint64_t step = 1);

  /// Turns of a vector loop that run together, one in each lane. While they do, a part of a value is a number
  /// that all lanes share (uniform), or a vector with one element a lane (varying).
  struct Lanes {
    unsigned width = 0;           ///< 0: turns run one by one
    llvm::Value* mask = nullptr;  ///< of the lanes that run here; null: all do
    NodeId loop;
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
  /// Where lanes find an element: `base` in the first, `step` bytes on in each next one; or anywhere.
  struct LaneAddress {
    llvm::Value* base = nullptr;
    llvm::Value* step = nullptr;
    llvm::Value* offsets = nullptr;  ///< more bytes, varying; null: none
    llvm::Value* unit = nullptr;     ///< the one stride that `step` is, if it is one from outside the loop
    llvm::Value* index = nullptr;    ///< the first lane's index of that stride, which `base` leaves out
  };
  /// The turns of a loop that a function of Form::Turns runs.
  struct Piece {
    NodeId loop;
    llvm::Value* first;
    llvm::Value* count;
  };
  /// Blocks of a reduction's turns: `count` from block `first` on, as far as there are turns.
  struct Blocks {
    llvm::Value* turns;
    llvm::Value* first;
    llvm::Value* count;
  };
  using UnitStride = std::pair<llvm::Value*, uint64_t>;  ///< a stride and the bytes that it is assumed to be

  // function.cpp
  void emit_prologue();
  Parts take_parameters();
  void fill_in(ir::Type type, const ir::ParameterInfo& known, Parts& parts);
  void emit_node(NodeId id);
  /// The parts that the region yields; none if control never reaches its end.
  std::optional<Parts> emit_region(RegionId region, const Parts& arguments);
  /// Finds which allocated buffers may be known beyond the region that allocates them.
  void find_escapes();
  bool gives_on(NodeId yield, size_t index, NodeId alloc, std::vector<NodeId>& root);
  /// Frees those of a region whose end has been reached that are not.
  void release_buffers(RegionId region);
  const Parts& parts(NodeId id) const { return parts_[id.index]; }
  void set(NodeId id, Parts value) { parts_[id.index] = std::move(value); }
  llvm::Value* value(NodeId id) const { return parts(id)[0]; }
  Parts gather(std::span<const NodeId> nodes) const;
  DType dtype(NodeId id) const { return source_.type(id).dtype(); }

  Block* new_block(const char* name);
  Block* here() const { return b_.GetInsertBlock(); }
  Join new_join(const char* name);
  void arrive(Join& join, const Parts& parts);
  Parts close(Join& join, const Types& types);
  Parts phis(const Types& types, unsigned incoming);
  void add_incoming(const Parts& phis, const Parts& values);

  // control.cpp
  Poll poll_of(std::span<const RegionId> regions) const;
  Poll poll_of_loop(NodeId loop) const;
  std::optional<int64_t> limit_of(NodeId id) const;
  int loop_depth(RegionId region) const;
  void emit_poll();
  void emit_poll_every(llvm::Value* counter, uint64_t mask);
  void emit_if_(NodeId id);
  void emit_for_(NodeId id);
  void emit_while_(NodeId id);
  void emit_parallel_for(NodeId id);
  void emit_turns(NodeId id);
  void emit_serial_for(NodeId id);
  Parts reduce_alone(NodeId id);
  std::vector<Reduction> reductions_of(NodeId loop);
  Blocks blocks_of(NodeId loop);
  /// The values of the blocks; what is carried from turn to turn starts as `starts`.
  Parts emit_blocks(NodeId id, std::span<Reduction> reductions, const Blocks& blocks, const Parts& starts);
  Parts emit_blocks_serially(NodeId id, std::span<Reduction> reductions, const Blocks& blocks,
                             const Parts& starts);
  Parts finish_reductions(std::span<Reduction> reductions, const Blocks& blocks, const Parts& inits,
                          const Parts& values);
  void emit_block(NodeId id);
  void emit_exit_(NodeId id);

  // leave.cpp
  void emit_return_(NodeId id);
  void emit_unreachable(NodeId);
  void emit_raise(NodeId id);
  void emit_check(NodeId id);
  void emit_call(NodeId id);
  // outside.cpp
  void emit_library(NodeId id);
  void emit_draw(NodeId id);
  void emit_host(NodeId id);
  llvm::Value* call_outside(llvm::StringRef what, int64_t number, std::span<const NodeId> operands);

  void check_stack();
  /// Leaves with an exception at a node's place, whose message shows values.
  void store_error(NodeId id, base::ExceptionKind kind, std::string message, std::span<const NodeId> shown);
  /// With the one that the node itself names.
  void store_own_error(NodeId id, std::span<const NodeId> shown);
  llvm::Value* widened(NodeId id);
  /// The block that leaves the function with an exception no place of the source raises.
  Block* leaving_block(base::ExceptionKind kind);
  void leave_if(llvm::Value* condition, Block* leaving);
  ErrorSite site_of(NodeId id) const;  ///< of no kind, and without a message
  /// Adds a call to those that the exception has left.
  void store_caller(NodeId call);
  /// Leaves with what another function or the outside gave: with any status but 0 and those that the node
  /// catches (base::catches). `call`: the one that it leaves, if tracebacks show it.
  void leave_with(llvm::Value* status, int64_t catches, std::optional<NodeId> call = {});
  void return_status(llvm::Value* status);

  // memory.cpp
  void emit_length(NodeId id);
  void emit_stride(NodeId id);
  void emit_alloc(NodeId id);
  void emit_view(NodeId id);
  void emit_buffer(NodeId id);
  void emit_keep(NodeId id);
  void emit_kept(NodeId id);
  void emit_offset(NodeId id);
  void emit_load(NodeId id);
  void emit_store(NodeId id);
  void emit_copy(NodeId id);
  void emit_sort_line(NodeId id);
  void emit_argsort_line(NodeId id);
  llvm::Value* field(llvm::Value* base, uint64_t offset);
  llvm::Value* buffer_data(llvm::Value* buffer);
  llvm::Value* element_address(NodeId view, std::span<const NodeId> indices);
  Parts load_element(DType dtype, llvm::Value* address, bool aligned);
  void store_element(DType dtype, const Parts& value, llvm::Value* address, bool aligned);
  Parts load_slot(ir::Type type, llvm::Value* slot);
  void store_slot(ir::Type type, const Parts& value, llvm::Value* slot);
  /// A new buffer; `alloc`: the node that asks for it, if one does.
  llvm::Value* allocate(llvm::Value* bytes, std::optional<NodeId> alloc = std::nullopt);
  void leave_without_memory(std::optional<NodeId> alloc);
  std::optional<NodeId> view_of_new(NodeId alloc) const;
  llvm::Value* may_overlap(const Parts& a, const Parts& b);
  Parts temporary_like(ir::Type type, const Parts& view);
  void sort_line(ir::NodeId id, const char* function, ir::NodeId view, std::optional<ir::NodeId> places);
  void copy_view(ir::Type type, const Parts& to, const Parts& from);
  void copy_axis(DType dtype, int axis, std::span<llvm::Value* const> lengths, const Parts& to,
                 const Parts& from, llvm::Value* to_address, llvm::Value* from_address);

  // lanes.cpp
  bool is_vector_loop(NodeId id) const;
  unsigned lane_count(NodeId loop) const;
  bool is_kernel(NodeId node) const;
  uint64_t registers_for_sums(RegionId region) const;
  void emit_vector_for(NodeId id);
  bool only_reads(RegionId region) const;
  std::vector<size_t> reductions_at_once(NodeId id, std::span<Reduction> reductions) const;
  Parts emit_block_in_lanes(NodeId id, std::span<Reduction> reductions, size_t begin, size_t count,
                            llvm::Value* first, llvm::Value* in_block, const Parts& running);
  Parts emit_blocks_in_lanes(NodeId id, std::span<Reduction> reductions, const Blocks& blocks,
                             const Parts& starts);
  /// The turns k ... of a vector loop's body in lanes; gives what they yield, as vectors.
  Parts emit_lanes(const Lanes& lanes, llvm::Value* k, const Parts& carried = {});
  bool is_masked_throughout(NodeId loop) const;
  llvm::Value* mask_below(unsigned width, llvm::Value* count);
  template <class Vector, class Serial>
  Parts emit_if_unit_strides(const Types& types, Vector vector, Serial serial);
  template <class Step>
  Parts emit_when(llvm::Value* condition, const Parts& otherwise, Step step);
  llvm::Value* widen(llvm::Value* part);
  Parts widen(const Parts& parts);
  /// Parts of several values that an operation takes together: all widened if any is varying.
  void widen_together(std::span<Parts> operands);
  bool in_lanes() const { return lanes_.width > 0; }
  void follow_affine(NodeId id);
  std::optional<Affine> affine_of(NodeId id) const;
  llvm::Value* full_mask() const;

  // lane_control.cpp
  void emit_if_in_lanes(NodeId id);
  void emit_for_in_lanes(NodeId id);
  void emit_while_in_lanes(NodeId id);
  void emit_block_in_lanes(NodeId id);
  void emit_exit_in_lanes(NodeId id);
  std::optional<Parts> emit_nodes_in_lanes(RegionId region, std::span<const NodeId> nodes);
  std::optional<Parts> emit_arm(RegionId region, llvm::Value* mask);
  void emit_divergent_for(NodeId id);
  bool is_used(NodeId value) const;
  /// Whether there is a loop that goes on until its lanes say otherwise.
  bool has_while(RegionId region) const;
  bool needs_a_lane(std::span<const NodeId> nodes) const;
  /// The labels that are open around a node and that lanes may leave for in it.
  std::vector<LaneLabel*> exits_of(NodeId id);
  /// From here on, the lanes of `mask` that have not left for one of the labels run.
  void go_on(llvm::Value* mask, std::span<LaneLabel* const> exits);
  llvm::AllocaInst* lane_home(llvm::Type* type);
  Parts nothing_in_lanes(NodeId id);

  // cursors.cpp
  /// In lanes a cursor's parameter is its place in the first of them, as a number.
  struct LaneCursor {
    ir::Cursor cursor;
    llvm::AllocaInst* count;  ///< i64: the lanes in which it has grown
  };
  void open_cursors(NodeId loop);
  /// The cursors' places for the next lanes; closes them.
  Parts grown_cursors(const Parts& places);
  void count_growth(NodeId id);
  const LaneCursor* cursor_of_store(NodeId id) const;
  void emit_store_at_cursor(NodeId id);
  void store_compressed(const Parts& stored, llvm::Value* address, llvm::Value* mask);
  void store_one_by_one(DType dtype, const Parts& stored, llvm::Value* address, llvm::Value* stride);

  // threads.cpp
  bool runs_in_threads(NodeId id) const;
  /// The turns that this function runs of a loop, and the number of the k-th of them.
  llvm::Value* turn_count(NodeId loop) const;
  llvm::Value* turn_of(NodeId loop, llvm::Value* k);
  void emit_for_in_threads(NodeId id);
  void emit_reductions_in_threads(NodeId id);
  bool is_in_loop(NodeId id) const;
  Parts reduce_in_threads(NodeId id, llvm::Value* cost);
  void emit_groups(NodeId id, llvm::Value* begin, llvm::Value* end, const Parts& given);
  template <class Emit>
  void share_turns(NodeId loop, llvm::Value* count, llvm::Value* cost, const Parts& more, Emit emit);
  void call_turns(NodeId loop, llvm::Function* turns, llvm::Value* data, llvm::Value* count,
                  llvm::Value* cost);
  std::vector<NodeId> used_by(NodeId loop) const;
  void collect_used(RegionId region, RegionId loop, std::vector<NodeId>& used) const;
  uint64_t op_cost(NodeId node, bool lanes) const;
  llvm::Value* has_work(llvm::Value* count, llvm::Value* cost);
  llvm::Value* cost_of(RegionId region, RegionId loop, bool lanes);
  llvm::Value* writes_apart(NodeId loop);
  llvm::Value* is_apart(NodeId view);
  void collect_written(RegionId region, std::vector<NodeId>& written) const;
  std::optional<NodeId> outer_view(NodeId view, RegionId loop, bool& known) const;

  // lane_memory.cpp
  void emit_load_in_lanes(NodeId id);
  void emit_store_in_lanes(NodeId id);
  LaneAddress lane_address(NodeId view, std::span<const NodeId> indices);
  llvm::Value* moved(llvm::Value* address, llvm::Value* index, llvm::Value* stride);
  bool is_contiguous(LaneAddress& address, uint64_t size);
  llvm::Value* lane_pointers(const LaneAddress& address, uint64_t offset);
  Parts load_contiguous(DType dtype, llvm::Value* address);
  /// The first numbers of as many pairs as there are lanes. What stands behind the last of them, which may be
  /// behind the array, is not touched.
  llvm::Value* load_every_second(llvm::Type* number, llvm::Value* address);
  void store_contiguous(NodeId id, DType dtype, const Parts& value, llvm::Value* address);
  bool masks_memory(llvm::Type* number, int level, unsigned least) const;
  llvm::Value* masked_load(llvm::Type* type, llvm::Value* address);
  void masked_store(llvm::Value* value, llvm::Value* address);
  llvm::Value* gather_lanes(llvm::Type* type, llvm::Value* pointers);
  void scatter_lanes(llvm::Value* value, llvm::Value* pointers);

  // streaming.cpp
  bool is_one_buffer(NodeId view) const;
  bool reads_buffer(RegionId region, llvm::Value* buffer) const;
  std::optional<NodeId> loop_of_index(NodeId index) const;
  llvm::Value* written_bytes(NodeId store, std::optional<NodeId> by);
  /// Finds the stores of a vector loop that may go past the caches, and when they do.
  void find_streams(NodeId loop);
  /// All lanes, to one address after the other: past the caches where that is wanted of the store.
  void store_lanes(NodeId id, llvm::Value* stored, llvm::Value* address);
  void fence_streams();

  // values.cpp
  void emit_param(NodeId) {}
  void emit_yield(NodeId) {}
  void emit_constant(NodeId id);
  void emit_result(NodeId id);
  void emit_cast(NodeId id);
  void emit_select(NodeId id);
  void emit_elementwise(NodeId id);
  void emit_some(NodeId id);
  void emit_none(NodeId id);
  void emit_tag(NodeId id);
  void emit_value(NodeId id);
  void emit_tuple(NodeId id);
  void emit_member(NodeId id);
  void emit_same_object(NodeId id);
  Parts member_of(NodeId compound, size_t index) const;

  std::vector<bool> escapes_;   ///< by alloc node
  std::vector<bool> handed_;    ///< by alloc node: outside may take it
  std::vector<bool> on_stack_;  ///< by alloc node: small, and nobody but loads and stores sees it
  Unit& unit_;
  const ir::Function& source_;
  llvm::Function* target_;
  Form form_;
  bool recursive_;
  Builder b_;
  Scalars scalars_;
  llvm::Value* context_ = nullptr;
  llvm::Value* results_ = nullptr;    ///< Entry: the slots; Internal: the result struct
  llvm::Value* attention_ = nullptr;  ///< the address of the flag
  std::vector<Parts> parts_;
  std::optional<Piece> piece_;
  Lanes lanes_;
  std::unordered_map<uint32_t, Affine> affine_;  ///< by node, while in lanes
  llvm::SmallVector<UnitStride, 4> unit_strides_;
  llvm::SmallVector<std::pair<NodeId, llvm::Value*>, 2> streams_;  ///< stores, and whether past the caches
  llvm::AllocaInst* streamed_ = nullptr;                           ///< whether any has gone there
  std::vector<std::pair<NodeId, Join*>> labels_;                   ///< of the blocks that are open
  std::vector<LaneLabel> lane_labels_;                             ///< of those that are open in lanes
  std::vector<LaneCursor> lane_cursors_;                           ///< of the loop whose turns are in lanes
  std::vector<std::pair<base::ExceptionKind, Block*>> leaving_;
};

}  // namespace ingot::codegen
