// Loops whose iterations threads share. Such a loop is emitted as a function of its own over a range of
// iterations, which takes the values that it uses from outside through a struct. Instead of the loop, that
// function is called for all iterations, or, where the `share` so specifies, given to the runtime, which
// calls it for pieces on several threads.
//
// A reduction is cut into groups of a power of two of blocks, which are nodes of its tree, so the bits do not
// depend on the number of threads.

#include <llvm/ADT/SetVector.h>

#include <algorithm>

#include "codegen/host_function.h"
#include "codegen/loops.h"
#include "codegen/reduction.h"
#include "ir/walk.h"

namespace ingot::codegen {

using llvm::Value;

namespace {

/// A reduction is cut into groups of a power of two of blocks, at most this many: each is a node of the tree
/// of base/reduction.h, as is the rest at the end.
constexpr uint64_t kGroupBits = 8;
/// The blocks of a group, at least; fewer where a thread takes less at once.
constexpr uint64_t kLeastBlocksBits = 4;

void sort_unique(std::vector<ir::NodeId>& nodes) {
  std::ranges::sort(nodes, {}, &ir::NodeId::index);
  const auto repeated = std::ranges::unique(nodes);
  nodes.erase(repeated.begin(), repeated.end());
}

}  // namespace

void HostFunction::emit_share(NodeId id) {
  const NodeId loop = source_.region_body(source_.region(id))[0];
  Value* const grain = value(source_.operand(id, 0));
  if (source_.result_count(loop) == 0) {
    share_iterations(value(source_.operand(loop, 0)), grain, loop, {},
                     [&](HostFunction& inner, Value* begin, Value* end, const Parts&) {
                       inner.piece_ = {loop, begin, inner.b_.CreateSub(end, begin, "", true, true)};
                       inner.emit_iterations(loop);
                     });
  } else if (!is_in_loop(id)) {
    set(id, reduce_in_threads(loop, grain));
  } else {
    // Of a loop that is entered often, perhaps with few iterations, there are two versions.
    Block* const share = new_block("threads");
    Block* const alone = new_block("alone");
    Join join = new_join("reduced");
    b_.CreateCondBr(b_.CreateIsNotNull(grain), share, alone);
    b_.SetInsertPoint(share);
    arrive(join, reduce_in_threads(loop, grain));
    b_.SetInsertPoint(alone);
    arrive(join, reduce_alone(loop));
    set(id, close(join, unit_.types_of(source_.type(id))));
  }
}

/// The values that a loop uses from outside.
std::vector<HostFunction::NodeId> HostFunction::used_by(NodeId loop) const {
  std::vector<NodeId> used = used_in(source_.region(loop));
  const auto inits = source_.operands(loop).subspan(1);
  used.insert(used.end(), inits.begin(), inits.end());
  sort_unique(used);
  return used;
}

/// The values that a region uses from outside.
std::vector<HostFunction::NodeId> HostFunction::used_in(RegionId body) const {
  std::vector<NodeId> used;
  ir::walk(source_, body, [&](NodeId node) {
    for (NodeId operand : source_.operands(node))
      if (!source_.encloses(body, operand)) used.push_back(operand);
  });
  sort_unique(used);
  return used;
}

/// `emit(inner, begin, end, given)` emits iterations begin ... end - 1 in the loop's function; `given` are
/// the numbers and addresses `more` there.
template <class Emit>
void HostFunction::share_iterations(Value* count, Value* grain, NodeId loop, const Parts& more, Emit emit) {
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
                                                "ingot_iterations_" + source_.name(), unit_.module);
  function->setDoesNotThrow();
  function->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
  HostFunction inner(unit_, source_, function, Form::Iterations, false, states_);
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
  call_iterations(function, data, count, grain);
}

void HostFunction::call_iterations(llvm::Function* iterations, Value* data, Value* count, Value* grain) {
  Block* const share = new_block("share");
  Block* const alone = new_block("alone");
  Join join = new_join("shared");
  b_.CreateCondBr(b_.CreateIsNotNull(grain), share, alone);
  b_.SetInsertPoint(share);
  llvm::Type* const pointer = b_.getPtrTy();
  llvm::Type* const number = b_.getInt64Ty();
  auto* const type =
      llvm::FunctionType::get(b_.getInt32Ty(), {pointer, pointer, pointer, number, number}, false);
  Value* const status = b_.CreateCall(unit_.outside("ingot_v1_parallel", type, false),
                                      {context_, iterations, data, count, grain});
  arrive(join, {status});
  b_.SetInsertPoint(alone);
  arrive(join, {b_.CreateCall(iterations, {context_, data, b_.getInt64(0), count})});
  leave_with(close(join, {b_.getInt32Ty()})[0], false);
}

bool HostFunction::is_in_loop(NodeId id) const {
  for (NodeId at = source_[source_[id].parent].owner; at; at = source_[source_[at].parent].owner)
    if (source_.op(at) == ir::Op::for_ || source_.op(at) == ir::Op::while_) return true;
  return false;
}

/// The value of each group goes into a slot of its own; then they are combined as blocks are.
Parts HostFunction::reduce_in_threads(NodeId id, Value* grain) {
  const Parts inits = gather(source_.operands(id).subspan(1));
  std::vector<Reduction> reductions = reductions_of(id);
  const Blocks blocks = blocks_of(id);
  Value* const none = b_.getInt64(0);
  Value* const last =
      b_.CreateSelect(b_.CreateICmpEQ(blocks.count, none), none, b_.CreateSub(blocks.count, b_.getInt64(1)));
  Value* const zeros =
      b_.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, b_.CreateLShr(last, kGroupBits), b_.getFalse());
  Value* const in_block =
      b_.CreateICmpEQ(b_.CreateLShr(b_.CreateSub(grain, b_.getInt64(1)), Reduction::kBlockBits), none);
  Value* const least_bits = b_.CreateSelect(in_block, none, b_.getInt64(kLeastBlocksBits));
  Value* const bits =
      b_.CreateBinaryIntrinsic(llvm::Intrinsic::umax, b_.CreateSub(b_.getInt64(64), zeros), least_bits);
  Value* const size = b_.CreateShl(b_.getInt64(1), bits);
  Value* const groups = b_.CreateLShr(b_.CreateAdd(blocks.count, b_.CreateSub(size, b_.getInt64(1))), bits);

  Parts more{blocks.iterations, blocks.count, bits};
  Builder at_entry(&target_->getEntryBlock(), target_->getEntryBlock().begin());
  for (Reduction& reduction : reductions)
    for (llvm::Type* type : reduction.types())
      more.push_back(at_entry.CreateAlloca(type, at_entry.getInt64(uint64_t{1} << kGroupBits)));
  const Parts homes(more.begin() + 3, more.end());
  Value* const whole_groups = b_.CreateLShr(grain, b_.CreateAdd(bits, b_.getInt64(Reduction::kBlockBits)));
  Value* const group_grain =
      b_.CreateSelect(b_.CreateIsNull(grain), none,
                      b_.CreateBinaryIntrinsic(llvm::Intrinsic::umax, whole_groups, b_.getInt64(1)));
  share_iterations(groups, group_grain, id, more,
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
  Value* const iterations = given[0];
  Value* const bits = given[2];
  std::vector<Reduction> reductions = reductions_of(id);
  const Parts starts =
      each_reduction(reductions, gather(source_.operands(id).subspan(1)),
                     [](Reduction& reduction, const Parts& init, size_t) { return reduction.neutral(init); });
  if (std::ranges::any_of(reductions, &Reduction::starts_from_first)) {
    // There is an iteration, or there would be no group.
    const auto first = emit_region(source_.region(id), {b_.getInt64(0)});
    INGOT_ASSERT(first.has_value(), "codegen: an iteration that is shared comes to its end");
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
        const Parts values = emit_blocks(id, reductions, {iterations, first, count}, starts);
        for (size_t i = 0; i < values.size(); ++i)
          b_.CreateStore(values[i], b_.CreateGEP(values[i]->getType(), given[3 + i], group));
        return Parts{};
      });
}

}  // namespace ingot::codegen
