#include "codegen/reduction.h"

#include <vector>

#include "base/reduction.h"
#include "codegen/branches.h"
#include "ir/evaluate.h"

namespace ingot::codegen {

using llvm::BasicBlock;
using llvm::Value;

namespace {

constexpr uint64_t kCacheLine = 64;

}  // namespace

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

void Reduction::set_width(uint64_t width) {
  width_ = width;
  if (is_in_memory()) llvm::cast<llvm::AllocaInst>(lanes_)->setAlignment(llvm::Align(kCacheLine));
}

Value* Reduction::lane_address(size_t part, Value* lane) {
  return b_.CreateGEP(types_[0], lanes_, part == 0 ? lane : b_.CreateAdd(lane, b_.getInt64(part * kLanes)));
}

Parts Reduction::load_lanes(Value* first, uint64_t count) {
  llvm::Type* const type =
      count == 1 ? types_[0] : llvm::FixedVectorType::get(types_[0], static_cast<unsigned>(count));
  Parts lanes;
  for (size_t i = 0; i < types_.size(); ++i) lanes.push_back(b_.CreateLoad(type, lane_address(i, first)));
  return lanes;
}

void Reduction::store_lanes(const Parts& lanes, Value* first) {
  for (size_t i = 0; i < lanes.size(); ++i) b_.CreateStore(lanes[i], lane_address(i, first));
}

Parts Reduction::combine(const Parts& a, const Parts& b) {
  const Parts operands[] = {a, b};
  return scalars_.elementwise(combiner_, lane_, operands);
}

template <class Test, class Body>
Parts Reduction::repeat_while(const Parts& start, Test test, Body body) {
  llvm::Function* const function = b_.GetInsertBlock()->getParent();
  BasicBlock* const before = b_.GetInsertBlock();
  BasicBlock* const head = BasicBlock::Create(unit_.context, "while", function);
  BasicBlock* const iteration = BasicBlock::Create(unit_.context, "iteration", function);
  BasicBlock* const after = BasicBlock::Create(unit_.context, "end", function);
  b_.CreateBr(head);
  b_.SetInsertPoint(head);
  Parts carried;
  for (Value* part : start) {
    llvm::PHINode* const phi = b_.CreatePHI(part->getType(), 2);
    phi->addIncoming(part, before);
    carried.push_back(phi);
  }
  b_.CreateCondBr(test(carried), iteration, after);
  b_.SetInsertPoint(iteration);
  const Parts next = body(carried);
  for (size_t i = 0; i < next.size(); ++i)
    llvm::cast<llvm::PHINode>(carried[i])->addIncoming(next[i], b_.GetInsertBlock());
  b_.CreateBr(head);
  b_.SetInsertPoint(after);
  return carried;
}

void Reduction::fill(const Parts& value) {
  if (!is_in_memory()) return emit_repeat(b_, kLanes, [&](Value* lane) { store_lanes(value, lane); });
  const Parts wide = splat(value);
  for (uint64_t lane = 0; lane < kLanes; lane += width_) store_lanes(wide, b_.getInt64(lane));
}

void Reduction::begin_block() {
  if (ordered_) fill(load(start_, b_.getInt64(0)));
}

Parts Reduction::accumulate(Value* k, const Parts& running, const Parts& contribution) {
  if (!ordered_) return combine(running, contribution);
  const Parts wide = scalars_.cast(dtype_, lane_, contribution);
  if (!has_identity_)
    emit_when(b_, b_.CreateICmpEQ(k, b_.getInt64(0)), [&] {
      store(wide, start_, b_.getInt64(0));
      fill(wide);
    });
  Value* const lane = b_.CreateAnd(k, b_.getInt64(kLanes - 1));
  store_lanes(combine(load_lanes(lane, 1), wide), lane);
  return running;
}

void Reduction::end_block(Value* block) {
  if (!ordered_) return;
  if (is_in_memory()) {
    std::vector<Parts> lanes;
    for (uint64_t lane = 0; lane < kLanes; lane += width_)
      lanes.push_back(load_lanes(b_.getInt64(lane), width_));
    for (size_t half = lanes.size() / 2; half > 0; half /= 2)
      for (size_t i = 0; i < half; ++i) lanes[i] = combine(lanes[i], lanes[i + half]);
    store_lanes(combined(lanes[0]), b_.getInt64(0));
  } else {
    for (uint64_t half = kLanes / 2; half > 0; half /= 2)
      emit_repeat(b_, half, [&](Value* j) {
        const Parts other = load_lanes(b_.CreateAdd(j, b_.getInt64(half)), 1);
        store_lanes(combine(load_lanes(j, 1), other), j);
      });
  }
  push(block);
}

/// The value of a block, in lane 0, goes to its level.
void Reduction::push(Value* block) {
  // Lane 0 takes the levels in, as many as the number of blocks before has trailing ones.
  Value* const levels = b_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, b_.CreateNot(block), b_.getFalse());
  const Parts level = repeat_while(
      {b_.getInt64(0)}, [&](const Parts& at) { return b_.CreateICmpULT(at[0], levels); },
      [&](const Parts& at) {
        store_lanes(combine(load(levels_, at[0]), load_lanes(b_.getInt64(0), 1)), b_.getInt64(0));
        return Parts{b_.CreateAdd(at[0], b_.getInt64(1))};
      });
  store(load_lanes(b_.getInt64(0), 1), levels_, level[0]);
}

Parts Reduction::splat(const Parts& value) {
  Parts all;
  for (Value* part : value) all.push_back(b_.CreateVectorSplat(static_cast<unsigned>(width_), part));
  return all;
}

Parts Reduction::lanes(const Parts& running) {
  if (is_in_memory()) return running;
  if (ordered_) return splat(load(start_, b_.getInt64(0)));
  return splat(neutral(running));
}

Parts Reduction::accumulate_lanes(Value* k, const Parts& lanes, const Parts& contribution, Value* mask) {
  const Parts wide = ordered_ ? scalars_.cast(dtype_, lane_, contribution) : contribution;
  const auto first_of_all = [&] {
    Parts start;
    for (Value* part : wide) start.push_back(b_.CreateExtractElement(part, uint64_t{0}));
    store(start, start_, b_.getInt64(0));
    return start;
  };
  if (is_in_memory()) {
    if (!has_identity_) emit_when(b_, b_.CreateICmpEQ(k, b_.getInt64(0)), [&] { fill(first_of_all()); });
    Value* const first = b_.CreateAnd(k, b_.getInt64(kLanes - 1));
    const Parts before = load_lanes(first, width_);
    const Parts both = combine(before, wide);
    store_lanes(mask == nullptr ? both : scalars_.select(mask, both, before), first);
    return lanes;
  }
  Parts before = lanes;
  if (ordered_ && !has_identity_)
    before = emit_when(b_, b_.CreateICmpEQ(k, b_.getInt64(0)), lanes, [&] { return splat(first_of_all()); });
  const Parts both = combine(before, wide);
  return mask == nullptr ? both : scalars_.select(mask, both, before);
}

Parts Reduction::combined(Parts lanes) {
  llvm::SmallVector<int, kLanes> order(width_);
  for (size_t i = 0; i < width_; ++i) order[i] = static_cast<int>(i);
  for (size_t half = width_ / 2; half > 0; half /= 2) {
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
  return value;
}

Parts Reduction::fold(Value* block, Parts lanes, const Parts& running) {
  return is_in_memory() ? running : add_block(block, combined(std::move(lanes)), running);
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
  Parts start = load(levels_, b_.CreateAnd(level_of(blocks), b_.getInt64(kLevels - 1)));
  start.insert(start.begin(), without_lowest(blocks));
  const auto value = [](const Parts& at) { return Parts(at.begin() + 1, at.end()); };
  return value(repeat_while(
      start, [&](const Parts& at) { return b_.CreateICmpNE(at[0], b_.getInt64(0)); },
      [&](const Parts& at) {
        Parts next = combine(load(levels_, level_of(at[0])), value(at));
        next.insert(next.begin(), without_lowest(at[0]));
        return next;
      }));
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
  store_lanes(value, b_.getInt64(0));
  push(block);
  return running;
}

}  // namespace ingot::codegen
