// Vector loops. W iterations run together, each in a lane: the body is emitted as for one iteration, but for
// the index, which is a vector, and so are the values that depend on it. An `if` whose condition varies runs
// both arms under masks.
//
// The body is emitted twice: for steps of W iterations, no lane masked, and for the remaining iterations,
// masked. Strides are values: both assume that those by which lanes step are of one element. Where that does
// not hold when the loop is entered, its iterations run one by one.
//
// Compact code has the first of these three and the last: the remaining iterations run one by one, too.

#include <algorithm>
#include <bit>

#include "base/reduction.h"
#include "codegen/branches.h"
#include "codegen/lane_body.h"
#include "codegen/loops.h"
#include "codegen/reduction.h"
#include "ir/loops.h"
#include "ir/walk.h"

namespace ingot::codegen {

using llvm::Value;

namespace {

/// So many iterations, with elementary functions, take no longer under masks.
constexpr int64_t kFewIterations = 128;

}  // namespace

bool LaneBody::is_vector_loop(NodeId id) const {
  return states_ == FloatStates::Default && ir::runs_in_lanes(source_, id);
}

Value* LaneBody::widen(Value* part) {
  return in_lanes() && lanes_of(part) == 0 ? b_.CreateVectorSplat(lanes_.width, part) : part;
}

Parts LaneBody::widen(const Parts& parts) {
  Parts wide;
  for (Value* part : parts) wide.push_back(widen(part));
  return wide;
}

void LaneBody::widen_together(std::span<Parts> operands) {
  if (!in_lanes()) return;
  const auto varies = [](const Parts& parts) {
    return std::ranges::any_of(parts, [](Value* part) { return lanes_of(part) > 0; });
  };
  if (std::ranges::none_of(operands, varies)) return;
  for (Parts& parts : operands) parts = widen(parts);
}

/// Whether all steps of a reduction run under a mask, so that long code - elementary functions, of several
/// registers at once - is emitted once: of few iterations, where the CPU has masks.
bool LaneBody::is_masked_throughout(NodeId loop) const {
  const auto most = limit_of(source_.operand(loop, 0));
  if (!unit_.instructions.masks_all() || !most || *most > kFewIterations) return false;
  return ir::any_within(source_, source_.region(loop),
                        [&](NodeId id) { return ir::is_long(source_.op(id)); });
}

/// The bits of the widest elements that a loop loads and stores.
unsigned LaneBody::widest_element(NodeId loop) const {
  uint64_t bytes = 1;
  ir::walk(source_, source_.region(loop), [&](NodeId id) {
    const bool loads = source_.op(id) == ir::Op::load;
    if (!loads && source_.op(id) != ir::Op::store) return;
    const DType dtype = source_.type(loads ? id : source_.operands(id).back()).dtype();
    bytes = std::max<uint64_t>(bytes, base::size_of(base::component_of(dtype)));
  });
  return static_cast<unsigned>(8 * bytes);
}

LaneBody::Lanes LaneBody::lanes_below(NodeId loop, unsigned width, Value* count) {
  count = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, count, b_.getInt64(width));
  // Numbers of lanes in a whole register: LLVM 19 leaves the bits after a narrower comparison undefined.
  // CPUs without registers of masks have masks as wide as what is masked; LLVM takes long to widen others.
  const unsigned least = unit_.instructions.masks_all() ? 8 : widest_element(loop);
  llvm::Type* const number = b_.getIntNTy(std::max(least, 128 / width));
  llvm::Type* const type = llvm::FixedVectorType::get(number, width);
  Value* const left = b_.CreateVectorSplat(width, b_.CreateZExtOrTrunc(count, number));
  // Both are small, and AVX2 compares with signs alone; bytes may be 128.
  Value* const mask = least == 8 ? b_.CreateICmpULT(b_.CreateStepVector(type), left)
                                 : b_.CreateICmpSLT(b_.CreateStepVector(type), left);
  return {width, mask, loop, count};
}

Value* LaneBody::full_mask() const {
  return lanes_.mask != nullptr ? lanes_.mask
                                : llvm::ConstantInt::getTrue(llvm::FixedVectorType::get(
                                      llvm::Type::getInt1Ty(unit_.context), lanes_.width));
}

Parts LaneBody::emit_lanes(const Lanes& lanes, Value* k, const Parts& carried) {
  lanes_ = lanes;
  first_mask_ = lanes.mask;
  affine_.clear();
  columns_.clear();
  const RegionId body = source_.region(lanes.loop);
  k = iteration_of(lanes.loop, k);
  llvm::Type* const type = llvm::FixedVectorType::get(b_.getInt64Ty(), lanes.width);
  Value* const index = b_.CreateAdd(widen(k), b_.CreateStepVector(type));
  affine_[source_.region_parameters(body)[0].index] = {k, b_.getInt64(1)};
  Parts arguments{index};
  arguments.append(carried);
  const auto given = emit_region(body, arguments);
  INGOT_ASSERT(given.has_value(), "codegen: iterations in lanes come to their end");
  const Parts all = widen(*given);
  lanes_ = {};
  return all;
}

/// `vector` or, where strides are not those that it has assumed, `serial`.
template <class Vector, class Serial>
Parts LaneBody::emit_if_unit_strides(const Types& types, Vector vector, Serial serial) {
  Block* const before = here();
  Block* const in_lanes = new_block("lanes");
  Join join = new_join("lanes.end");
  unit_strides_.clear();
  b_.SetInsertPoint(in_lanes);
  arrive(join, vector());
  b_.SetInsertPoint(before);
  if (unit_strides_.empty()) {
    b_.CreateBr(in_lanes);
    return close(join, types);
  }
  llvm::Value* all = nullptr;
  for (const auto& [stride, size] : unit_strides_) {
    llvm::Value* const is_unit = b_.CreateICmpEQ(stride, b_.getInt64(size));
    all = all == nullptr ? is_unit : b_.CreateAnd(all, is_unit);
  }
  Block* const one_by_one = new_block("serial");
  b_.CreateCondBr(all, in_lanes, one_by_one);
  b_.SetInsertPoint(one_by_one);
  arrive(join, serial());
  return close(join, types);
}

void LaneBody::emit_all_iterations(NodeId id) {
  const bool is_compact = unit_.target.machine.compact && source_.result_count(id) == 0;
  if (is_vector_loop(id)) is_compact ? emit_compact_for(id) : emit_vector_for(id);
  else Body::emit_all_iterations(id);
}

void LaneBody::emit_parallel_for(NodeId id) {
  if (in_lanes()) fail_not_lowered("a parallel loop in a vector loop");
  Body::emit_parallel_for(id);
}

Parts LaneBody::emit_blocks(NodeId id, std::span<Reduction> reductions, const Blocks& blocks,
                            const Parts& starts) {
  if (!is_vector_loop(id)) return Body::emit_blocks(id, reductions, blocks, starts);
  if (unit_.target.machine.compact) return emit_blocks_compactly(id, reductions, blocks, starts);
  Types types;
  for (const Reduction& reduction : reductions) types.append(reduction.types());
  return emit_if_unit_strides(
      types, [&] { return emit_blocks_in_lanes(id, reductions, blocks, starts); },
      [&] { return Body::emit_blocks(id, reductions, blocks, starts); });
}

void LaneBody::emit_vector_for(NodeId id) {
  const auto width = static_cast<unsigned>(ir::width_of(source_, id));
  INGOT_ASSERT(std::has_single_bit(width), "codegen: the lanes of a vector loop are decided");
  const auto step = [&](Value* k, const Lanes& lanes, const Parts& cursors) {
    open_cursors(id);
    emit_lanes(lanes, k, cursors);
    return grown_cursors(cursors);
  };
  const auto vector = [&] {
    note_streams(id);
    open_stages(id);
    Value* const lanes = b_.getInt64(width);
    Value* const count = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, iteration_count(id), b_.getInt64(0));
    Value* const done = b_.CreateAnd(count, b_.CreateNeg(lanes));
    const Parts cursors = emit_counted(
        done, gather(source_.operands(id).subspan(1)), poll_of_loop(id),
        [&](Value* k, const Parts& before) {
          return std::optional(step(k, {.width = width, .loop = id}, before));
        },
        width);
    Value* const left = b_.CreateSub(count, done, "", true, true);
    const Parts ends = emit_when(b_, b_.CreateICmpNE(left, b_.getInt64(0)), cursors,
                                 [&] { return step(done, lanes_below(id, width, left), cursors); });
    close_stages();
    return ends;
  };
  set(id, emit_if_unit_strides(unit_.types_of(source_.type(id)), vector, [&] {
        Body::emit_all_iterations(id);
        return parts(id);
      }));
}

void LaneBody::emit_compact_for(NodeId id) {
  const auto width = static_cast<unsigned>(ir::width_of(source_, id));
  Value* const count = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, iteration_count(id), b_.getInt64(0));
  const auto vector = [&] {
    note_streams(id);
    Value* const done = b_.CreateAnd(count, b_.CreateNeg(b_.getInt64(width)));
    const auto step = [&](Value* k, const Parts&) {
      return std::optional(emit_lanes({width, nullptr, id}, k));
    };
    emit_counted(done, {}, poll_of_loop(id), step, width);
    return Parts{done};
  };
  const Parts done = emit_if_unit_strides({b_.getInt64Ty()}, vector, [&] { return Parts{b_.getInt64(0)}; });
  Value* const first = iteration_of(id, done[0]);
  const auto around = std::exchange(piece_, Piece{id, first, b_.CreateSub(count, done[0], "", true, true)});
  const bool was_short = scalars_.set_short(true);
  Body::emit_all_iterations(id);
  scalars_.set_short(was_short);
  piece_ = around;
}

bool LaneBody::only_reads(RegionId region) const {
  return std::ranges::all_of(source_.region_body(region), [&](NodeId node) {
    for (size_t i = 0; i < source_[node].region_count; ++i)
      if (!only_reads(source_.region(node, i))) return false;
    return (ir::info(source_.op(node)).effects.bits & ~ir::effect::Read.bits) == 0;
  });
}

/// Those of their order, if nothing else has been decided.
unsigned LaneBody::lanes_of_reductions(NodeId loop) const {
  const auto decided = static_cast<unsigned>(ir::width_of(source_, loop));
  return decided != 0 ? decided : static_cast<unsigned>(Reduction::kLanes);
}

/// Where the lanes of all reductions do not fit in registers, and the iterations are short, each block, which
/// is in the cache then, is gone through for some of them after the other: so many at once.
std::vector<size_t> LaneBody::reductions_at_once(NodeId id, std::span<Reduction> reductions) const {
  constexpr uint64_t kOpsOfReduction = 2;
  const base::Machine& machine = unit_.target.machine;
  const uint64_t bits = machine.registers * static_cast<uint64_t>(machine.vector_bits);
  const auto is_short = [&](NodeId node) {
    const bool only_reads = (ir::info(source_.op(node)).effects.bits & ~ir::effect::Read.bits) == 0;
    return only_reads && source_[node].region_count == 0 && ir::info(source_.op(node)).cost == 1;
  };
  const auto body = source_.region_body(source_.region(id));
  const auto ops = static_cast<uint64_t>(
      std::ranges::count_if(body, [&](NodeId node) { return ir::info(source_.op(node)).elementwise; }));
  const bool fits_again = std::ranges::all_of(body, is_short) && ops <= kOpsOfReduction * reductions.size();
  std::vector<size_t> counts;
  uint64_t taken = 0;
  for (const Reduction& reduction : reductions) {
    uint64_t lane = 0;
    for (llvm::Type* type : reduction.types()) lane += Reduction::kLanes * type->getScalarSizeInBits();
    // Half of them are for the contributions.
    if (counts.empty() || (fits_again && taken + lane > bits / 2)) {
      counts.push_back(0);
      taken = 0;
    }
    ++counts.back();
    taken += lane;
  }
  return counts;
}

/// The lanes of reductions [begin, begin + count) after a block's iterations, `in_block` of them from `first`
/// on.
Parts LaneBody::emit_block_of_lanes(NodeId id, std::span<Reduction> reductions, size_t begin, size_t count,
                                    Value* first, Value* in_block, const Parts& running) {
  const unsigned lane_count = lanes_of_reductions(id);
  const std::span<Reduction> taken = reductions.subspan(begin, count);
  size_t skipped = 0;
  for (const Reduction& reduction : reductions.first(begin)) skipped += reduction.part_count();
  const auto step = [&](Value* k, const Lanes& steps, const Parts& lanes) {
    const Parts given = emit_lanes(steps, k);
    return each_reduction(taken, lanes, [&](Reduction& reduction, const Parts& own, size_t at) {
      const auto from = given.begin() + skipped + at;
      return reduction.accumulate_lanes(k, own, Parts(from, from + own.size()), steps.mask);
    });
  };
  const RegionId body = source_.region(id);
  const Poll poll = poll_of({&body, 1}) == Poll::Strip ? Poll::Never : Poll::Always;
  Value* const width = b_.getInt64(lane_count);
  const Parts own_running(running.begin() + skipped, running.end());
  const Parts start = each_reduction(taken, own_running, [](Reduction& reduction, const Parts& own, size_t) {
    return reduction.lanes(own);
  });
  if (is_masked_throughout(id)) {
    Value* const up = b_.CreateAnd(b_.CreateAdd(in_block, b_.getInt64(lane_count - 1)), b_.CreateNeg(width));
    return emit_counted(
        up, start, poll,
        [&](Value* i, const Parts& before) {
          const Lanes left = lanes_below(id, lane_count, b_.CreateSub(in_block, i));
          return std::optional(step(b_.CreateAdd(first, i), left, before));
        },
        lane_count);
  }
  Value* const done = b_.CreateAnd(in_block, b_.CreateNeg(width));
  const Parts lanes = emit_counted(
      done, start, poll,
      [&](Value* i, const Parts& before) {
        return std::optional(step(b_.CreateAdd(first, i), {.width = lane_count, .loop = id}, before));
      },
      lane_count);
  Value* const left = b_.CreateSub(in_block, done);
  return emit_when(b_, b_.CreateICmpNE(left, b_.getInt64(0)), lanes,
                   [&] { return step(b_.CreateAdd(first, done), lanes_below(id, lane_count, left), lanes); });
}

std::pair<Value*, Value*> LaneBody::range_of(const Blocks& blocks, Value* block) {
  Value* const first = b_.CreateShl(b_.CreateAdd(blocks.first, block), Reduction::kBlockBits);
  return {first, b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateSub(blocks.iterations, first),
                                          b_.getInt64(Reduction::kBlock))};
}

Parts LaneBody::emit_blocks_in_lanes(NodeId id, std::span<Reduction> reductions, const Blocks& blocks,
                                     const Parts& starts) {
  for (Reduction& reduction : reductions) reduction.set_width(lanes_of_reductions(id));
  const std::vector<size_t> counts = reductions_at_once(id, reductions);
  const auto block_of = [&](Value* block, const Parts& running) -> std::optional<Parts> {
    const auto [first, in_block] = range_of(blocks, block);
    for (Reduction& reduction : reductions)
      if (reduction.is_in_memory()) reduction.begin_block();
    Parts after;
    size_t begin = 0;
    for (size_t count : counts) {
      const Parts lanes = emit_block_of_lanes(id, reductions, begin, count, first, in_block, running);
      const auto fold = [&](Reduction& reduction, const Parts& own, size_t) {
        const auto from = running.begin() + after.size();
        const Parts given = reduction.fold(block, own, Parts(from, from + own.size()));
        after.append(given);
        return given;
      };
      each_reduction(reductions.subspan(begin, count), lanes, fold);
      begin += count;
    }
    for (Reduction& reduction : reductions)
      if (reduction.is_in_memory()) reduction.end_block(block);
    return after;
  };
  return emit_each_block(id, reductions, blocks, starts, block_of);
}

Parts LaneBody::emit_blocks_compactly(NodeId id, std::span<Reduction> reductions, const Blocks& blocks,
                                      const Parts& starts) {
  const RegionId body = source_.region(id);
  const unsigned width = lanes_of_reductions(id);
  const Poll poll = poll_of({&body, 1}) == Poll::Strip ? Poll::Never : Poll::Always;
  Types types{b_.getInt64Ty()};
  for (Reduction& reduction : reductions) {
    reduction.set_width(width);
    types.append(reduction.types());
  }
  // Gives the number of iterations that have been taken, and what is carried.
  const auto in_lanes = [&](Value* first, Value* in_block, const Parts& running) {
    Value* const done = b_.CreateAnd(in_block, b_.CreateNeg(b_.getInt64(width)));
    const auto begin = [](Reduction& reduction, const Parts& own, size_t) { return reduction.lanes(own); };
    const auto step = [&](Value* i, const Parts& before) {
      Value* const k = b_.CreateAdd(first, i);
      const Parts given = emit_lanes({width, nullptr, id}, k);
      return std::optional(
          each_reduction(reductions, before, [&](Reduction& reduction, const Parts& own, size_t at) {
            const Parts contribution(given.begin() + at, given.begin() + at + own.size());
            return reduction.accumulate_lanes(k, own, contribution, nullptr);
          }));
    };
    const Parts lanes = emit_counted(done, each_reduction(reductions, running, begin), poll, step, width);
    Parts all{done};
    all.append(each_reduction(reductions, lanes, [&](Reduction& reduction, const Parts& own, size_t at) {
      return reduction.fold(nullptr, own, Parts(running.begin() + at, running.begin() + at + own.size()));
    }));
    return all;
  };
  const auto block_of = [&](Value* block, const Parts& running) -> std::optional<Parts> {
    const auto [first, in_block] = range_of(blocks, block);
    for (Reduction& reduction : reductions) reduction.begin_block();
    Parts none{b_.getInt64(0)};
    none.append(running);
    const Parts all =
        emit_if_unit_strides(types, [&] { return in_lanes(first, in_block, running); }, [&] { return none; });
    Value* const next = b_.CreateAdd(first, all[0]);
    const bool was_short = scalars_.set_short(true);
    const Parts after =
        emit_counted(b_.CreateSub(in_block, all[0]), Parts(all.begin() + 1, all.end()), poll,
                     [&](Value* i, const Parts& carried) {
                       return accumulate_iteration(id, reductions, b_.CreateAdd(next, i), carried);
                     });
    scalars_.set_short(was_short);
    for (Reduction& reduction : reductions) reduction.end_block(block);
    return after;
  };
  return emit_each_block(id, reductions, blocks, starts, block_of);
}

template <class BlockOf>
Parts LaneBody::emit_each_block(NodeId id, std::span<Reduction> reductions, const Blocks& blocks,
                                const Parts& starts, BlockOf block_of) {
  const RegionId body = source_.region(id);
  const bool innermost = poll_of({&body, 1}) == Poll::Strip;
  const bool may_stop = reductions.size() == 1 && only_reads(body);
  const auto unless_decided = [&](Value* block, const Parts& running) {
    Value* const decided = may_stop ? reductions[0].decided(running) : nullptr;
    if (decided == nullptr) return block_of(block, running);
    return std::optional(
        emit_when(b_, b_.CreateNot(decided), running, [&] { return *block_of(block, running); }));
  };
  const auto most = limit_of(source_.operand(id, 0));
  const bool is_one_block = most && *most <= static_cast<int64_t>(Reduction::kBlock) &&
                            std::ranges::none_of(reductions, &Reduction::ordered);
  const Parts carried =
      is_one_block
          ? *block_of(b_.getInt64(0), starts)
          : emit_counted(blocks.count, starts, innermost ? Poll::Sometimes : Poll::Always, unless_decided);
  return each_reduction(reductions, carried, [&](Reduction& reduction, const Parts& own, size_t) {
    return reduction.total(blocks.count, own);
  });
}

std::optional<LaneBody::Affine> LaneBody::affine_of(NodeId id) const {
  if (const auto known = affine_.find(id.index); known != affine_.end()) return known->second;
  Value* const part = value(id);
  if (lanes_of(part) > 0) return std::nullopt;
  return Affine{part, llvm::ConstantInt::get(llvm::Type::getInt64Ty(unit_.context), 0)};
}

/// Wrapping sums and products of numbers that grow evenly from lane to lane.
void LaneBody::follow_affine(NodeId id) {
  const ir::Op op = source_.op(id);
  affine_.erase(id.index);
  if (source_.type(id) != ir::kInt64) return;
  if (op != ir::Op::add && op != ir::Op::subtract && op != ir::Op::multiply) return;
  const auto a = affine_of(source_.operand(id, 0));
  const auto b = affine_of(source_.operand(id, 1));
  if (!a || !b) return;
  const auto is = [](Value* v, int64_t number) {
    const auto* const constant = llvm::dyn_cast<llvm::ConstantInt>(v);
    return constant != nullptr && constant->getSExtValue() == number;
  };
  if (is(a->step, 0) && is(b->step, 0)) return;
  if (op == ir::Op::add) affine_[id.index] = {b_.CreateAdd(a->base, b->base), b_.CreateAdd(a->step, b->step)};
  else if (op == ir::Op::subtract)
    affine_[id.index] = {b_.CreateSub(a->base, b->base), b_.CreateSub(a->step, b->step)};
  else if (is(b->step, 0) || is(a->step, 0)) {
    const Affine& grows = is(b->step, 0) ? *a : *b;
    Value* const factor = is(b->step, 0) ? b->base : a->base;
    Value* const step = is(grows.step, 1) ? factor : b_.CreateMul(grows.step, factor);
    affine_[id.index] = {b_.CreateMul(grows.base, factor), step};
  }
}

void LaneBody::emit_select(NodeId id) {
  const auto operands = source_.operands(id);
  Parts arms[] = {parts(operands[1]), parts(operands[2])};
  if (lanes_of(value(operands[0])) > 0)
    for (Parts& arm : arms) arm = widen(arm);
  widen_together(arms);
  set(id, scalars_.select(value(operands[0]), arms[0], arms[1]));
}

void LaneBody::emit_elementwise(NodeId id) {
  if (!in_lanes()) return Body::emit_elementwise(id);
  llvm::SmallVector<Parts, 2> operands;
  for (NodeId operand : source_.operands(id)) operands.push_back(parts(operand));
  widen_together(operands);
  follow_affine(id);
  set(id, scalars_.elementwise(source_.op(id), dtype(source_.operand(id, 0)), operands));
  count_growth(id);
}

}  // namespace ingot::codegen
