// Vector loops. W turns run together, each in a lane: the body is emitted as for one turn, but for the index,
// which is a vector, and so is what comes of it. An `if` whose condition varies runs both arms under masks.
//
// A loop is emitted twice: full steps of W turns, no lane masked, and steps under a mask of the turns that are
// left. Strides are values; full steps assume that those by which lanes step are of one element, and are not
// taken at all where that does not hold: the masked steps, which gather and scatter, then do all turns.

#include <algorithm>

#include "base/reduction.h"
#include "codegen/function.h"
#include "codegen/loops.h"
#include "codegen/reduction.h"

namespace ingot::codegen {

using llvm::Value;

bool FunctionEmitter::is_vector_loop(NodeId id) const {
  return unit_.target.vector_bits > 0 &&
         source_.attribute(id, 0) == static_cast<int64_t>(ir::Schedule::Vector);
}

/// As many as fill a register with the widest numbers that the turns compute with; of integers, those that are
/// loaded or stored count, for most others are indices.
unsigned FunctionEmitter::lane_count(NodeId loop) const {
  if (source_.attribute(loop, 1) > 0) return static_cast<unsigned>(source_.attribute(loop, 1));
  uint64_t widest = 1;
  const RegionId body = source_.region(loop);
  for (uint32_t i = loop.index; i < source_.node_count(); ++i) {
    const NodeId id(i);
    if (!source_[id].parent || !source_.encloses(body, source_[id].parent)) continue;
    const auto count = [&](ir::Type type, bool in_memory) {
      if (!type.is_scalar() || (base::is_int(type.dtype()) && !in_memory)) return;
      const DType part = base::component_of(type.dtype());
      widest = std::max(widest, base::size_of(in_memory ? part : base::lane_dtype(part)));
    };
    const bool in_memory = ir::info(source_.op(id)).effects.any(ir::effect::Read | ir::effect::Write);
    count(source_.type(id), in_memory);
    if (in_memory && !source_.operands(id).empty())
      count(source_.type(source_.operands(id).back()), source_.type(id).is_void());
  }
  return static_cast<unsigned>(static_cast<uint64_t>(unit_.target.vector_bits) / 8 / widest);
}

Value* FunctionEmitter::widen(Value* part) {
  return in_lanes() && lanes_of(part) == 0 ? b_.CreateVectorSplat(lanes_.width, part) : part;
}

Parts FunctionEmitter::widen(const Parts& parts) {
  Parts wide;
  for (Value* part : parts) wide.push_back(widen(part));
  return wide;
}

void FunctionEmitter::widen_together(std::span<Parts> operands) {
  if (!in_lanes()) return;
  const auto varies = [](const Parts& parts) {
    return std::ranges::any_of(parts, [](Value* part) { return lanes_of(part) > 0; });
  };
  if (std::ranges::none_of(operands, varies)) return;
  for (Parts& parts : operands) parts = widen(parts);
}

Value* FunctionEmitter::mask_below(unsigned width, Value* count) {
  llvm::Type* const type = llvm::FixedVectorType::get(b_.getInt64Ty(), width);
  return b_.CreateICmpSLT(b_.CreateStepVector(type), b_.CreateVectorSplat(width, count));
}

Value* FunctionEmitter::full_mask() const {
  return lanes_.mask != nullptr
             ? lanes_.mask
             : llvm::ConstantInt::getTrue(llvm::FixedVectorType::get(
                   llvm::Type::getInt1Ty(unit_.context), lanes_.width));
}

Parts FunctionEmitter::emit_lanes(const Lanes& lanes, Value* k) {
  lanes_ = lanes;
  affine_.clear();
  const RegionId body = source_.region(lanes.loop);
  llvm::Type* const type = llvm::FixedVectorType::get(b_.getInt64Ty(), lanes.width);
  Value* const index = b_.CreateAdd(widen(k), b_.CreateStepVector(type));
  affine_[source_.region_parameters(body)[0].index] = {k, b_.getInt64(1)};
  const auto given = emit_region(body, {index});
  INGOT_ASSERT(given.has_value(), "codegen: turns in lanes come to their end");
  const Parts all = widen(*given);
  lanes_ = {};
  return all;
}

llvm::Instruction* FunctionEmitter::count_if_unit(Value* count) {
  unit_strides_.clear();
  return b_.Insert(llvm::SelectInst::Create(b_.getTrue(), count, b_.getInt64(0)));
}

void FunctionEmitter::set_unit_strides(llvm::Instruction* count) {
  if (unit_strides_.empty()) return;
  const auto place = b_.saveIP();
  b_.SetInsertPoint(count);
  Value* all = nullptr;
  for (const auto& [stride, size] : unit_strides_) {
    Value* const is_unit = b_.CreateICmpEQ(stride, b_.getInt64(size));
    all = all == nullptr ? is_unit : b_.CreateAnd(all, is_unit);
  }
  count->setOperand(0, all);
  b_.restoreIP(place);
}

void FunctionEmitter::emit_vector_for(NodeId id) {
  if (!source_.type(id).is_void() && source_.result_count(id) > 0)
    fail_not_lowered("a vector loop that carries values");
  const unsigned width = lane_count(id);
  if (width < 2) return emit_serial_for(id);
  const RegionId body = source_.region(id);
  const Poll poll = poll_of({&body, 1});
  Value* const lanes = b_.getInt64(width);
  Value* const count =
      b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, value(source_.operand(id, 0)), b_.getInt64(0));
  llvm::Instruction* const full = count_if_unit(b_.CreateUDiv(count, lanes));
  emit_counted(full, {}, poll, [&](Value* step, const Parts&) -> std::optional<Parts> {
    emit_lanes({width, nullptr, id, true}, b_.CreateMul(step, lanes, "", true, true));
    return Parts{};
  });
  set_unit_strides(full);
  Value* const done = b_.CreateMul(full, lanes, "", true, true);
  Value* const left = b_.CreateSub(count, done, "", true, true);
  Value* const steps = b_.CreateUDiv(b_.CreateAdd(left, b_.getInt64(width - 1)), lanes);
  emit_counted(steps, {}, poll, [&](Value* step, const Parts&) -> std::optional<Parts> {
    Value* const before = b_.CreateMul(step, lanes, "", true, true);
    emit_lanes({width, mask_below(width, b_.CreateSub(left, before)), id, false},
               b_.CreateAdd(done, before, "", true, true));
    return Parts{};
  });
}

void FunctionEmitter::emit_vector_parallel_for(NodeId id) {
  constexpr unsigned kWidth = Reduction::kLanes;
  const auto operands = source_.operands(id);
  const auto combiners = source_.ints(id);
  std::vector<Reduction> reductions;
  for (size_t i = 0; i < combiners.size(); ++i)
    reductions.emplace_back(unit_, b_, static_cast<ir::Op>(combiners[i]), dtype(operands[i + 1]));
  const auto each = [&](const Parts& all, auto&& action) {
    size_t at = 0;
    for (Reduction& reduction : reductions) {
      action(reduction, Parts(all.begin() + at, all.begin() + at + reduction.part_count()));
      at += reduction.part_count();
    }
  };

  Value* const lanes = b_.getInt64(kWidth);
  Value* const some = b_.CreateICmpSGT(value(operands[0]), b_.getInt64(0));
  Value* const turns = b_.CreateSelect(some, value(operands[0]), b_.getInt64(0));
  Value* const blocks =
      b_.CreateLShr(b_.CreateAdd(turns, b_.getInt64(Reduction::kBlock - 1)), Reduction::kBlockBits);
  const RegionId body = source_.region(id);
  const bool innermost = poll_of({&body, 1}) == Poll::Strip;
  const Parts carried = emit_counted(
      blocks, gather(operands.subspan(1)), innermost ? Poll::Sometimes : Poll::Always,
      [&](Value* block, const Parts& running) -> std::optional<Parts> {
        Value* const first = b_.CreateShl(block, Reduction::kBlockBits);
        Value* const in_block = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateSub(turns, first),
                                                         b_.getInt64(Reduction::kBlock));
        const auto step_of = [&](Value* start, Value* mask, bool assumes, const Parts& before) {
          const Parts given = emit_lanes({kWidth, mask, id, assumes}, start);
          Parts next;
          each(before, [&](Reduction& reduction, const Parts& own) {
            const size_t at = next.size();
            const Parts contribution(given.begin() + at, given.begin() + at + own.size());
            next.append(reduction.accumulate_lanes(start, own, contribution, mask));
          });
          return next;
        };
        Parts start;
        each(running, [&](Reduction& reduction, const Parts& own) { start.append(reduction.lanes(own)); });
        llvm::Instruction* const full = count_if_unit(b_.CreateUDiv(in_block, lanes));
        const Poll poll = innermost ? Poll::Never : Poll::Always;
        Parts after = emit_counted(full, start, poll, [&](Value* step, const Parts& before) {
          Value* const k = b_.CreateAdd(first, b_.CreateMul(step, lanes));
          return std::optional(step_of(k, nullptr, true, before));
        });
        set_unit_strides(full);
        Value* const done = b_.CreateMul(full, lanes);
        Value* const left = b_.CreateSub(in_block, done);
        Value* const steps = b_.CreateUDiv(b_.CreateAdd(left, b_.getInt64(kWidth - 1)), lanes);
        after = emit_counted(steps, after, poll, [&](Value* step, const Parts& before) {
          Value* const taken = b_.CreateMul(step, lanes);
          Value* const k = b_.CreateAdd(b_.CreateAdd(first, done), taken);
          return std::optional(step_of(k, mask_below(kWidth, b_.CreateSub(left, taken)), false, before));
        });
        Parts next;
        each(after, [&](Reduction& reduction, const Parts& own) {
          const size_t at = next.size();
          const Parts before(running.begin() + at, running.begin() + at + own.size());
          next.append(reduction.fold(block, own, before));
        });
        return next;
      });
  Parts results;
  each(carried, [&](Reduction& reduction, const Parts& own) {
    results.append(reduction.finish(some, blocks, own));
  });
  set(id, std::move(results));
}

bool FunctionEmitter::has_effects(RegionId region) const {
  return std::ranges::any_of(source_.region_body(region), [&](NodeId node) {
    if (source_[node].region_count == 0) return !ir::info(source_.op(node)).effects.pure();
    for (size_t i = 0; i < source_[node].region_count; ++i)
      if (has_effects(source_.region(node, i))) return true;
    return false;
  });
}

/// A region in the lanes of a mask. What touches memory runs only if there is one: then a uniform address is
/// one that a turn has asked for.
Parts FunctionEmitter::emit_arm(RegionId region, Value* mask) {
  const Lanes around = lanes_;
  lanes_.mask = around.mask == nullptr ? mask : b_.CreateAnd(around.mask, mask);
  Block* const before = here();
  Join join;
  if (has_effects(region)) {
    Block* const arm = new_block("arm");
    join = new_join("arm.end");
    b_.CreateCondBr(b_.CreateOrReduce(lanes_.mask), arm, join.block);
    b_.SetInsertPoint(arm);
  }
  const auto given = emit_region(region, {});
  INGOT_ASSERT(given.has_value(), "codegen: an arm in lanes comes to its end");
  Parts all = widen(*given);
  lanes_ = around;
  if (join.block == nullptr) return all;
  Types types;
  Parts none;
  for (Value* part : all) {
    types.push_back(part->getType());
    none.push_back(llvm::Constant::getNullValue(part->getType()));
  }
  join.incoming.emplace_back(before, none);
  arrive(join, all);
  return close(join, types);
}

void FunctionEmitter::emit_if_in_lanes(NodeId id) {
  Value* const condition = value(source_.operand(id, 0));
  if (lanes_of(condition) > 0) {
    const Parts yes = emit_arm(source_.region(id, 0), condition);
    const Parts no = emit_arm(source_.region(id, 1), b_.CreateNot(condition));
    return set(id, scalars_.select(condition, yes, no));
  }
  Block* const yes = new_block("then");
  Block* const no = new_block("else");
  Join join = new_join("end");
  b_.CreateCondBr(condition, yes, no);
  Types types;
  for (const auto& [block, arm] : {std::pair(yes, size_t{0}), std::pair(no, size_t{1})}) {
    b_.SetInsertPoint(block);
    const auto given = emit_region(source_.region(id, arm), {});
    INGOT_ASSERT(given.has_value(), "codegen: an arm in lanes comes to its end");
    const Parts all = widen(*given);
    types.clear();
    for (Value* part : all) types.push_back(part->getType());
    arrive(join, all);
  }
  set(id, close(join, types));
}

/// All lanes take the same turns; what they carry varies.
void FunctionEmitter::emit_for_in_lanes(NodeId id) {
  const RegionId body = source_.region(id);
  Value* const count = value(source_.operand(id, 0));
  if (lanes_of(count) > 0) fail_not_lowered("a loop in a vector loop whose count varies");
  const Parts inits = widen(gather(source_.operands(id).subspan(1)));
  set(id, emit_counted(count, inits, poll_of({&body, 1}),
                       [&](Value* k, const Parts& carried) -> std::optional<Parts> {
                         Parts arguments{k};
                         arguments.append(carried);
                         const auto given = emit_region(body, arguments);
                         INGOT_ASSERT(given.has_value(), "codegen: a turn in lanes comes to its end");
                         return widen(*given);
                       }));
}

std::optional<FunctionEmitter::Affine> FunctionEmitter::affine_of(NodeId id) const {
  if (const auto known = affine_.find(id.index); known != affine_.end()) return known->second;
  Value* const part = value(id);
  if (lanes_of(part) > 0) return std::nullopt;
  return Affine{part, llvm::ConstantInt::get(llvm::Type::getInt64Ty(unit_.context), 0)};
}

/// Wrapping sums and products of what grows evenly from lane to lane.
void FunctionEmitter::follow_affine(NodeId id) {
  const ir::Op op = source_.op(id);
  affine_.erase(id.index);
  if (!in_lanes() || source_.type(id) != ir::kInt64) return;
  if (op != ir::Op::add && op != ir::Op::subtract && op != ir::Op::multiply) return;
  const auto a = affine_of(source_.operand(id, 0));
  const auto b = affine_of(source_.operand(id, 1));
  if (!a || !b) return;
  const auto is = [](Value* v, int64_t number) {
    const auto* const constant = llvm::dyn_cast<llvm::ConstantInt>(v);
    return constant != nullptr && constant->getSExtValue() == number;
  };
  if (is(a->step, 0) && is(b->step, 0)) return;
  if (op == ir::Op::add)
    affine_[id.index] = {b_.CreateAdd(a->base, b->base), b_.CreateAdd(a->step, b->step)};
  else if (op == ir::Op::subtract)
    affine_[id.index] = {b_.CreateSub(a->base, b->base), b_.CreateSub(a->step, b->step)};
  else if (is(b->step, 0) || is(a->step, 0)) {
    const Affine& grows = is(b->step, 0) ? *a : *b;
    Value* const factor = is(b->step, 0) ? b->base : a->base;
    Value* const step = is(grows.step, 1) ? factor : b_.CreateMul(grows.step, factor);
    affine_[id.index] = {b_.CreateMul(grows.base, factor), step};
  }
}

}  // namespace ingot::codegen
