#pragma once

#include "codegen/body.h"
#include "codegen/reduction.h"

/// Counted loops, rotated: the test is at the end of an iteration.
namespace ingot::codegen {

inline constexpr uint64_t kStrip = 65536;
inline constexpr uint64_t kSometimes = 64;

template <class Iteration>
std::optional<Parts> Body::emit_rotated(llvm::Value* begin, llvm::Value* end, const Parts& inits, Poll poll,
                                        Iteration iteration, uint64_t step) {
  Types types{b_.getInt64Ty()};
  for (llvm::Value* init : inits) types.push_back(init->getType());
  Block* const before = here();
  Block* const body = new_block("iteration");
  b_.CreateBr(body);
  b_.SetInsertPoint(body);
  const Parts all = phis(types, 2);
  const Parts carried(all.begin() + 1, all.end());
  llvm::cast<llvm::PHINode>(all[0])->addIncoming(begin, before);
  for (size_t i = 0; i < inits.size(); ++i)
    llvm::cast<llvm::PHINode>(carried[i])->addIncoming(inits[i], before);
  const std::optional<Parts> next = iteration(all[0], carried);
  if (!next) return std::nullopt;
  if (poll == Poll::Always || poll == Poll::Sometimes)
    emit_poll_every(all[0], poll == Poll::Always ? 0 : (kSometimes - 1) * step);
  llvm::Value* const k = b_.CreateAdd(all[0], b_.getInt64(step), "", true, true);
  Parts incoming{k};
  incoming.append(*next);
  add_incoming(all, incoming);
  if (poll == Poll::Never && polls()) sum_products(*llvm::cast<llvm::PHINode>(all[0]), before, step);
  Block* const after = new_block("after");
  b_.CreateCondBr(b_.CreateICmpSLT(k, end), body, after);
  b_.SetInsertPoint(after);
  return next;
}

template <class Iteration>
Parts Body::emit_counted(llvm::Value* count, const Parts& inits, Poll poll, Iteration iteration,
                         uint64_t step) {
  Types types;
  for (llvm::Value* init : inits) types.push_back(init->getType());
  const auto* const known = llvm::dyn_cast<llvm::ConstantInt>(count);
  if (known != nullptr && poll == Poll::Strip && known->getSExtValue() <= static_cast<int64_t>(kStrip * step))
    poll = Poll::Never;
  Join done = new_join("done");
  Block* const enter = new_block("loop");
  done.incoming.emplace_back(here(), inits);
  b_.CreateCondBr(b_.CreateICmpSGT(count, b_.getInt64(0)), enter, done.block);
  b_.SetInsertPoint(enter);
  if (poll != Poll::Strip) {
    if (const auto last = emit_rotated(b_.getInt64(0), count, inits, poll, iteration, step))
      arrive(done, *last);
    return close(done, types);
  }
  Types strip_types{b_.getInt64Ty()};
  strip_types.append(types);
  Block* const strip = new_block("strip");
  b_.CreateBr(strip);
  b_.SetInsertPoint(strip);
  const Parts all = phis(strip_types, 2);
  Parts start{b_.getInt64(0)};
  start.append(inits);
  for (size_t i = 0; i < all.size(); ++i) llvm::cast<llvm::PHINode>(all[i])->addIncoming(start[i], enter);
  llvm::Value* const left = b_.CreateSub(count, all[0]);
  llvm::Value* const iterations =
      b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, left, b_.getInt64(kStrip * step));
  llvm::Value* const end = b_.CreateAdd(all[0], iterations, "", true, true);
  const auto last =
      emit_rotated(all[0], end, Parts(all.begin() + 1, all.end()), Poll::Never, iteration, step);
  if (last) {
    Block* const more = new_block("more");
    done.incoming.emplace_back(here(), *last);
    b_.CreateCondBr(b_.CreateICmpSLT(end, count), more, done.block);
    b_.SetInsertPoint(more);
    emit_poll();
    Parts next{end};
    next.append(*last);
    add_incoming(all, next);
    b_.CreateBr(strip);
  }
  return close(done, types);
}

/// `action(reduction, own, at)` for each reduction, `own` being its parts of `all`, the first of them number
/// `at`; their results, concatenated.
template <class Action>
Parts each_reduction(std::span<Reduction> reductions, const Parts& all, Action action) {
  Parts made;
  size_t at = 0;
  for (Reduction& reduction : reductions) {
    const Parts own(all.begin() + at, all.begin() + at + reduction.part_count());
    made.append(action(reduction, own, at));
    at += reduction.part_count();
  }
  return made;
}

}  // namespace ingot::codegen
