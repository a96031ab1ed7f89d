#pragma once

#include "codegen/body.h"
#include "codegen/line_table.h"
#include "codegen/targets/kernel_target.h"

namespace ingot::codegen {

/// What a thread of a launch does, as a function of its own. It leaves with an exception by reporting it and
/// ending; a buffer is the address of its memory; arrays of its own are in local memory.
class DeviceFunction final : public Body {
 public:
  /// `target` takes the record of errors first.
  DeviceFunction(Unit& unit, LineTable& lines, const ir::Function& source, llvm::Function* target);

  /// The region of a launch. `used`: the values from outside, with their parts here.
  void emit(NodeId launch, std::span<const std::pair<NodeId, Parts>> used);
  bool may_raise() const { return may_raise_; }
  /// Whether all blocks have to be there at once.
  bool is_cooperative() const { return is_cooperative_; }

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

  // device_threads.cpp
  void emit_barrier(NodeId id) override;
  void emit_vote(NodeId id) override;
  void emit_match(NodeId id) override;
  void emit_shuffle(NodeId id) override;
  void emit_active(NodeId id) override;
  void emit_fence(NodeId id) override;
  void emit_nanosleep(NodeId id) override;
  void wait_for_grid();
  llvm::Value* as_word(llvm::Value* part);

  // device_atomics.cpp
  using Change = llvm::function_ref<llvm::Value*(llvm::Value* bits)>;
  void emit_atomic(NodeId id) override;
  void emit_compare_exchange(NodeId id) override;
  llvm::Value* exchange_bits(llvm::Value* address, unsigned bytes, Change change);
  llvm::Value* bits_of(DType dtype, const Parts& value);
  Parts of_bits(DType dtype, llvm::Value* bits);
  void order(NodeId id);
  llvm::Value* own_memory(uint64_t bytes);
  llvm::Value* dynamic_memory();

  std::optional<Parts> emit_nodes(RegionId region) override;

  LineTable& lines_;
  const KernelTarget& kernels_;
  bool may_raise_ = false;
  bool is_cooperative_ = false;
};

}  // namespace ingot::codegen
