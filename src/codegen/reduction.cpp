#include "codegen/reduction.h"

#include "base/reduction.h"
#include "ir/evaluate.h"

namespace ingot::codegen {

using llvm::BasicBlock;
using llvm::Value;

static_assert(Reduction::kBlock == base::kReductionBlock && Reduction::kLanes == base::kReductionLanes);

Reduction::Reduction(Unit& unit, Builder& builder, ir::Relaxations relaxations, FloatStates states,
                     ir::Op combiner, DType dtype)
    : unit_(unit),
      b_(builder),
      scalars_(unit, builder, relaxations, states),
      combiner_(combiner),
      dtype_(dtype),
      lane_(base::lane_dtype(dtype)),
      ordered_(ir::is_ordered(combiner, dtype)),
      has_identity_(ir::info(combiner).identity.has_value()),
      types_(unit.types_of(ir::Type::scalar(base::lane_dtype(dtype)))) {
  if (!ordered_) return;
  BasicBlock& entry = b_.GetInsertBlock()->getParent()->getEntryBlock();
  Builder at_entry(&entry, entry.begin());
  const auto array = [&](uint64_t count) {
    return at_entry.CreateAlloca(types_[0], at_entry.getInt64(count * types_.size()));
  };
  start_ = array(1);
  lanes_ = array(kLanes);
  levels_ = array(kLevels);
  if (has_identity_)
    store(scalars_.constant(lane_, *ir::identity_of(combiner, lane_)), start_, b_.getInt64(0));
}

Parts Reduction::load(Value* array, Value* index) {
  Value* const first = b_.CreateMul(index, b_.getInt64(types_.size()));
  Parts value;
  for (size_t i = 0; i < types_.size(); ++i)
    value.push_back(
        b_.CreateLoad(types_[0], b_.CreateGEP(types_[0], array, b_.CreateAdd(first, b_.getInt64(i)))));
  return value;
}

void Reduction::store(const Parts& value, Value* array, Value* index) {
  Value* const first = b_.CreateMul(index, b_.getInt64(types_.size()));
  for (size_t i = 0; i < types_.size(); ++i)
    b_.CreateStore(value[i], b_.CreateGEP(types_[0], array, b_.CreateAdd(first, b_.getInt64(i))));
}

Parts Reduction::combine(const Parts& a, const Parts& b) {
  const Parts operands[] = {a, b};
  return scalars_.elementwise(combiner_, lane_, operands);
}

template <class Body>
void Reduction::repeat(uint64_t count, Body body) {
  llvm::Function* const function = b_.GetInsertBlock()->getParent();
  BasicBlock* const before = b_.GetInsertBlock();
  BasicBlock* const iteration = BasicBlock::Create(unit_.context, "each", function);
  BasicBlock* const after = BasicBlock::Create(unit_.context, "each.end", function);
  b_.CreateBr(iteration);
  b_.SetInsertPoint(iteration);
  llvm::PHINode* const i = b_.CreatePHI(b_.getInt64Ty(), 2);
  i->addIncoming(b_.getInt64(0), before);
  body(i);
  Value* const next = b_.CreateAdd(i, b_.getInt64(1));
  i->addIncoming(next, b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateICmpULT(next, b_.getInt64(count)), iteration, after);
  b_.SetInsertPoint(after);
}

void Reduction::fill(const Parts& value) {
  repeat(kLanes, [&](Value* lane) { store(value, lanes_, lane); });
}

void Reduction::begin_block() {
  if (ordered_) fill(load(start_, b_.getInt64(0)));
}

Parts Reduction::accumulate(Value* k, const Parts& running, const Parts& contribution) {
  if (!ordered_) return combine(running, contribution);
  const Parts wide = scalars_.cast(dtype_, lane_, contribution);
  if (!has_identity_) {
    llvm::Function* const function = b_.GetInsertBlock()->getParent();
    BasicBlock* const first = BasicBlock::Create(unit_.context, "first", function);
    BasicBlock* const on = BasicBlock::Create(unit_.context, "on", function);
    b_.CreateCondBr(b_.CreateICmpEQ(k, b_.getInt64(0)), first, on);
    b_.SetInsertPoint(first);
    store(wide, start_, b_.getInt64(0));
    fill(wide);
    b_.CreateBr(on);
    b_.SetInsertPoint(on);
  }
  Value* const lane = b_.CreateAnd(k, b_.getInt64(kLanes - 1));
  store(combine(load(lanes_, lane), wide), lanes_, lane);
  return running;
}

void Reduction::end_block(Value* block) {
  if (!ordered_) return;
  for (uint64_t half = kLanes / 2; half > 0; half /= 2)
    repeat(half, [&](Value* j) {
      const Parts other = load(lanes_, b_.CreateAdd(j, b_.getInt64(half)));
      store(combine(load(lanes_, j), other), lanes_, j);
    });
  push(block);
}

/// The value of a block, in lane 0, goes to its level.
void Reduction::push(Value* block) {
  // Lane 0 takes the levels in, as many as the number of blocks before has trailing ones.
  Value* const levels = b_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, b_.CreateNot(block), b_.getFalse());
  llvm::Function* const function = b_.GetInsertBlock()->getParent();
  BasicBlock* const before = b_.GetInsertBlock();
  BasicBlock* const test = BasicBlock::Create(unit_.context, "carry", function);
  BasicBlock* const iteration = BasicBlock::Create(unit_.context, "carry.iteration", function);
  BasicBlock* const after = BasicBlock::Create(unit_.context, "carry.end", function);
  b_.CreateBr(test);
  b_.SetInsertPoint(test);
  llvm::PHINode* const level = b_.CreatePHI(b_.getInt64Ty(), 2);
  level->addIncoming(b_.getInt64(0), before);
  b_.CreateCondBr(b_.CreateICmpULT(level, levels), iteration, after);
  b_.SetInsertPoint(iteration);
  store(combine(load(levels_, level), load(lanes_, b_.getInt64(0))), lanes_, b_.getInt64(0));
  level->addIncoming(b_.CreateAdd(level, b_.getInt64(1)), b_.GetInsertBlock());
  b_.CreateBr(test);
  b_.SetInsertPoint(after);
  store(load(lanes_, b_.getInt64(0)), levels_, level);
}

Parts Reduction::splat(const Parts& value) {
  Parts all;
  for (Value* part : value) all.push_back(b_.CreateVectorSplat(kLanes, part));
  return all;
}

Parts Reduction::lanes(const Parts& running) {
  if (ordered_) return splat(load(start_, b_.getInt64(0)));
  return splat(neutral(running));
}

Parts Reduction::accumulate_lanes(Value* k, const Parts& lanes, const Parts& contribution, Value* mask) {
  const Parts wide = ordered_ ? scalars_.cast(dtype_, lane_, contribution) : contribution;
  Parts before = lanes;
  if (ordered_ && !has_identity_) {
    llvm::Function* const function = b_.GetInsertBlock()->getParent();
    BasicBlock* const other = b_.GetInsertBlock();
    BasicBlock* const first = BasicBlock::Create(unit_.context, "first", function);
    BasicBlock* const on = BasicBlock::Create(unit_.context, "on", function);
    b_.CreateCondBr(b_.CreateICmpEQ(k, b_.getInt64(0)), first, on);
    b_.SetInsertPoint(first);
    Parts start;
    for (Value* part : wide) start.push_back(b_.CreateExtractElement(part, uint64_t{0}));
    store(start, start_, b_.getInt64(0));
    const Parts starts = splat(start);
    b_.CreateBr(on);
    b_.SetInsertPoint(on);
    for (size_t i = 0; i < before.size(); ++i) {
      llvm::PHINode* const phi = b_.CreatePHI(before[i]->getType(), 2);
      phi->addIncoming(lanes[i], other);
      phi->addIncoming(starts[i], first);
      before[i] = phi;
    }
  }
  const Parts both = combine(before, wide);
  return mask == nullptr ? both : scalars_.select(mask, both, before);
}

Parts Reduction::fold(Value* block, Parts lanes, const Parts& running) {
  llvm::SmallVector<int, kLanes> order(kLanes);
  for (size_t i = 0; i < kLanes; ++i) order[i] = static_cast<int>(i);
  for (size_t half = kLanes / 2; half > 0; half /= 2) {
    Parts low;
    Parts high;
    for (Value* part : lanes) {
      low.push_back(b_.CreateShuffleVector(part, llvm::ArrayRef(order).take_front(half)));
      high.push_back(b_.CreateShuffleVector(part, llvm::ArrayRef(order).slice(half, half)));
    }
    lanes = combine(low, high);
  }
  Parts value;
  for (Value* part : lanes) value.push_back(b_.CreateExtractElement(part, uint64_t{0}));
  return add_block(block, value, running);
}

Parts Reduction::total(Value* blocks, const Parts& running) {
  if (!ordered_) return running;
  // From the level of the lowest bit of the number of blocks upwards; with no blocks, all of it is unused.
  const auto level_of = [&](Value* bits) {
    return b_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, bits, b_.getFalse());
  };
  const auto without_lowest = [&](Value* bits) {
    return b_.CreateAnd(bits, b_.CreateSub(bits, b_.getInt64(1)));
  };
  const Parts lowest = load(levels_, b_.CreateAnd(level_of(blocks), b_.getInt64(kLevels - 1)));
  Value* const others = without_lowest(blocks);
  llvm::Function* const function = b_.GetInsertBlock()->getParent();
  BasicBlock* const before = b_.GetInsertBlock();
  BasicBlock* const test = BasicBlock::Create(unit_.context, "levels", function);
  BasicBlock* const take = BasicBlock::Create(unit_.context, "take", function);
  BasicBlock* const after = BasicBlock::Create(unit_.context, "levels.end", function);
  b_.CreateBr(test);
  b_.SetInsertPoint(test);
  llvm::PHINode* const left = b_.CreatePHI(b_.getInt64Ty(), 2);
  left->addIncoming(others, before);
  Parts value;
  for (Value* part : lowest) {
    llvm::PHINode* const phi = b_.CreatePHI(part->getType(), 2);
    phi->addIncoming(part, before);
    value.push_back(phi);
  }
  b_.CreateCondBr(b_.CreateICmpNE(left, b_.getInt64(0)), take, after);
  b_.SetInsertPoint(take);
  const Parts taken = combine(load(levels_, level_of(left)), value);
  left->addIncoming(without_lowest(left), b_.GetInsertBlock());
  for (size_t i = 0; i < value.size(); ++i)
    llvm::cast<llvm::PHINode>(value[i])->addIncoming(taken[i], b_.GetInsertBlock());
  b_.CreateBr(test);
  b_.SetInsertPoint(after);
  return value;
}

Value* Reduction::decided(const Parts& running) {
  if (!base::is_bool(dtype_)) return nullptr;
  if (combiner_ == ir::Op::bitwise_or) return running[0];
  return combiner_ == ir::Op::bitwise_and ? b_.CreateNot(running[0]) : nullptr;
}

Parts Reduction::finish(Value* some, const Parts& init, const Parts& value) {
  if (!ordered_) return value;
  const Parts all = combine(scalars_.cast(dtype_, lane_, init), value);
  return scalars_.select(some, scalars_.cast(lane_, dtype_, all), init);
}

void Reduction::start_from(const Parts& contribution) {
  store(scalars_.cast(dtype_, lane_, contribution), start_, b_.getInt64(0));
}

Parts Reduction::neutral(const Parts& init) {
  const auto identity = ir::identity_of(combiner_, dtype_);
  return identity ? scalars_.constant(dtype_, *identity) : init;
}

Parts Reduction::add_block(Value* block, const Parts& value, const Parts& running) {
  if (!ordered_) return combine(running, value);
  store(value, lanes_, b_.getInt64(0));
  push(block);
  return running;
}

}  // namespace ingot::codegen
