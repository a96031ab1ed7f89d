#include <llvm/ADT/SmallPtrSet.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "codegen/body.h"
#include "codegen/branches.h"
#include "codegen/loops.h"
#include "codegen/reduction.h"
#include "ir/builder.h"
#include "ir/loops.h"

namespace ingot::codegen {

using llvm::Value;

void Body::emit_poll_every(Value* counter, uint64_t mask) {
  if (mask == 0) return emit_poll();
  emit_when(b_, b_.CreateICmpEQ(b_.CreateAnd(counter, mask), b_.getInt64(mask)), [&] { emit_poll(); });
}

/// Products of a loop's counter, or of a sum of it, and a value from outside grow by that value with each
/// step of the loop, at whose end the builder is: places along a stride. A core multiplies once a cycle.
void Body::sum_products(llvm::PHINode& counter, Block* before, uint64_t step) {
  constexpr size_t kMost = 6;
  Block* const body = counter.getParent();
  llvm::SmallPtrSet<const Block*, 16> inside;
  for (auto at = body->getIterator(); at != body->getParent()->end(); ++at) inside.insert(&*at);
  const auto is_outside = [&](const Value* value) {
    const auto* const instruction = llvm::dyn_cast<llvm::Instruction>(value);
    return instruction == nullptr || !inside.contains(instruction->getParent());
  };
  llvm::SmallVector<std::pair<llvm::Instruction*, Value*>, 8> products;  // with what they are of
  const auto collect = [&](Value* factor) {
    for (llvm::User* user : factor->users()) {
      auto* const product = llvm::dyn_cast<llvm::BinaryOperator>(user);
      if (product == nullptr || product->getOpcode() != llvm::Instruction::Mul) continue;
      Value* const other = product->getOperand(product->getOperand(0) == factor ? 1 : 0);
      if (!llvm::isa<llvm::Constant>(other) && is_outside(other)) products.emplace_back(product, factor);
    }
  };
  collect(&counter);
  for (llvm::User* user : counter.users()) {
    auto* const sum = llvm::dyn_cast<llvm::BinaryOperator>(user);
    if (sum == nullptr || sum->getOpcode() != llvm::Instruction::Add) continue;
    if (is_outside(sum->getOperand(sum->getOperand(0) == &counter ? 1 : 0))) collect(sum);
  }
  llvm::IRBuilder<> first(before->getTerminator());
  std::map<std::pair<Value*, Value*>, llvm::PHINode*> made;
  for (const auto& [product, factor] : products) {
    Value* const other = product->getOperand(product->getOperand(0) == factor ? 1 : 0);
    llvm::PHINode*& grown = made[{factor, other}];
    if (grown == nullptr && made.size() > kMost) break;
    if (grown == nullptr) {
      Value* start = counter.getIncomingValueForBlock(before);
      if (auto* const sum = llvm::dyn_cast<llvm::BinaryOperator>(factor))
        start = first.CreateAdd(start, sum->getOperand(sum->getOperand(0) == &counter ? 1 : 0));
      grown = llvm::PHINode::Create(b_.getInt64Ty(), 2, "", body->begin());
      grown->addIncoming(first.CreateMul(start, other), before);
      Value* const more = step == 1 ? other : first.CreateMul(other, b_.getInt64(step));
      grown->addIncoming(b_.CreateAdd(grown, more), here());
    }
    product->replaceAllUsesWith(grown);
  }
}

/// How deep loops are nested in a region; a call counts as one.
int Body::loop_depth(RegionId region) const {
  int depth = 0;
  for (NodeId node : source_.region_body(region)) {
    const ir::Op op = source_.op(node);
    if (op == ir::Op::call) depth = std::max(depth, 1);
    const int own = ir::is_loop(op) ? 1 : 0;
    for (size_t i = 0; i < source_[node].region_count; ++i)
      depth = std::max(depth, own + loop_depth(source_.region(node, i)));
  }
  return depth;
}

Body::Poll Body::poll_of(std::span<const RegionId> regions) const {
  if (!polls()) return Poll::Never;
  int depth = 0;
  for (RegionId region : regions) depth = std::max(depth, loop_depth(region));
  return depth == 0 ? Poll::Strip : depth == 1 ? Poll::Sometimes : Poll::Always;
}

namespace {

/// The limit of an op's result, from those of its two operands.
std::optional<int64_t> joined_limit(ir::Op op, std::optional<int64_t> a, std::optional<int64_t> b) {
  if (op == ir::Op::select) return a && b ? std::optional(std::max(*a, *b)) : std::nullopt;
  // `and` with a number that is not negative gives no greater one.
  const auto usable = [&](const std::optional<int64_t>& limit) {
    return limit && (op == ir::Op::minimum || *limit >= 0);
  };
  if (usable(a) && usable(b)) return std::min(*a, *b);
  return usable(a) ? a : usable(b) ? b : std::nullopt;
}

}  // namespace

std::optional<int64_t> Body::limit_of(NodeId id) const {
  std::unordered_map<uint32_t, std::optional<int64_t>> known;  // operands are shared: paths are many more
  const auto limit = [&](const auto& self, NodeId node) -> std::optional<int64_t> {
    if (source_.is_constant(node)) return source_.constant(node).template as<int64_t>();
    const ir::Op op = source_.op(node);
    if (op != ir::Op::minimum && op != ir::Op::bitwise_and && op != ir::Op::select) return std::nullopt;
    if (const auto found = known.find(node.index); found != known.end()) return found->second;
    const size_t first = op == ir::Op::select ? 1 : 0;
    const auto a = self(self, source_.operand(node, first));
    const auto b = self(self, source_.operand(node, first + 1));
    return known[node.index] = joined_limit(op, a, b);
  };
  return limit(limit, id);
}

/// How often a counted loop polls.
Body::Poll Body::poll_of_loop(NodeId loop) const {
  const RegionId body = source_.region(loop);
  const Poll poll = poll_of({&body, 1});
  const auto limit = poll == Poll::Strip ? limit_of(source_.operand(loop, 0)) : std::nullopt;
  return limit && *limit <= static_cast<int64_t>(kStrip) ? Poll::Never : poll;
}

void Body::emit_if_(NodeId id) {
  Block* const yes = new_block("then");
  Block* const no = new_block("else");
  Join join = new_join("end");
  b_.CreateCondBr(value(source_.operand(id, 0)), yes, no);
  b_.SetInsertPoint(yes);
  if (const auto result = emit_region(source_.region(id, 0), {})) arrive(join, *result);
  b_.SetInsertPoint(no);
  if (const auto result = emit_region(source_.region(id, 1), {})) arrive(join, *result);
  set(id, close(join, unit_.types_of(source_.type(id))));
}

Value* Body::iteration_count(NodeId loop) const {
  return piece_ && piece_->loop == loop ? piece_->count : value(source_.operand(loop, 0));
}

Value* Body::iteration_of(NodeId loop, Value* k) {
  return piece_ && piece_->loop == loop ? b_.CreateAdd(piece_->first, k, "", true, true) : k;
}

void Body::emit_for_(NodeId id) { emit_iterations(id); }

/// Iterations that run one at a time are those of the slow path, which seldom runs.
void Body::emit_iterations(NodeId id) {
  const bool around = scalars_.set_short(ir::is_careful(source_, id));
  emit_all_iterations(id);
  scalars_.set_short(around);
}

void Body::emit_all_iterations(NodeId id) {
  const RegionId body = source_.region(id);
  const Parts inits = gather(source_.operands(id).subspan(1));
  // Whether the loops in a loop have no iterations, so that it does nothing: that of an array of shape
  // (2**40, 0) would run for hours. None: it may do something.
  const auto is_idle = [&](const auto& self, NodeId loop) -> Value* {
    const RegionId region = source_.region(loop);
    const auto carried = source_.region_parameters(region).subspan(1);
    Value* idle = nullptr;
    for (const NodeId node : source_.region_body(region)) {
      if (source_.op(node) == ir::Op::for_ && source_.result_count(node) == 0) {
        const NodeId count = source_.operand(node, 0);
        const bool is_there = count.index < id.index && source_.reaches(count, source_[id].parent);
        Value* const empty = is_there ? b_.CreateICmpSLE(value(count), b_.getInt64(0)) : nullptr;
        Value* const inner = self(self, node);
        Value* const either = empty && inner ? b_.CreateOr(empty, inner) : empty ? empty : inner;
        if (!either) return nullptr;
        idle = idle ? b_.CreateAnd(idle, either) : either;
      } else if (source_.op(node) == ir::Op::yield) {
        if (!std::ranges::equal(source_.operands(node), carried)) return nullptr;
      } else {
        const ir::Effects effects = ir::effects_of(source_, node);
        if (!(effects.pure() || effects == ir::effect::Read)) return nullptr;
      }
    }
    return idle;
  };
  Value* count = iteration_count(id);
  const auto limit = limit_of(source_.operand(id, 0));
  if (!limit || *limit > static_cast<int64_t>(kStrip))
    if (Value* const idle = is_idle(is_idle, id)) count = b_.CreateSelect(idle, b_.getInt64(0), count);
  set(id, emit_counted(count, inits, poll_of_loop(id), [&](Value* k, const Parts& carried) {
        Parts arguments{iteration_of(id, k)};
        arguments.append(carried);
        return emit_region(body, arguments);
      }));
}

void Body::emit_while_(NodeId id) {
  const RegionId regions[] = {source_.region(id, 0), source_.region(id, 1)};
  const Poll poll = poll_of(regions);
  const Parts inits = gather(source_.operands(id));
  Types types{b_.getInt64Ty()};
  for (Value* init : inits) types.push_back(init->getType());
  Parts start{b_.getInt64(0)};
  start.append(inits);
  const bool around = scalars_.set_short(false);

  Block* const test = new_block("while");
  Join done = new_join("end");
  Block* const before = here();
  b_.CreateBr(test);
  b_.SetInsertPoint(test);
  const Parts carried = phis(types, 2);
  for (size_t i = 0; i < carried.size(); ++i)
    llvm::cast<llvm::PHINode>(carried[i])->addIncoming(start[i], before);
  const auto tested = emit_region(regions[0], Parts(carried.begin() + 1, carried.end()));
  if (tested) {
    const Parts values(tested->begin() + 1, tested->end());
    Block* const iteration = new_block("iteration");
    done.incoming.emplace_back(here(), values);
    b_.CreateCondBr((*tested)[0], iteration, done.block);
    b_.SetInsertPoint(iteration);
    if (const auto next = emit_region(regions[1], values)) {
      if (poll != Poll::Never)
        emit_poll_every(carried[0], poll == Poll::Strip       ? kStrip - 1
                                    : poll == Poll::Sometimes ? kSometimes - 1
                                                              : 0);
      Parts all{b_.CreateAdd(carried[0], b_.getInt64(1))};
      all.append(*next);
      add_incoming(carried, all);
      b_.CreateBr(test);
    }
  }
  scalars_.set_short(around);
  set(id, close(done, unit_.types_of(source_.type(id))));
}

void Body::emit_share(NodeId id) { set(id, emit_region(source_.region(id), {}).value()); }

void Body::emit_block(NodeId id) {
  const RegionId body = source_.region(id);
  Join join = new_join("end");
  labels_.emplace_back(source_.region_parameters(body)[0], &join);
  if (const auto result = emit_region(body, {})) arrive(join, *result);
  labels_.pop_back();
  set(id, close(join, unit_.types_of(source_.type(id))));
}

void Body::emit_exit_(NodeId id) {
  const auto operands = source_.operands(id);
  const auto label = std::ranges::find(labels_, operands[0], &std::pair<NodeId, Join*>::first);
  INGOT_ASSERT(label != labels_.end(), "codegen: an exit's block encloses it");
  const RegionId block = source_[operands[0]].parent;
  for (NodeId at = id;; at = source_[source_[at].parent].owner) {
    release_buffers(source_[at].parent, at);
    if (source_[at].parent == block) break;
  }
  arrive(*label->second, gather(operands.subspan(1)));
}

void Body::emit_parallel_for(NodeId id) {
  // Without values, its iterations are as those of a `for`.
  if (source_.result_count(id) == 0) return emit_for_(id);
  set(id, reduce_alone(id));
}

Parts Body::reduce_alone(NodeId id) {
  const bool around = scalars_.set_short(false);
  std::vector<Reduction> reductions = reductions_of(id);
  const Blocks blocks = blocks_of(id);
  const Parts inits = gather(source_.operands(id).subspan(1));
  const Parts values = emit_blocks(id, reductions, blocks, inits);
  scalars_.set_short(around);
  return finish_reductions(reductions, blocks, inits, values);
}

std::vector<Reduction> Body::reductions_of(NodeId loop) {
  const auto combiners = source_.ints(loop);
  std::vector<Reduction> reductions;
  for (size_t i = 0; i < combiners.size(); ++i)
    reductions.emplace_back(unit_, b_, source_.relaxations(), states_, static_cast<ir::Op>(combiners[i]),
                            dtype(source_.operand(loop, i + 1)));
  return reductions;
}

Body::Blocks Body::blocks_of(NodeId loop) {
  Value* const count = value(source_.operand(loop, 0));
  Value* const iterations = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, count, b_.getInt64(0));
  Value* const blocks =
      b_.CreateLShr(b_.CreateAdd(iterations, b_.getInt64(Reduction::kBlock - 1)), Reduction::kBlockBits);
  return {iterations, b_.getInt64(0), blocks};
}

Parts Body::finish_reductions(std::span<Reduction> reductions, const Blocks& blocks, const Parts& inits,
                              const Parts& values) {
  Value* const some = b_.CreateICmpSGT(blocks.iterations, b_.getInt64(0));
  return each_reduction(reductions, values, [&](Reduction& reduction, const Parts& own, size_t at) {
    return reduction.finish(some, Parts(inits.begin() + at, inits.begin() + at + own.size()), own);
  });
}

std::optional<Parts> Body::accumulate_iteration(NodeId id, std::span<Reduction> reductions, Value* k,
                                                const Parts& carried) {
  const auto given = emit_region(source_.region(id), {k});
  if (!given) return std::nullopt;
  return each_reduction(reductions, carried, [&](Reduction& reduction, const Parts& own, size_t at) {
    return reduction.accumulate(k, own, Parts(given->begin() + at, given->begin() + at + own.size()));
  });
}

Parts Body::emit_blocks(NodeId id, std::span<Reduction> reductions, const Blocks& blocks,
                        const Parts& starts) {
  const auto one_iteration = [&](Value* k, const Parts& carried) {
    return accumulate_iteration(id, reductions, k, carried);
  };
  const auto iterations_from = [&](Value* first, Value* count) {
    return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateSub(blocks.iterations, first),
                                    b_.CreateShl(count, Reduction::kBlockBits));
  };
  const Poll poll = poll_of_loop(id);
  if (std::ranges::none_of(reductions, &Reduction::ordered)) {
    Value* const first = b_.CreateShl(blocks.first, Reduction::kBlockBits);
    return emit_counted(
        iterations_from(first, blocks.count), starts, poll,
        [&](Value* i, const Parts& carried) { return one_iteration(b_.CreateAdd(first, i), carried); });
  }
  const Parts carried = emit_counted(
      blocks.count, starts, poll == Poll::Strip || poll == Poll::Never ? Poll::Sometimes : Poll::Always,
      [&](Value* block, const Parts& running) -> std::optional<Parts> {
        for (Reduction& reduction : reductions) reduction.begin_block();
        Value* const first = b_.CreateShl(b_.CreateAdd(blocks.first, block), Reduction::kBlockBits);
        const Parts after = emit_counted(
            iterations_from(first, b_.getInt64(1)), running, poll == Poll::Strip ? Poll::Never : poll,
            [&](Value* i, const Parts& inner) { return one_iteration(b_.CreateAdd(first, i), inner); });
        for (Reduction& reduction : reductions) reduction.end_block(block);
        return after;
      });
  return each_reduction(reductions, carried, [&](Reduction& reduction, const Parts& own, size_t) {
    return reduction.total(blocks.count, own);
  });
}

/// Copies one axis and those inside it, element by element in C order.
void Body::copy_axis(DType dtype, int axis, std::span<Value* const> lengths, const Parts& to,
                     const Parts& from, Value* to_address, Value* from_address) {
  const size_t rank = lengths.size();
  const auto at = static_cast<size_t>(axis);
  if (at == rank) {
    store_element(dtype, load_element(dtype, from_address, false), to_address, false);
    return;
  }
  const Poll poll = at + 1 == rank ? Poll::Strip : at + 2 == rank ? Poll::Sometimes : Poll::Always;
  emit_counted(lengths[at], {}, poll, [&](Value* k, const Parts&) -> std::optional<Parts> {
    const auto moved = [&](Value* address, const Parts& view) {
      return b_.CreateGEP(b_.getInt8Ty(), address, b_.CreateMul(k, view[2 + rank + at]));
    };
    copy_axis(dtype, axis + 1, lengths, to, from, moved(to_address, to), moved(from_address, from));
    return Parts{};
  });
}

}  // namespace ingot::codegen
