#pragma once

#include "codegen/body.h"
#include "codegen/targets/kernel_target.h"

namespace ingot::codegen {

/// What a thread of a launch does, as a function of its own. It leaves with an exception by reporting it and
/// ending; a buffer is the address of its memory; arrays of its own are in local memory.
class DeviceFunction final : public Body {
 public:
  /// `target` takes the record of errors first.
  DeviceFunction(Unit& unit, const ir::Function& source, llvm::Function* target);

  /// The region of a launch. `used`: the values from outside, with their parts here.
  void emit(NodeId launch, std::span<const std::pair<NodeId, Parts>> used);
  bool may_raise() const { return may_raise_; }

 private:
  bool polls() const override { return false; }
  void emit_poll() override {}
  void leave(base::ExceptionKind kind, uint32_t site, std::span<llvm::Value* const> shown) override;
  llvm::Value* allocate(llvm::Value* bytes, std::optional<NodeId> alloc) override;
  void release(llvm::Value*) override {}
  llvm::Value* buffer_data(llvm::Value* buffer) override { return buffer; }
  llvm::Value* buffer_size(llvm::Value* buffer) override;
  void emit_return_(NodeId id) override;
  void emit_alloc(NodeId id) override;
  void emit_load(NodeId id) override;
  void emit_store(NodeId id) override;
  void emit_barrier(NodeId id) override;
  llvm::Value* own_memory(uint64_t bytes);

  const KernelTarget& kernels_;
  bool may_raise_ = false;
};

}  // namespace ingot::codegen
