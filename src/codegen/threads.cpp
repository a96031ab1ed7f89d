// Loops whose turns threads share. Such a loop is emitted as a function of its own over a range of turns,
// which takes what it uses from outside through a struct. Where the loop stands, that function is called for
// all turns, or, where there is work enough, given to the runtime, which calls it for pieces on several
// threads.
//
// A reduction is cut into groups of a power of two of blocks, which are nodes of its tree, so the bits do not
// depend on the number of threads. `INGOT_THREADS` is for tests: `always` shares every loop, but for those
// that are known to be short, `never` none.

#include <llvm/ADT/SetVector.h>

#include <algorithm>

#include "codegen/host_function.h"
#include "codegen/loops.h"
#include "codegen/reduction.h"

namespace ingot::codegen {

using llvm::Value;

namespace {

// Work is counted in tenths of nanoseconds, about. A piece should take ten microseconds, and a loop be worth
// three of them before other threads are asked.
constexpr uint64_t kPieceWork = 100'000;
constexpr uint64_t kLeastWork = 3 * kPieceWork;
constexpr int kAlone = 3;                      ///< of an addition; in lanes it is 1
constexpr uint64_t kMost = uint64_t{1} << 30;  ///< of counts and costs: products stay in 64 bits
constexpr uint64_t kUnknownTurns = 32;         ///< of loops inside whose count is not known before
constexpr uint64_t kWhileTurns = 100;

/// A reduction is cut into groups of a power of two of blocks, at most this many: each is a node of the tree
/// of base/reduction.h, as is what is left at the end.
constexpr uint64_t kGroupBits = 8;
constexpr uint64_t kLeastBlocksBits = 4;

}  // namespace

void HostFunction::emit_for_(NodeId id) {
  if (!in_lanes() && runs_in_threads(id) && source_.result_count(id) == 0) return emit_for_in_threads(id);
  LaneBody::emit_for_(id);
}

void HostFunction::emit_parallel_for(NodeId id) {
  if (!in_lanes() && runs_in_threads(id) && source_.result_count(id) > 0)
    return emit_reductions_in_threads(id);
  LaneBody::emit_parallel_for(id);
}

bool HostFunction::runs_in_threads(NodeId id) const {
  return unit_.target.machine.sharing != base::Machine::Sharing::Never &&
         ir::has_threads(static_cast<ir::Schedule>(source_.attribute(id, 0)));
}

/// What a loop uses from outside.
void HostFunction::collect_used(RegionId region, RegionId loop, std::vector<NodeId>& used) const {
  for (NodeId node : source_.region_body(region)) {
    for (NodeId operand : source_.operands(node))
      if (!source_.encloses(loop, source_[operand].parent)) used.push_back(operand);
    for (size_t i = 0; i < source_[node].region_count; ++i) collect_used(source_.region(node, i), loop, used);
  }
}

std::vector<HostFunction::NodeId> HostFunction::used_by(NodeId loop) const {
  const auto inits = source_.operands(loop).subspan(1);
  std::vector<NodeId> used(inits.begin(), inits.end());
  collect_used(source_.region(loop), source_.region(loop), used);
  std::ranges::sort(used, {}, &NodeId::index);
  const auto repeated = std::ranges::unique(used);
  used.erase(repeated.begin(), repeated.end());
  return used;
}

uint64_t HostFunction::op_cost(NodeId node, bool lanes) const {
  const ir::Op op = source_.op(node);
  const ir::OpInfo& card = ir::info(op);
  if (card.effects.any(ir::effect::Allocate)) return 1000;
  if (card.effects.any(ir::effect::Read | ir::effect::Write)) return lanes ? 2 : 4;
  if (!card.elementwise) return source_.is_constant(node) ? 0 : 1;
  const DType operand = dtype(source_.operand(node, 0));
  const int cost = lanes ? ir::lane_cost_of(op, operand) : kAlone * ir::cost_of(op, operand);
  return static_cast<uint64_t>(cost);
}

/// What a region costs that is run once in a turn of `loop`.
Value* HostFunction::cost_of(RegionId region, RegionId loop, bool lanes) {
  uint64_t known = 1;
  Value* all = nullptr;
  for (NodeId node : source_.region_body(region)) {
    if (source_[node].region_count == 0) {
      known += op_cost(node, lanes);
      continue;
    }
    const ir::Op op = source_.op(node);
    const bool is_counted = op == ir::Op::for_ || op == ir::Op::parallel_for;
    Value* turns = b_.getInt64(op == ir::Op::while_ ? kWhileTurns : is_counted ? kUnknownTurns : 1);
    if (is_counted) {
      NodeId count = source_.operand(node, 0);
      // Of the last piece of a range there may be less.
      if (source_.op(count) == ir::Op::minimum && source_.encloses(loop, source_[count].parent))
        count =
            source_.operand(count, source_.encloses(loop, source_[source_.operand(count, 0)].parent) ? 1 : 0);
      if (source_.is_constant(count)) turns = b_.getInt64(source_.constant(count).as<uint64_t>());
      else if (!source_.encloses(loop, source_[count].parent)) turns = value(count);
      turns = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, turns, b_.getInt64(kMost));
    }
    for (size_t i = 0; i < source_[node].region_count; ++i) {
      Value* const inner =
          cost_of(source_.region(node, i), loop, lanes || (is_counted && is_vector_loop(node)));
      Value* const cost = b_.CreateMul(turns, inner);
      all = all == nullptr ? cost : b_.CreateAdd(all, cost);
    }
  }
  if (all == nullptr) return b_.getInt64(known);
  return b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, b_.CreateAdd(all, b_.getInt64(known)),
                                  b_.getInt64(kMost));
}

/// The view from outside a loop that a view in it is a part of; none if it is of memory that is made by the
/// function, in which no element stands twice, or not known.
std::optional<HostFunction::NodeId> HostFunction::outer_view(NodeId view, RegionId loop, bool& known) const {
  NodeId found = view;
  for (NodeId at = view;; at = source_.operand(at, 0)) {
    if (!source_.encloses(loop, source_[at].parent) && source_.encloses(loop, source_[found].parent))
      found = at;
    if (source_.op(at) == ir::Op::alloc) return std::nullopt;
    const ir::OpInfo& card = ir::info(source_.op(at));
    const bool goes_on =
        card.effects.pure() && !source_.operands(at).empty() && source_.op(at) != ir::Op::broadcast &&
        (source_.type(source_.operand(at, 0)).is_view() || source_.type(source_.operand(at, 0)).is_buffer());
    if (!goes_on) break;
  }
  known = known && !source_.encloses(loop, source_[found].parent) && source_.type(found).is_view();
  return found;
}

/// Whether different indices of a view are different places: from the smallest stride to the largest, each is
/// at least as long as all that the smaller ones reach over.
Value* HostFunction::is_apart(NodeId view) {
  const ir::Type type = source_.type(view);
  const auto rank = static_cast<size_t>(type.rank());
  const Parts& v = parts(view);
  std::vector<Value*> strides;
  std::vector<Value*> reach;
  for (size_t i = 0; i < rank; ++i) {
    strides.push_back(b_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, v[2 + rank + i], b_.getFalse()));
    reach.push_back(b_.CreateMul(b_.CreateSub(v[2 + i], b_.getInt64(1)), strides[i]));
  }
  Value* all = b_.getTrue();
  for (size_t i = 0; i < rank; ++i) {
    Value* below = b_.getInt64(base::size_of(type.dtype()));
    for (size_t k = 0; k < rank; ++k) {
      if (k == i) continue;
      Value* const is_smaller =
          k < i ? b_.CreateICmpULE(strides[k], strides[i]) : b_.CreateICmpULT(strides[k], strides[i]);
      below = b_.CreateAdd(below, b_.CreateSelect(is_smaller, reach[k], b_.getInt64(0)));
    }
    Value* const one = b_.CreateICmpSLE(v[2 + i], b_.getInt64(1));
    all = b_.CreateAnd(all, b_.CreateOr(one, b_.CreateICmpUGE(strides[i], below)));
  }
  return all;
}

void HostFunction::collect_written(RegionId region, std::vector<NodeId>& written) const {
  for (NodeId node : source_.region_body(region)) {
    for (size_t i = 0; i < source_[node].region_count; ++i) collect_written(source_.region(node, i), written);
    const ir::Effects effects = ir::info(source_.op(node)).effects;
    if (effects == ir::effect::Control || !effects.any(ir::effect::Write)) continue;
    for (NodeId operand : source_.operands(node))
      if (source_.type(operand).is_view()) written.push_back(operand);
  }
}

/// Whether no element that a loop writes stands in two places of its array, by which turns would meet.
Value* HostFunction::writes_apart(NodeId loop) {
  std::vector<NodeId> written;
  collect_written(source_.region(loop), written);
  std::vector<NodeId> views;
  bool known = true;
  for (NodeId view : written)
    if (const auto outer = outer_view(view, source_.region(loop), known)) views.push_back(*outer);
  if (!known) return b_.getFalse();
  std::ranges::sort(views, {}, &NodeId::index);
  const auto repeated = std::ranges::unique(views);
  views.erase(repeated.begin(), repeated.end());
  Value* all = b_.getTrue();
  for (NodeId view : views) all = b_.CreateAnd(all, is_apart(view));
  return all;
}

/// `emit(inner, begin, end, given)` emits turns begin ... end - 1 in the loop's function; `given` are the
/// numbers and addresses `more` there.
template <class Emit>
void HostFunction::share_turns(NodeId loop, Value* count, Value* cost, const Parts& more, Emit emit) {
  const std::vector<NodeId> nodes = used_by(loop);
  llvm::SetVector<Value*> passed;
  for (NodeId node : nodes)
    for (Value* part : parts(node))
      if (!llvm::isa<llvm::Constant>(part)) passed.insert(part);
  passed.insert(more.begin(), more.end());
  Types fields;
  for (Value* part : passed) fields.push_back(unit_.memory_type(part->getType()));
  llvm::StructType* const type = llvm::StructType::get(unit_.context, fields);
  Builder at_entry(&target_->getEntryBlock(), target_->getEntryBlock().begin());
  Value* const data = at_entry.CreateAlloca(type);

  llvm::Type* const pointer = b_.getPtrTy();
  llvm::Type* const number = b_.getInt64Ty();
  auto* const signature = llvm::FunctionType::get(b_.getInt32Ty(), {pointer, pointer, number, number}, false);
  auto* const function = llvm::Function::Create(signature, llvm::GlobalValue::InternalLinkage,
                                                "ingot_turns_" + source_.name(), unit_.module);
  function->setDoesNotThrow();
  function->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
  HostFunction inner(unit_, source_, function, Form::Turns, false);
  inner.emit_prologue();
  llvm::DenseMap<Value*, Value*> taken;
  for (unsigned i = 0; i < passed.size(); ++i) {
    Value* const part =
        inner.b_.CreateLoad(fields[i], inner.b_.CreateStructGEP(type, function->getArg(1), i));
    llvm::Type* const own = passed[i]->getType();
    taken[passed[i]] = own == fields[i] ? part : inner.b_.CreateTrunc(part, own);
  }
  const auto take = [&](const Parts& outside) {
    Parts inside;
    for (Value* part : outside) inside.push_back(llvm::isa<llvm::Constant>(part) ? part : taken.lookup(part));
    return inside;
  };
  for (NodeId node : nodes) inner.set(node, take(parts(node)));
  emit(inner, function->getArg(2), function->getArg(3), take(more));
  inner.return_status(inner.b_.getInt32(0));
  inner.fence_streams();
  for (unsigned i = 0; i < passed.size(); ++i)
    if (!taken[passed[i]]->use_empty())
      b_.CreateStore(b_.CreateZExtOrBitCast(passed[i], fields[i]), b_.CreateStructGEP(type, data, i));
  call_turns(loop, function, data, count, cost);
}

/// Whether so many turns are worth other threads.
Value* HostFunction::has_work(Value* count, Value* cost) {
  if (unit_.target.machine.sharing == base::Machine::Sharing::Always)
    return b_.CreateICmpSGT(count, b_.getInt64(1));
  Value* const turns = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, count, b_.getInt64(0));
  Value* const some = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, turns, b_.getInt64(kMost));
  return b_.CreateICmpUGE(b_.CreateMul(some, cost), b_.getInt64(kLeastWork));
}

void HostFunction::call_turns(NodeId loop, llvm::Function* turns, Value* data, Value* count, Value* cost) {
  Block* const check = new_block("work");
  Block* const share = new_block("share");
  Block* const alone = new_block("alone");
  Join join = new_join("shared");
  b_.CreateCondBr(has_work(count, cost), check, alone);
  b_.SetInsertPoint(check);
  b_.CreateCondBr(writes_apart(loop), share, alone);
  b_.SetInsertPoint(share);
  llvm::Type* const pointer = b_.getPtrTy();
  llvm::Type* const number = b_.getInt64Ty();
  auto* const type =
      llvm::FunctionType::get(b_.getInt32Ty(), {pointer, pointer, pointer, number, number}, false);
  Value* const grain = unit_.target.machine.sharing == base::Machine::Sharing::Always
                           ? b_.getInt64(1)
                           : b_.CreateAdd(b_.CreateUDiv(b_.getInt64(kPieceWork), cost), b_.getInt64(1));
  Value* const status =
      b_.CreateCall(unit_.outside("ingot_v1_parallel", type, false), {context_, turns, data, count, grain});
  arrive(join, {status});
  b_.SetInsertPoint(alone);
  arrive(join, {b_.CreateCall(turns, {context_, data, b_.getInt64(0), count})});
  leave_with(close(join, {b_.getInt32Ty()})[0], false);
}

void HostFunction::emit_for_in_threads(NodeId id) {
  const RegionId body = source_.region(id);
  Value* const cost = cost_of(body, body, is_vector_loop(id));
  share_turns(id, value(source_.operand(id, 0)), cost, {},
              [&](HostFunction& inner, Value* begin, Value* end, const Parts&) {
                inner.piece_ = {id, begin, inner.b_.CreateSub(end, begin, "", true, true)};
                inner.emit_turns(id);
              });
}

bool HostFunction::is_in_loop(NodeId id) const {
  for (NodeId at = source_[source_[id].parent].owner; at; at = source_[source_[at].parent].owner)
    if (source_.op(at) == ir::Op::for_ || source_.op(at) == ir::Op::while_) return true;
  return false;
}

/// Inside a loop, where there may be many small ones, there are two versions.
void HostFunction::emit_reductions_in_threads(NodeId id) {
  const RegionId body = source_.region(id);
  Value* const cost = cost_of(body, body, is_vector_loop(id));
  if (!is_in_loop(id)) return set(id, reduce_in_threads(id, cost));
  Block* const share = new_block("threads");
  Block* const alone = new_block("alone");
  Join join = new_join("reduced");
  b_.CreateCondBr(has_work(value(source_.operand(id, 0)), cost), share, alone);
  b_.SetInsertPoint(share);
  arrive(join, reduce_in_threads(id, cost));
  b_.SetInsertPoint(alone);
  arrive(join, reduce_alone(id));
  set(id, close(join, unit_.types_of(source_.type(id))));
}

/// The value of each group goes into a home of its own; then they are combined as blocks are.
Parts HostFunction::reduce_in_threads(NodeId id, Value* cost) {
  const Parts inits = gather(source_.operands(id).subspan(1));
  std::vector<Reduction> reductions = reductions_of(id);
  const Blocks blocks = blocks_of(id);
  Value* const none = b_.getInt64(0);
  Value* const last =
      b_.CreateSelect(b_.CreateICmpEQ(blocks.count, none), none, b_.CreateSub(blocks.count, b_.getInt64(1)));
  Value* const zeros =
      b_.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, b_.CreateLShr(last, kGroupBits), b_.getFalse());
  Value* const bits = b_.CreateBinaryIntrinsic(
      llvm::Intrinsic::umax, b_.CreateSub(b_.getInt64(64), zeros),
      b_.getInt64(unit_.target.machine.sharing == base::Machine::Sharing::Always ? 0 : kLeastBlocksBits));
  Value* const size = b_.CreateShl(b_.getInt64(1), bits);
  Value* const groups = b_.CreateLShr(b_.CreateAdd(blocks.count, b_.CreateSub(size, b_.getInt64(1))), bits);

  Parts more{blocks.turns, blocks.count, bits};
  Builder at_entry(&target_->getEntryBlock(), target_->getEntryBlock().begin());
  for (Reduction& reduction : reductions)
    for (llvm::Type* type : reduction.types())
      more.push_back(at_entry.CreateAlloca(type, at_entry.getInt64(uint64_t{1} << kGroupBits)));
  const Parts homes(more.begin() + 3, more.end());
  Value* const group_cost = b_.CreateBinaryIntrinsic(
      llvm::Intrinsic::umin, b_.CreateMul(cost, b_.CreateShl(b_.getInt64(Reduction::kBlock), bits)),
      b_.getInt64(kMost));
  share_turns(id, groups, group_cost, more,
              [&](HostFunction& inner, Value* begin, Value* end, const Parts& given) {
                inner.emit_groups(id, begin, end, given);
              });

  const Parts carried = emit_counted(
      groups, inits, Poll::Never, [&](Value* group, const Parts& running) -> std::optional<Parts> {
        return each_reduction(reductions, running, [&](Reduction& reduction, const Parts& own, size_t at) {
          Parts value;
          for (llvm::Type* type : reduction.types())
            value.push_back(b_.CreateLoad(type, b_.CreateGEP(type, homes[at + value.size()], group)));
          return reduction.add_block(group, value, own);
        });
      });
  const Parts values = each_reduction(
      reductions, carried,
      [&](Reduction& reduction, const Parts& own, size_t) { return reduction.total(groups, own); });
  return finish_reductions(reductions, blocks, inits, values);
}

void HostFunction::emit_groups(NodeId id, Value* begin, Value* end, const Parts& given) {
  Value* const turns = given[0];
  Value* const bits = given[2];
  std::vector<Reduction> reductions = reductions_of(id);
  const Parts starts =
      each_reduction(reductions, gather(source_.operands(id).subspan(1)),
                     [](Reduction& reduction, const Parts& init, size_t) { return reduction.neutral(init); });
  if (std::ranges::any_of(reductions, &Reduction::starts_from_first)) {
    // There is a turn, or there would be no group.
    const auto first = emit_region(source_.region(id), {b_.getInt64(0)});
    INGOT_ASSERT(first.has_value(), "codegen: a turn that is shared comes to its end");
    each_reduction(reductions, *first, [](Reduction& reduction, const Parts& own, size_t) {
      if (reduction.starts_from_first()) reduction.start_from(own);
      return Parts{};
    });
  }
  emit_counted(
      b_.CreateSub(end, begin), {}, Poll::Never, [&](Value* k, const Parts&) -> std::optional<Parts> {
        Value* const group = b_.CreateAdd(begin, k);
        Value* const first = b_.CreateShl(group, bits);
        Value* const count = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateSub(given[1], first),
                                                      b_.CreateShl(b_.getInt64(1), bits));
        const Parts values = emit_blocks(id, reductions, {turns, first, count}, starts);
        for (size_t i = 0; i < values.size(); ++i)
          b_.CreateStore(values[i], b_.CreateGEP(values[i]->getType(), given[3 + i], group));
        return Parts{};
      });
}

}  // namespace ingot::codegen
