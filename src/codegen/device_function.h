#pragma once

#include <functional>

#include "codegen/body.h"
#include "codegen/line_table.h"
#include "codegen/targets/kernel_target.h"

namespace ingot::ir {
class Neighbours;
}  // namespace ingot::ir

namespace ingot::codegen {

/// The code of a thread of a launch, as a function of its own. It leaves with an exception by reporting it
/// and ending; a buffer is the address of its memory; arrays of its own are in local memory.
class DeviceFunction final : public Body {
 public:
  /// `target` takes the error report first.
  DeviceFunction(Unit& unit, LineTable& lines, const ir::Function& source, llvm::Function* target);

  /// The region of a launch. `used`: the values from outside, with their parts here.
  void emit(NodeId launch, std::span<const std::pair<NodeId, Parts>> used);
  bool may_raise() const { return may_raise_; }
  /// Whether all blocks have to be there at once.
  bool is_cooperative() const { return is_cooperative_; }
  /// How many blocks a processor should have at least: while threads of one wait for each other, or for those
  /// of other blocks, others run.
  unsigned blocks_at_once() const {
    return !is_of_loops_ ? 1 : waits_for_blocks_ ? 3 : shares_memory_ ? 2 : 1;
  }

 private:
  bool polls() const override { return false; }
  void emit_poll() override {}
  void leave(base::ExceptionKind kind, uint32_t site, std::span<llvm::Value* const> shown) override;
  llvm::Value* allocate(llvm::Value* bytes, std::optional<NodeId> alloc) override;
  void release(llvm::Value* buffer) override;
  llvm::Value* buffer_data(llvm::Value* buffer) override { return buffer; }
  llvm::Value* buffer_size(llvm::Value* buffer) override;
  void emit_return_(NodeId id) override;
  void emit_alloc(NodeId id) override;
  void emit_load(NodeId id) override;
  void emit_store(NodeId id) override;

  // device_lanes.cpp
  /// Accesses of neighbouring iterations, made as one.
  struct Together {
    NodeId access;
    llvm::Value* address;  ///< of the first iteration's
    uint64_t alignment;    ///< in bytes, that it has to have
  };
  void emit_for_(NodeId id) override;
  std::vector<Together> find_together(const ir::Neighbours& iterations, NodeId loop, uint64_t width);
  llvm::Value* are_aligned(std::span<const Together> together);
  void emit_at_once(const ir::Neighbours& iterations, NodeId loop, uint64_t width,
                    std::span<const Together> together);
  void each_piece(const Together& access, uint64_t width,
                  const std::function<void(llvm::Value*, llvm::FixedVectorType*, uint64_t)>& act);
  std::vector<Parts> load_together(const Together& access, uint64_t width);
  void store_together(const Together& access, std::span<const Parts> values);
  std::optional<uint64_t> origin_of(NodeId view) const;
  void find_stored(NodeId launch);
  void mark_constant(llvm::LoadInst& load, NodeId view);

  // device_threads.cpp
  void emit_barrier(NodeId id) override;
  void emit_vote(NodeId id) override;
  void emit_match(NodeId id) override;
  void emit_shuffle(NodeId id) override;
  void emit_active(NodeId id) override;
  void emit_fence(NodeId id) override;
  void emit_nanosleep(NodeId id) override;
  void emit_linked(NodeId id) override;
  void emit_c_value(NodeId id) override;
  void wait_for_grid();
  llvm::Value* as_word(llvm::Value* part);

  // device_atomics.cpp
  using Change = llvm::function_ref<llvm::Value*(llvm::Value* bits)>;
  void emit_atomic(NodeId id) override;
  void emit_compare_exchange(NodeId id) override;
  void emit_atomic_load(NodeId id) override;
  void emit_atomic_store(NodeId id) override;
  llvm::Value* exchange_bits(llvm::Value* address, unsigned bytes, Change change);
  llvm::Value* bits_of(DType dtype, const Parts& value);
  Parts of_bits(DType dtype, llvm::Value* bits);
  unsigned atomic_bytes(DType dtype) const;
  void order(NodeId id);
  llvm::Value* own_memory(uint64_t bytes);
  llvm::Value* dynamic_memory();

  std::optional<Parts> emit_nodes(RegionId region) override;

  LineTable& lines_;
  const KernelTarget& kernels_;
  bool is_of_loops_ = false;  ///< not a kernel that is written out
  bool shares_memory_ = false;
  bool waits_for_blocks_ = false;
  bool knows_stored_ = false;
  std::vector<uint64_t> stored_;  ///< the origins of memory that is stored into (`origin_of`)
  bool may_raise_ = false;
  bool is_cooperative_ = false;
};

}  // namespace ingot::codegen
