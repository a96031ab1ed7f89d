#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "codegen/scalars.h"
#include "codegen/unit.h"

namespace ingot::codegen {

class Reduction;

/// Emits what a function does: its values, its control flow, its loads and stores, of a host's entry or a
/// kernel alike. Nodes become parts in the order of the body; regions become basic blocks, and control that
/// joins from several paths becomes a `Join` with a phi for each part.
///
/// What surrounds a function - how exceptions leave it, what interrupts it, where memory comes from, what it
/// can call - is defined by derived classes (`HostFunction`).
class Body {
 public:
  Body(Unit& unit, const ir::Function& source, llvm::Function* target,
       FloatStates states = FloatStates::Default);
  virtual ~Body() = default;
  Body(const Body&) = delete;
  Body& operator=(const Body&) = delete;

 protected:
  using NodeId = ir::NodeId;
  using RegionId = ir::RegionId;
  using Block = llvm::BasicBlock;

  /// A join: a point that control reaches from several blocks, each with its own parts.
  struct Join {
    Block* block = nullptr;
    std::vector<std::pair<Block*, Parts>> incoming;
  };
  /// How often a loop polls: at the end of each strip of 64 k iterations, every 64th iteration (of loops
  /// round innermost ones), or every iteration.
  enum class Poll : uint8_t { Strip, Sometimes, Always, Never };
  /// The iterations of a loop that the function runs, where they are not all.
  struct Piece {
    NodeId loop;
    llvm::Value* first;
    llvm::Value* count;
  };
  /// Blocks of a reduction's iterations: `count` from block `first` on, as far as there are iterations.
  struct Blocks {
    llvm::Value* iterations;
    llvm::Value* first;
    llvm::Value* count;
  };

  /// @name The surroundings
  /// Whether loops poll for interrupts.
  virtual bool polls() const { return true; }
  /// Polls for an interrupt, and leaves the function if there is one.
  virtual void emit_poll() = 0;
  /// Ends the block: leaves with an exception of a site, whose message shows 64-bit words.
  virtual void leave(base::ExceptionKind kind, uint32_t site, std::span<llvm::Value* const> shown) = 0;
  /// A new buffer, never null; `alloc`: the node that asks for it, if one does.
  virtual llvm::Value* allocate(llvm::Value* bytes, std::optional<NodeId> alloc = std::nullopt) = 0;
  virtual void release(llvm::Value* buffer) = 0;
  virtual llvm::Value* buffer_data(llvm::Value* buffer) = 0;
  virtual llvm::Value* buffer_size(llvm::Value* buffer) = 0;
  virtual void emit_return_(NodeId id) = 0;
  /// Operations of some kinds of functions only.
  virtual void emit_call(NodeId) { fail_not_lowered("call"); }
  virtual void emit_library(NodeId) { fail_not_lowered("library"); }
  virtual void emit_draw(NodeId) { fail_not_lowered("draw"); }
  virtual void emit_host(NodeId) { fail_not_lowered("host"); }
  virtual void emit_c_call(NodeId) { fail_not_lowered("c_call"); }
  virtual void emit_c_value(NodeId) { fail_not_lowered("c_value"); }
  virtual void emit_keep(NodeId) { fail_not_lowered("keep"); }
  virtual void emit_kept(NodeId) { fail_not_lowered("kept"); }
  virtual void emit_sort_line(NodeId) { fail_not_lowered("sort_line"); }
  virtual void emit_argsort_line(NodeId) { fail_not_lowered("argsort_line"); }
  virtual void emit_launch(NodeId) { fail_not_lowered("launch"); }
  virtual void emit_barrier(NodeId) { fail_not_lowered("barrier"); }
  virtual void emit_vote(NodeId) { fail_not_lowered("vote"); }
  virtual void emit_match(NodeId) { fail_not_lowered("match"); }
  virtual void emit_shuffle(NodeId) { fail_not_lowered("shuffle"); }
  virtual void emit_active(NodeId) { fail_not_lowered("active"); }
  virtual void emit_fence(NodeId) { fail_not_lowered("fence"); }
  virtual void emit_nanosleep(NodeId) { fail_not_lowered("nanosleep"); }
  virtual void emit_linked(NodeId) { fail_not_lowered("linked"); }
  virtual void emit_atomic(NodeId) { fail_not_lowered("atomic"); }
  virtual void emit_compare_exchange(NodeId) { fail_not_lowered("compare_exchange"); }
  virtual void emit_atomic_load(NodeId) { fail_not_lowered("atomic_load"); }
  virtual void emit_atomic_store(NodeId) { fail_not_lowered("atomic_store"); }
  virtual void emit_clear(NodeId) { fail_not_lowered("clear"); }

  /// @name Regions and nodes (body.cpp)
  void emit_node(NodeId id);
  /// The parts that the region yields; none if control never reaches its end.
  std::optional<Parts> emit_region(RegionId region, const Parts& arguments);
  /// The same of a region whose parameters are known.
  virtual std::optional<Parts> emit_nodes(RegionId region);
  /// The lifetime of the buffer that a node allocates; none: it allocates none.
  std::optional<ir::Life> life_of(NodeId node) const;
  /// Frees the buffers that end with a region, of those before a node in it: it is left there.
  void release_buffers(RegionId region, NodeId end);
  const Parts& parts(NodeId id) const {
    const std::unique_ptr<Page>& page = parts_[id.index / kPage];
    return page == nullptr ? no_parts_ : (*page)[id.index % kPage];
  }
  void set(NodeId id, Parts value) {
    std::unique_ptr<Page>& page = parts_[id.index / kPage];
    if (page == nullptr) page = std::make_unique<Page>();
    (*page)[id.index % kPage] = std::move(value);
  }
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

  /// @name Control (control.cpp)
  /// A loop over 0 ... count - 1 (loops.h). `iteration(k, carried)` emits an iteration and gives the parts
  /// carried to the next, none if control never gets there. Gives what is carried at the end. With a step, a
  /// power of two of which the count is a multiple, k goes on by it.
  template <class Iteration>
  Parts emit_counted(llvm::Value* count, const Parts& inits, Poll poll, Iteration iteration,
                     uint64_t step = 1);
  /// The same over begin ... end - 1, which is not empty; none if control never gets to the end.
  template <class Iteration>
  std::optional<Parts> emit_rotated(llvm::Value* begin, llvm::Value* end, const Parts& inits, Poll poll,
                                    Iteration iteration, uint64_t step = 1);
  void sum_products(llvm::PHINode& counter, Block* before, uint64_t step);
  Poll poll_of(std::span<const RegionId> regions) const;
  Poll poll_of_loop(NodeId loop) const;
  /// A number that an i64 is known not to exceed, where that is small; none: not known.
  std::optional<int64_t> limit_of(NodeId id) const;
  int loop_depth(RegionId region) const;
  void emit_poll_every(llvm::Value* counter, uint64_t mask);
  /// The iterations that this function runs of a loop, and the number of the k-th of them.
  llvm::Value* iteration_count(NodeId loop) const;
  llvm::Value* iteration_of(NodeId loop, llvm::Value* k);
  virtual void emit_if_(NodeId id);
  virtual void emit_for_(NodeId id);
  virtual void emit_while_(NodeId id);
  virtual void emit_parallel_for(NodeId id);
  virtual void emit_block(NodeId id);
  /// In a function that shares nothing: the loop in it.
  virtual void emit_share(NodeId id);
  virtual void emit_exit_(NodeId id);
  void emit_iterations(NodeId id);
  virtual void emit_all_iterations(NodeId id);
  Parts reduce_alone(NodeId id);
  std::vector<Reduction> reductions_of(NodeId loop);
  Blocks blocks_of(NodeId loop);
  /// Iteration k of a reduction; gives what is carried to the next, none if control never gets there.
  std::optional<Parts> accumulate_iteration(NodeId id, std::span<Reduction> reductions, llvm::Value* k,
                                            const Parts& carried);
  /// The values of the blocks; what is carried from iteration to iteration starts as `starts`.
  virtual Parts emit_blocks(NodeId id, std::span<Reduction> reductions, const Blocks& blocks,
                            const Parts& starts);
  Parts finish_reductions(std::span<Reduction> reductions, const Blocks& blocks, const Parts& inits,
                          const Parts& values);

  /// @name Exceptions (raise.cpp)
  virtual void emit_unreachable(NodeId);
  void emit_raise(NodeId id);
  void emit_check(NodeId id);
  /// Leaves with an exception at a node's location, whose message shows values; `made`: of which class and
  /// arguments it is made (`ErrorSite::made`).
  void leave_at(NodeId id, base::ExceptionKind kind, std::string message, std::span<const NodeId> shown,
                int64_t made = -1);
  /// The location of a node, as a site of no kind and without a message.
  ErrorSite site_of(NodeId id) const;
  /// With the one that the node itself names.
  void leave_with_own(NodeId id, std::span<const NodeId> shown);
  llvm::Value* widened(NodeId id);
  void leave_if(llvm::Value* condition, Block* leaving);

  /// @name Memory (memory.cpp)
  void emit_length(NodeId id);
  void emit_stride(NodeId id);
  virtual void emit_alloc(NodeId id);
  void emit_view(NodeId id);
  void emit_buffer(NodeId id);
  void emit_offset(NodeId id);
  void emit_distance(NodeId id);
  virtual void emit_load(NodeId id);
  virtual void emit_store(NodeId id);
  virtual void emit_stream(NodeId id);
  virtual void emit_prefetch(NodeId id);
  void store_one(std::span<const NodeId> operands);
  virtual void emit_copy(NodeId id);
  llvm::Value* field(llvm::Value* base, uint64_t offset);
  llvm::Value* element_address(NodeId view, std::span<const NodeId> indices);
  Parts load_element(DType dtype, llvm::Value* address, bool aligned);
  void store_element(DType dtype, const Parts& value, llvm::Value* address, bool aligned);
  llvm::Value* may_overlap(const Parts& a, const Parts& b);
  Parts temporary_like(ir::Type type, const Parts& view);
  void copy_view(ir::Type type, const Parts& to, const Parts& from);
  void copy_axis(DType dtype, int axis, std::span<llvm::Value* const> lengths, const Parts& to,
                 const Parts& from, llvm::Value* to_address, llvm::Value* from_address);

  /// @name Values (values.cpp)
  void emit_param(NodeId) {}
  void emit_yield(NodeId) {}
  void emit_constant(NodeId id);
  void emit_result(NodeId id);
  void emit_cast(NodeId id);
  virtual void emit_select(NodeId id);
  virtual void emit_elementwise(NodeId id);
  void emit_some(NodeId id);
  void emit_none(NodeId id);
  void emit_tag(NodeId id);
  void emit_value(NodeId id);
  void emit_same_object(NodeId id);
  Parts member_of(NodeId compound, size_t index) const;

  Unit& unit_;
  const ir::Function& source_;
  llvm::Function* target_;
  FloatStates states_;
  Builder b_;
  Scalars scalars_;
  std::optional<Piece> piece_;

 private:
  static constexpr size_t kPage = 64;
  using Page = std::array<Parts, kPage>;
  std::vector<std::unique_ptr<Page>> parts_;  ///< of nodes; a body that is a part of a function has few
  const Parts no_parts_;
  std::vector<std::pair<NodeId, Join*>> labels_;  ///< of the blocks that are open
};

}  // namespace ingot::codegen
