// Cursors of vector loops (ir/cursor.h): what the lanes store at one becomes contiguous. Elements of 4 and 8
// bytes are moved together in a register, and stored up to their number; narrower ones are widened for that.
// What has another stride than the element's size is stored lane by lane. CPUs that do not store the first
// lanes of a register alone put whole registers on the stack, one over the end of the other, and store what
// has come together: nothing after the elements is touched.

#include <algorithm>
#include <bit>

#include "codegen/branches.h"
#include "codegen/lane_body.h"
#include "ir/walk.h"

namespace ingot::codegen {

using llvm::Value;

namespace {

/// Elements that are stored together, of each stage.
constexpr uint64_t kStaged = 64;
/// Bytes that are moved at once.
constexpr uint64_t kPiece = 32;

}  // namespace

void LaneBody::open_cursors(NodeId loop) {
  lane_cursors_.clear();
  const auto cursors = ir::cursors_of(source_, loop);
  if (!cursors) fail_not_lowered("a vector loop that carries what is no cursor");
  for (const ir::Cursor& cursor : *cursors) {
    Builder at_entry(&target_->getEntryBlock(), target_->getEntryBlock().begin());
    lane_cursors_.push_back({cursor, at_entry.CreateAlloca(b_.getInt64Ty())});
    b_.CreateStore(b_.getInt64(0), lane_cursors_.back().count);
  }
}

Parts LaneBody::grown_cursors(const Parts& cursors) {
  Parts grown;
  for (size_t i = 0; i < cursors.size(); ++i)
    grown.push_back(b_.CreateAdd(cursors[i], b_.CreateLoad(b_.getInt64Ty(), lane_cursors_[i].count)));
  lane_cursors_.clear();
  return grown;
}

/// Where a cursor grows, it does so in the lanes that run there.
void LaneBody::count_growth(NodeId id) {
  for (const LaneCursor& open : lane_cursors_) {
    if (open.cursor.grown != id) continue;
    Value* const bits = b_.CreateBitCast(full_mask(), b_.getIntNTy(lanes_.width));
    Value* const count = b_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, bits);
    b_.CreateStore(b_.CreateZExtOrTrunc(count, b_.getInt64Ty()), open.count);
  }
}

const LaneBody::LaneCursor* LaneBody::cursor_of_store(NodeId id) const {
  const auto found = std::ranges::find_if(
      lane_cursors_, [&](const LaneCursor& open) { return ir::stores_at(source_, id, open.cursor); });
  return found == lane_cursors_.end() ? nullptr : &*found;
}

void LaneBody::emit_store_at_cursor(NodeId id) {
  const auto operands = source_.operands(id);
  const size_t rank = operands.size() - 2;
  const DType type = dtype(operands.back());
  const Parts& view = parts(operands[0]);
  Value* address = view[0];
  for (size_t i = 0; i < rank; ++i) address = moved(address, value(operands[1 + i]), view[2 + rank + i]);
  Value* const stride = view[1 + rank + rank];
  Parts stored = widen(parts(operands.back()));
  if (base::is_bool(type)) stored[0] = b_.CreateZExt(stored[0], like(stored[0]->getType(), b_.getInt8Ty()));
  const uint64_t size = base::size_of(type);
  const auto* const known = llvm::dyn_cast<llvm::ConstantInt>(stride);
  // Not of less than a register: LLVM 19 may take bits after the mask for lanes.
  const uint64_t bits = stored[0]->getType()->getScalarSizeInBits();
  const uint64_t lanes = std::min(lanes_.width, unit_.instructions.compressed_bits() / 32);
  const bool is_short = bits * stored.size() * lanes < 128;
  if (is_short || (known != nullptr && known->getZExtValue() != size))
    return store_one_by_one(type, stored, address, stride);
  const UnitStride assumed(stride, size);
  if (known == nullptr && std::ranges::find(unit_strides_, assumed) == unit_strides_.end())
    unit_strides_.push_back(assumed);
  if (const Stage* const stage = stage_of(id)) stage_compressed(*stage, stored, address);
  else store_compressed(stored, address);
}

template <class Store>
void LaneBody::each_compressed(const Parts& stored, Store store) {
  Value* const mask = full_mask();
  llvm::Type* const number = stored[0]->getType()->getScalarType();
  const auto bits = static_cast<unsigned>(number->getPrimitiveSizeInBits().getFixedValue());
  llvm::Type* const moved_type = bits < 32 ? b_.getInt32Ty() : number;
  const unsigned lanes = std::min(lanes_.width, unit_.instructions.compressed_bits() / std::max(bits, 32u));
  for (unsigned first = 0; first < lanes_.width; first += lanes) {
    llvm::SmallVector<int, 64> order;
    for (unsigned i = 0; i < lanes; ++i) order.push_back(static_cast<int>(first + i));
    Value* const some = b_.CreateShuffleVector(mask, order);
    Parts together;
    for (Value* part : stored) {
      Value* chunk = b_.CreateShuffleVector(part, order);
      if (bits < 32) chunk = b_.CreateZExt(chunk, like(chunk->getType(), moved_type));
      chunk = unit_.instructions.compressed(b_, chunk, some);
      if (bits < 32) chunk = b_.CreateTrunc(chunk, like(chunk->getType(), number));
      together.push_back(chunk);
    }
    Value* all = together[0];
    if (stored.size() == 2) {
      llvm::SmallVector<int, 64> pairs;
      for (unsigned i = 0; i < lanes; ++i) {
        pairs.push_back(static_cast<int>(i));
        pairs.push_back(static_cast<int>(lanes + i));
      }
      all = b_.CreateShuffleVector(together[0], together[1], pairs);
    }
    Value* const some_bits = b_.CreateBitCast(some, b_.getIntNTy(lanes));
    store(all, b_.CreateZExt(b_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, some_bits), b_.getInt64Ty()));
  }
}

void LaneBody::store_compressed(const Parts& stored, Value* address) {
  const auto part_count = static_cast<unsigned>(stored.size());
  each_compressed(stored, [&](Value* all, Value* count) {
    const auto* const type = llvm::cast<llvm::FixedVectorType>(all->getType());
    Value* const numbers = b_.CreateMul(count, b_.getInt64(part_count));
    Value* const below = b_.CreateSub(b_.CreateShl(b_.getInt64(1), numbers), b_.getInt64(1));
    const unsigned lanes = type->getNumElements();
    Value* const stored_mask = b_.CreateBitCast(b_.CreateTrunc(below, b_.getIntNTy(lanes)),
                                                llvm::FixedVectorType::get(b_.getInt1Ty(), lanes));
    b_.CreateMaskedStore(all, address, llvm::Align(1), stored_mask);
    address = moved(address, numbers, b_.getInt64(type->getScalarSizeInBits() / 8));
  });
}

void LaneBody::open_stages(NodeId loop) {
  stages_.clear();
  const auto cursors = ir::cursors_of(source_, loop);
  if (!cursors || cursors->empty() || unit_.instructions.masks_all()) return;
  const auto width = static_cast<uint64_t>(source_.attribute(loop, 1));
  ir::walk(source_, source_.region(loop), [&](NodeId node) {
    if (std::ranges::none_of(*cursors, [&](auto& cursor) { return ir::stores_at(source_, node, cursor); }))
      return ir::Walk::Into;
    const uint64_t size = base::size_of(dtype(source_.operands(node).back()));
    Builder at_entry(&target_->getEntryBlock(), target_->getEntryBlock().begin());
    llvm::Type* const bytes = llvm::ArrayType::get(b_.getInt8Ty(), (kStaged + width) * size);
    stages_.push_back({node, at_entry.CreateAlloca(bytes), at_entry.CreateAlloca(b_.getInt64Ty()),
                       at_entry.CreateAlloca(b_.getPtrTy()), size});
    stages_.back().elements->setAlignment(llvm::Align(kPiece));
    b_.CreateStore(b_.getInt64(0), stages_.back().count);
    b_.CreateStore(llvm::Constant::getNullValue(b_.getPtrTy()), stages_.back().next);
    return ir::Walk::Into;
  });
}

LaneBody::Stage* LaneBody::stage_of(NodeId store) {
  const auto found = std::ranges::find(stages_, store, &Stage::store);
  return found == stages_.end() ? nullptr : &*found;
}

void LaneBody::stage_compressed(const Stage& stage, const Parts& stored, Value* address) {
  const auto at = [&](Value* element) {
    return b_.CreateGEP(b_.getInt8Ty(), stage.elements, b_.CreateMul(element, b_.getInt64(stage.size)));
  };
  const auto move = [&](Value* from, Value* to, uint64_t bytes) {
    for (uint64_t done = 0; done < bytes;) {
      const uint64_t piece = std::min(kPiece, std::bit_floor(bytes - done));
      llvm::Type* const type = b_.getIntNTy(static_cast<unsigned>(8 * piece));
      llvm::Type* const lanes = llvm::FixedVectorType::get(b_.getInt8Ty(), static_cast<unsigned>(piece));
      llvm::Type* const moved_type = piece > 8 ? lanes : type;
      Value* const some = b_.CreateAlignedLoad(moved_type, field(from, done), llvm::Align(1));
      b_.CreateAlignedStore(some, field(to, done), llvm::Align(1));
      done += piece;
    }
  };
  Value* count = b_.CreateLoad(b_.getInt64Ty(), stage.count);
  Value* const is_first = b_.CreateICmpEQ(count, b_.getInt64(0));
  Value* const next = b_.CreateSelect(is_first, address, b_.CreateLoad(b_.getPtrTy(), stage.next));
  each_compressed(stored, [&](Value* all, Value* selected) {
    b_.CreateAlignedStore(all, at(count), llvm::Align(1));
    count = b_.CreateAdd(count, selected);
  });
  const Parts left = emit_when(b_, b_.CreateICmpUGE(count, b_.getInt64(kStaged)), {count, next}, [&] {
    move(stage.elements, next, kStaged * stage.size);
    move(at(b_.getInt64(kStaged)), stage.elements, lanes_.width * stage.size);
    return Parts{b_.CreateSub(count, b_.getInt64(kStaged)), field(next, kStaged * stage.size)};
  });
  b_.CreateStore(left[0], stage.count);
  b_.CreateStore(left[1], stage.next);
}

void LaneBody::close_stages() {
  for (const Stage& stage : stages_) {
    Value* const count = b_.CreateLoad(b_.getInt64Ty(), stage.count);
    b_.CreateMemCpy(b_.CreateLoad(b_.getPtrTy(), stage.next), llvm::MaybeAlign(), stage.elements,
                    stage.elements->getAlign(), b_.CreateMul(count, b_.getInt64(stage.size)));
  }
  stages_.clear();
}

void LaneBody::store_one_by_one(DType dtype, const Parts& stored, Value* address, Value* stride) {
  Builder at_entry(&target_->getEntryBlock(), target_->getEntryBlock().begin());
  llvm::AllocaInst* const slot = at_entry.CreateAlloca(b_.getPtrTy());
  b_.CreateStore(address, slot);
  const uint64_t size = base::size_of(base::component_of(dtype));
  const Parts operands[] = {{full_mask()}, stored};
  scalars_.by_lane(lanes_.width, operands, {}, [&](std::span<const Parts> lane) {
    emit_when(b_, lane[0][0], [&] {
      Value* const next = b_.CreateLoad(b_.getPtrTy(), slot);
      for (uint64_t i = 0; i < lane[1].size(); ++i)
        b_.CreateAlignedStore(lane[1][i], field(next, i * size), llvm::Align(1));
      b_.CreateStore(b_.CreateGEP(b_.getInt8Ty(), next, stride), slot);
    });
    return Parts{};
  });
}

}  // namespace ingot::codegen
