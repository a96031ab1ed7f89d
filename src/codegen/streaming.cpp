// Stores past the caches. What a loop writes and does not read is fetched into the cache first, line by line,
// only to be written back: of large arrays a third of all that goes through memory. Where all that a nest
// writes through a view has more bytes than caches keep, lanes are stored past them.
//
// These stores are not ordered with others, so a function that may have made some ends with a fence; they are
// aligned, which is looked at where they are made.
//
// INGOT_STREAMS=always, for tests, stores past them however small an array is.

#include <algorithm>

#include "codegen/lane_body.h"

namespace ingot::codegen {

using llvm::Value;

namespace {

/// The least alignment that the CPU takes such stores at; wider ones are made in parts.
constexpr uint64_t kAlignment = 16;
/// The least bytes that a loop writes without a break: lines at both ends are written in parts.
constexpr uint64_t kRow = 8 << 10;

}  // namespace

/// Whether a region loads from memory of a view's buffer, or from some that is not known yet.
bool LaneBody::reads_buffer(RegionId region, Value* buffer) const {
  return std::ranges::any_of(source_.region_body(region), [&](NodeId node) {
    if (ir::info(source_.op(node)).effects.any(ir::effect::Read)) {
      const NodeId view = source_.operand(node, 0);
      if (!source_.type(view).is_view() || parts(view).empty() || parts(view)[1] == buffer) return true;
    }
    for (size_t i = 0; i < source_[node].region_count; ++i)
      if (reads_buffer(source_.region(node, i), buffer)) return true;
    return false;
  });
}

/// Whether a view is of one buffer, whatever branches are taken.
bool LaneBody::is_one_buffer(NodeId view) const {
  while (ir::info(source_.op(view)).effects.pure() && source_.op(view) != ir::Op::result &&
         !source_.operands(view).empty())
    view = source_.operand(view, 0);
  return source_.op(view) == ir::Op::param || source_.op(view) == ir::Op::alloc;
}

/// The loop around a node, up to the function's outermost, whose turn's number an index is made of.
std::optional<LaneBody::NodeId> LaneBody::loop_of_index(NodeId index) const {
  const ir::Op op = source_.op(index);
  if (op == ir::Op::param) {
    const NodeId owner = source_[source_[index].parent].owner;
    if (owner && source_.op(owner) == ir::Op::for_) return owner;
  } else if (op == ir::Op::add || op == ir::Op::subtract) {
    for (size_t i = 0; i < 2; ++i)
      if (const auto loop = loop_of_index(source_.operand(index, i))) return loop;
  }
  return std::nullopt;
}

/// The bytes that the loops around a store write through it, or one of them, as far as this is known before
/// them.
Value* LaneBody::written_bytes(NodeId store, std::optional<NodeId> by) {
  const auto operands = source_.operands(store);
  const Parts& view = parts(operands[0]);
  const size_t rank = operands.size() - 2;
  Value* bytes = b_.getInt64(base::size_of(dtype(operands.back())));
  for (size_t i = 0; i < rank; ++i) {
    const auto loop = loop_of_index(operands[1 + i]);
    if (!loop || (by && *by != *loop)) continue;
    Value* extent = view[2 + i];
    const Parts& count = parts(source_.operand(*loop, 0));
    const bool is_shared = piece_ && piece_->loop == *loop;
    if (!is_shared && !count.empty())
      extent = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, extent, count[0]);
    bytes = b_.CreateMul(bytes, extent);
  }
  return bytes;
}

void LaneBody::find_streams(NodeId loop) {
  const RegionId body = source_.region(loop);
  streams_.clear();
  if (unit_.target.machine.streamed_bytes == 0) return;
  for (NodeId node : source_.region_body(body)) {
    if (source_.op(node) != ir::Op::store || cursor_of_store(node) != nullptr) continue;
    const NodeId view = source_.operand(node, 0);
    if (parts(view).empty() || !is_one_buffer(view) || reads_buffer(body, parts(view)[1])) continue;
    Value* const least = b_.getInt64(unit_.target.machine.streamed_bytes);
    Value* const least_row = b_.getInt64(std::min(kRow, unit_.target.machine.streamed_bytes));
    Value* const streams = b_.CreateAnd(b_.CreateICmpUGE(written_bytes(node, std::nullopt), least),
                                        b_.CreateICmpUGE(written_bytes(node, loop), least_row));
    if (llvm::isa<llvm::Constant>(streams)) continue;
    streams_.emplace_back(node, streams);
    if (streamed_ == nullptr) {
      Builder at_entry(&target_->getEntryBlock(), target_->getEntryBlock().begin());
      streamed_ = at_entry.CreateAlloca(b_.getInt1Ty());
      at_entry.CreateStore(b_.getFalse(), streamed_);
    }
    b_.CreateStore(b_.CreateOr(b_.CreateLoad(b_.getInt1Ty(), streamed_), streams), streamed_);
  }
}

void LaneBody::store_lanes(NodeId id, Value* stored, Value* address) {
  const auto found = std::ranges::find(streams_, id, &std::pair<NodeId, Value*>::first);
  const uint64_t bytes = stored->getType()->getPrimitiveSizeInBits().getFixedValue() / 8;
  if (found == streams_.end() || bytes % kAlignment != 0) {
    b_.CreateAlignedStore(stored, address, llvm::Align(1));
    return;
  }
  Block* const large = new_block("large");
  Block* const past = new_block("past");
  Block* const cached = new_block("cached");
  Block* const on = new_block("on");
  b_.CreateCondBr(found->second, large, cached);
  b_.SetInsertPoint(large);
  Value* const low = b_.CreateAnd(b_.CreatePtrToInt(address, b_.getInt64Ty()), b_.getInt64(kAlignment - 1));
  b_.CreateCondBr(b_.CreateIsNull(low), past, cached);
  b_.SetInsertPoint(past);
  llvm::StoreInst* const store = b_.CreateAlignedStore(stored, address, llvm::Align(kAlignment));
  store->setMetadata(llvm::LLVMContext::MD_nontemporal,
                     llvm::MDNode::get(unit_.context, llvm::ConstantAsMetadata::get(b_.getInt32(1))));
  b_.CreateBr(on);
  b_.SetInsertPoint(cached);
  b_.CreateAlignedStore(stored, address, llvm::Align(1));
  b_.CreateBr(on);
  b_.SetInsertPoint(on);
}

/// Before each return: what has been stored past the caches is seen before what follows.
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
