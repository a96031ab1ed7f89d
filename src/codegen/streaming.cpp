// Stores past the caches (`stream`). They are not ordered with others, so a function that may have made some
// ends with a fence; they are aligned, which is checked where they are made.

#include "codegen/lane_body.h"

namespace ingot::codegen {

using llvm::Value;

namespace {

/// The least alignment that the CPU takes such stores at; wider ones are made in parts.
constexpr uint64_t kAlignment = 16;

}  // namespace

void LaneBody::note_streams(NodeId loop) {
  for (NodeId node : source_.region_body(source_.region(loop))) {
    if (source_.op(node) != ir::Op::stream) continue;
    if (streamed_ == nullptr) {
      Builder at_entry(&target_->getEntryBlock(), target_->getEntryBlock().begin());
      streamed_ = at_entry.CreateAlloca(b_.getInt1Ty());
      at_entry.CreateStore(b_.getFalse(), streamed_);
    }
    Value* const before = b_.CreateLoad(b_.getInt1Ty(), streamed_);
    b_.CreateStore(b_.CreateOr(before, value(source_.operands(node).back())), streamed_);
  }
}

void LaneBody::store_lanes(Value* stored, Value* address, Value* past) {
  const uint64_t bytes = stored->getType()->getPrimitiveSizeInBits().getFixedValue() / 8;
  if (past == nullptr || bytes % kAlignment != 0) {
    b_.CreateAlignedStore(stored, address, llvm::Align(1));
    return;
  }
  Block* const large = new_block("large");
  Block* const aligned = new_block("past");
  Block* const cached = new_block("cached");
  Block* const on = new_block("on");
  b_.CreateCondBr(past, large, cached);
  b_.SetInsertPoint(large);
  Value* const low = b_.CreateAnd(b_.CreatePtrToInt(address, b_.getInt64Ty()), b_.getInt64(kAlignment - 1));
  b_.CreateCondBr(b_.CreateIsNull(low), aligned, cached);
  b_.SetInsertPoint(aligned);
  llvm::StoreInst* const store = b_.CreateAlignedStore(stored, address, llvm::Align(kAlignment));
  store->setMetadata(llvm::LLVMContext::MD_nontemporal,
                     llvm::MDNode::get(unit_.context, llvm::ConstantAsMetadata::get(b_.getInt32(1))));
  b_.CreateBr(on);
  b_.SetInsertPoint(cached);
  b_.CreateAlignedStore(stored, address, llvm::Align(1));
  b_.CreateBr(on);
  b_.SetInsertPoint(on);
}

/// Before each return: stores past the caches become visible before what follows.
void LaneBody::fence_streams() {
  if (streamed_ == nullptr) return;
  llvm::SmallVector<llvm::Instruction*, 8> returns;
  for (Block& block : *target_)
    if (auto* const last = block.getTerminator(); llvm::isa_and_nonnull<llvm::ReturnInst>(last))
      returns.push_back(last);
  for (llvm::Instruction* last : returns) {
    Block* const before = last->getParent();
    Block* const leave = before->splitBasicBlock(last, "leave");
    before->getTerminator()->eraseFromParent();
    Block* const fence = new_block("fence");
    b_.SetInsertPoint(before);
    b_.CreateCondBr(b_.CreateLoad(b_.getInt1Ty(), streamed_), fence, leave);
    b_.SetInsertPoint(fence);
    unit_.instructions.fence_streams(b_);
    b_.CreateBr(leave);
  }
}

}  // namespace ingot::codegen
