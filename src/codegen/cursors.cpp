// Cursors of vector loops (ir/cursor.h): what the lanes store at one becomes contiguous. Elements of 4 and 8
// bytes are moved together in a register, and stored up to their number; narrower ones are widened for that.
// What has another stride than the element's size is stored lane by lane.

#include <algorithm>

#include "codegen/branches.h"
#include "codegen/lane_body.h"

namespace ingot::codegen {

using llvm::Value;

namespace {

constexpr unsigned kRegisterBits = 512;

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
  const bool is_short = bits * stored.size() * std::min(lanes_.width, kRegisterBits / 32) < 128;
  if (is_short || (known != nullptr && known->getZExtValue() != size))
    return store_one_by_one(type, stored, address, stride);
  const UnitStride assumed(stride, size);
  if (known == nullptr && std::ranges::find(unit_strides_, assumed) == unit_strides_.end())
    unit_strides_.push_back(assumed);
  store_compressed(stored, address, full_mask());
}

/// A register at a time: of complex numbers both parts, which are then stored as pairs.
void LaneBody::store_compressed(const Parts& stored, Value* address, Value* mask) {
  llvm::Type* const number = stored[0]->getType()->getScalarType();
  const auto bits = static_cast<unsigned>(number->getPrimitiveSizeInBits().getFixedValue());
  llvm::Type* const moved_type = bits < 32 ? b_.getInt32Ty() : number;
  const unsigned lanes = std::min(lanes_.width, kRegisterBits / std::max(bits, 32u));
  const auto part_count = static_cast<unsigned>(stored.size());
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
    if (part_count == 2) {
      llvm::SmallVector<int, 64> pairs;
      for (unsigned i = 0; i < lanes; ++i) {
        pairs.push_back(static_cast<int>(i));
        pairs.push_back(static_cast<int>(lanes + i));
      }
      all = b_.CreateShuffleVector(together[0], together[1], pairs);
    }
    Value* const some_bits = b_.CreateBitCast(some, b_.getIntNTy(lanes));
    Value* const count =
        b_.CreateZExt(b_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, some_bits), b_.getInt64Ty());
    Value* const numbers = b_.CreateMul(count, b_.getInt64(part_count));
    Value* const below = b_.CreateSub(b_.CreateShl(b_.getInt64(1), numbers), b_.getInt64(1));
    Value* const stored_mask =
        b_.CreateBitCast(b_.CreateTrunc(below, b_.getIntNTy(lanes * part_count)),
                         llvm::FixedVectorType::get(b_.getInt1Ty(), lanes * part_count));
    b_.CreateMaskedStore(all, address, llvm::Align(1), stored_mask);
    address = moved(address, numbers, b_.getInt64(bits / 8));
  }
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
