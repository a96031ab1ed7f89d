// Control flow of lanes. Each point has a mask of the lanes that run there. Both arms of an `if` run, each
// under its condition, but for those that touch memory or take long, which are skipped when no lane takes
// them; a loop that lanes leave after different iterations goes on until none is live. An exit to a label
// takes lanes out of the mask: they wait, with their results, in the label's stack slots until its block
// ends. (LLVM makes registers of the slots.) Masked lanes compute unused values, but touch no memory.

#include <algorithm>

#include "codegen/lane_body.h"
#include "codegen/loops.h"
#include "ir/builder.h"
#include "ir/walk.h"

namespace ingot::codegen {

using llvm::Value;

namespace {

/// An arm that takes so long, in additions of lanes, is skipped where no lane comes to it.
constexpr int kLongArm = 32;

/// The mask for polls: a loop polls when these low bits of its counter are all set.
uint64_t poll_mask(bool strip, bool sometimes) { return strip ? kStrip - 1 : sometimes ? kSometimes - 1 : 0; }

Parts nothing_like(const Parts& parts) {
  Parts none;
  for (Value* part : parts) none.push_back(llvm::Constant::getNullValue(part->getType()));
  return none;
}

Types types_of(const Parts& parts) {
  Types types;
  for (Value* part : parts) types.push_back(part->getType());
  return types;
}

}  // namespace

std::optional<Parts> LaneBody::emit_nodes(RegionId region) {
  if (!in_lanes()) return Body::emit_nodes(region);
  return emit_nodes_in_lanes(region, source_.region_body(region));
}

void LaneBody::emit_if_(NodeId id) {
  if (in_lanes()) emit_if_in_lanes(id);
  else Body::emit_if_(id);
}
void LaneBody::emit_for_(NodeId id) {
  if (in_lanes()) emit_for_in_lanes(id);
  else Body::emit_for_(id);
}
void LaneBody::emit_while_(NodeId id) {
  if (in_lanes()) emit_while_in_lanes(id);
  else Body::emit_while_(id);
}
void LaneBody::emit_block(NodeId id) {
  if (in_lanes()) emit_block_in_lanes(id);
  else Body::emit_block(id);
}
void LaneBody::emit_exit_(NodeId id) {
  if (in_lanes()) emit_exit_in_lanes(id);
  else Body::emit_exit_(id);
}
/// In lanes nothing ends a block: those that took this path are masked.
void LaneBody::emit_unreachable(NodeId id) {
  if (!in_lanes()) Body::emit_unreachable(id);
}

llvm::AllocaInst* LaneBody::lane_home(llvm::Type* type) {
  llvm::AllocaInst* const home =
      Builder(&target_->getEntryBlock(), target_->getEntryBlock().begin()).CreateAlloca(type);
  b_.CreateStore(llvm::Constant::getNullValue(type), home);
  return home;
}

/// Of a node's results, in all lanes.
Parts LaneBody::nothing_in_lanes(NodeId id) {
  Parts none;
  for (NodeId result : source_.results_of(id))
    for (llvm::Type* type : unit_.types_of(source_.type(result)))
      none.push_back(llvm::Constant::getNullValue(llvm::FixedVectorType::get(type, lanes_.width)));
  return none;
}

bool LaneBody::is_used(NodeId value) const {
  return ir::any_within(source_, source_[value].parent,
                        [&](NodeId id) { return std::ranges::count(source_.operands(id), value) > 0; });
}

/// Whether nodes may run only if some lane does, as a uniform address has to be one that an iteration uses;
/// or should, as a loop would run in vain.
bool LaneBody::needs_a_lane(std::span<const NodeId> nodes) const {
  return std::ranges::any_of(nodes, [&](NodeId node) {
    const ir::Op op = source_.op(node);
    if (op == ir::Op::for_ || op == ir::Op::while_) return true;
    if (ir::info(op).effects.any(ir::effect::Read | ir::effect::Write)) return true;
    for (size_t i = 0; i < source_[node].region_count; ++i)
      if (needs_a_lane(source_.region_body(source_.region(node, i)))) return true;
    return false;
  });
}

/// The time of nodes in lanes, in additions.
int LaneBody::cost_of(std::span<const NodeId> nodes) const {
  int all = 0;
  for (NodeId node : nodes) {
    const ir::Op op = source_.op(node);
    if (ir::info(op).elementwise) all += ir::lane_cost_of(op, dtype(source_.operand(node, 0)));
    for (size_t i = 0; i < source_[node].region_count; ++i)
      all += cost_of(source_.region_body(source_.region(node, i)));
  }
  return all;
}

std::vector<LaneBody::LaneLabel*> LaneBody::exits_of(NodeId id) {
  std::vector<LaneLabel*> exits;
  const auto add = [&](NodeId exit) {
    const auto label = std::ranges::find(lane_labels_, source_.operand(exit, 0), &LaneLabel::label);
    if (label != lane_labels_.end() && std::ranges::find(exits, &*label) == exits.end())
      exits.push_back(&*label);
  };
  if (source_.op(id) == ir::Op::exit_) add(id);
  for (size_t i = 0; i < source_[id].region_count; ++i)
    for (NodeId node : source_.region_body(source_.region(id, i)))
      for (LaneLabel* label : exits_of(node))
        if (std::ranges::find(exits, label) == exits.end()) exits.push_back(label);
  return exits;
}

void LaneBody::go_on(Value* mask, std::span<LaneLabel* const> exits) {
  lanes_.mask = mask;
  for (const LaneLabel* label : exits) {
    Value* const left = b_.CreateLoad(label->left->getAllocatedType(), label->left);
    lanes_.mask = b_.CreateAnd(full_mask(), b_.CreateNot(left));
  }
}

/// The remaining nodes of a region. Where lanes have left before some that touch memory, these run only if
/// there are others.
std::optional<Parts> LaneBody::emit_nodes_in_lanes(RegionId region, std::span<const NodeId> nodes) {
  for (size_t i = 0; i < nodes.size(); ++i) {
    Value* const before = lanes_.mask;
    emit_node(nodes[i]);
    const auto rest = nodes.subspan(i + 1);
    if (lanes_.mask == before || !needs_a_lane(rest)) continue;
    Value* const mask = lanes_.mask;
    Block* const from = here();
    Block* const some = new_block("some");
    Join join = new_join("some.end");
    b_.CreateCondBr(b_.CreateOrReduce(mask), some, join.block);
    b_.SetInsertPoint(some);
    const auto given = emit_nodes_in_lanes(region, rest);
    const Parts all = given ? widen(*given) : Parts();
    join.incoming.emplace_back(from, nothing_like(all));
    arrive(join, all);
    Parts merged = close(join, types_of(all));
    lanes_.mask = mask;
    for (NodeId node : rest) go_on(lanes_.mask, exits_of(node));
    return given ? std::optional(merged) : std::nullopt;
  }
  const NodeId last = source_.terminator(region);
  if (source_.op(last) != ir::Op::yield) return std::nullopt;
  return gather(source_.operands(last));
}

/// A region in the lanes of a mask; none if all of them leave.
std::optional<Parts> LaneBody::emit_arm(RegionId region, Value* mask) {
  Value* const around = lanes_.mask;
  lanes_.mask = around == nullptr ? mask : b_.CreateAnd(around, mask);
  Block* const before = here();
  Join join;
  const auto body = source_.region_body(region);
  if (needs_a_lane(body) || cost_of(body) >= kLongArm) {
    Block* const arm = new_block("arm");
    join = new_join("arm.end");
    b_.CreateCondBr(b_.CreateOrReduce(lanes_.mask), arm, join.block);
    b_.SetInsertPoint(arm);
  }
  const auto given = emit_region(region, {});
  Parts all = given ? widen(*given) : Parts();
  lanes_.mask = around;
  if (join.block != nullptr) {
    join.incoming.emplace_back(before, nothing_like(all));
    arrive(join, all);
    all = close(join, types_of(all));
  }
  return given ? std::optional(all) : std::nullopt;
}

void LaneBody::emit_if_in_lanes(NodeId id) {
  Value* const condition = value(source_.operand(id, 0));
  Value* const around = lanes_.mask;
  if (lanes_of(condition) > 0) {
    const auto yes = emit_arm(source_.region(id, 0), condition);
    const auto no = emit_arm(source_.region(id, 1), b_.CreateNot(condition));
    if (yes && no) set(id, scalars_.select(condition, *yes, *no));
    else set(id, yes ? *yes : no ? *no : nothing_in_lanes(id));
    return go_on(around, exits_of(id));
  }
  Block* const yes = new_block("then");
  Block* const no = new_block("else");
  Join join = new_join("end");
  b_.CreateCondBr(condition, yes, no);
  Types types;
  for (const auto& [block, arm] : {std::pair(yes, size_t{0}), std::pair(no, size_t{1})}) {
    b_.SetInsertPoint(block);
    const auto given = emit_region(source_.region(id, arm), {});
    const Parts all = given ? widen(*given) : nothing_in_lanes(id);
    types = types_of(all);
    arrive(join, all);
    lanes_.mask = around;
  }
  set(id, close(join, types));
  go_on(around, exits_of(id));
}

void LaneBody::emit_block_in_lanes(NodeId id) {
  const RegionId body = source_.region(id);
  Value* const around = lanes_.mask;
  LaneLabel opened{source_.region_parameters(body)[0], lane_home(full_mask()->getType()), {}};
  for (Value* part : nothing_in_lanes(id)) opened.home.push_back(lane_home(part->getType()));
  lane_labels_.push_back(opened);
  const auto given = emit_region(body, {});
  lane_labels_.pop_back();
  Parts results;
  for (llvm::AllocaInst* home : opened.home) results.push_back(b_.CreateLoad(home->getAllocatedType(), home));
  if (given)
    results =
        scalars_.select(b_.CreateLoad(opened.left->getAllocatedType(), opened.left), results, widen(*given));
  set(id, std::move(results));
  go_on(around, exits_of(id));
}

void LaneBody::emit_exit_in_lanes(NodeId id) {
  const auto label = std::ranges::find(lane_labels_, source_.operand(id, 0), &LaneLabel::label);
  INGOT_ASSERT(label != lane_labels_.end(), "codegen: an exit in lanes stays in the loop");
  const Parts given = widen(gather(source_.operands(id).subspan(1)));
  for (size_t i = 0; i < given.size(); ++i) {
    llvm::AllocaInst* const home = label->home[i];
    Value* const others = b_.CreateLoad(home->getAllocatedType(), home);
    b_.CreateStore(b_.CreateSelect(full_mask(), given[i], others), home);
  }
  Value* const left = b_.CreateLoad(label->left->getAllocatedType(), label->left);
  b_.CreateStore(b_.CreateOr(left, full_mask()), label->left);
}

void LaneBody::emit_for_in_lanes(NodeId id) {
  const RegionId body = source_.region(id);
  Value* const count = value(source_.operand(id, 0));
  if (lanes_of(count) > 0 || !exits_of(id).empty()) return emit_divergent_for(id);
  const Parts inits = widen(gather(source_.operands(id).subspan(1)));
  set(id, emit_counted(count, inits, poll_of_loop(id),
                       [&](Value* k, const Parts& carried) -> std::optional<Parts> {
                         Parts arguments{k};
                         arguments.append(carried);
                         const auto given = emit_region(body, arguments);
                         INGOT_ASSERT(given.has_value(), "codegen: an iteration in lanes comes to its end");
                         return widen(*given);
                       }));
}

/// A counted loop that lanes leave after different iterations. The iteration's number is uniform: lanes that
/// run are in the same iteration. Lanes that have ended keep the loop's results.
void LaneBody::emit_divergent_for(NodeId id) {
  const RegionId body = source_.region(id);
  const Poll poll = poll_of({&body, 1});
  Value* const count = value(source_.operand(id, 0));
  const bool varies = lanes_of(count) > 0;
  Value* const around = lanes_.mask;
  const Parts inits = widen(gather(source_.operands(id).subspan(1)));
  Value* const some = b_.CreateICmpSGT(count, llvm::Constant::getNullValue(count->getType()));
  Value* const live = varies ? b_.CreateAnd(full_mask(), some) : full_mask();
  Join done = new_join("done");
  Block* const iteration = new_block("iteration");
  Block* const before = here();
  done.incoming.emplace_back(before, inits);
  Parts start{b_.getInt64(0), live};
  start.append(inits);
  b_.CreateCondBr(varies ? b_.CreateOrReduce(live) : some, iteration, done.block);
  b_.SetInsertPoint(iteration);
  const Parts all = phis(types_of(start), 2);
  for (size_t i = 0; i < all.size(); ++i) llvm::cast<llvm::PHINode>(all[i])->addIncoming(start[i], before);
  const Parts carried(all.begin() + 2, all.end());
  Value* const running = all[1];
  lanes_.mask = running;
  Parts arguments{all[0]};
  arguments.append(carried);
  const auto given = emit_region(body, arguments);
  if (!given) {
    arrive(done, carried);
  } else {
    Parts next = widen(*given);
    if (varies) next = scalars_.select(running, next, carried);
    emit_poll_every(all[0], poll_mask(poll == Poll::Strip, poll == Poll::Sometimes));
    Value* const k = b_.CreateAdd(all[0], b_.getInt64(1), "", true, true);
    Value* const more = b_.CreateICmpSLT(varies ? widen(k) : k, count);
    Value* const left = varies ? b_.CreateAnd(full_mask(), more) : full_mask();
    Parts incoming{k, left};
    incoming.append(next);
    add_incoming(all, incoming);
    Value* const any = b_.CreateOrReduce(left);
    done.incoming.emplace_back(here(), next);
    b_.CreateCondBr(varies ? any : b_.CreateAnd(any, more), iteration, done.block);
  }
  set(id, close(done, types_of(inits)));
  go_on(around, exits_of(id));
}

/// Goes on until no lane is live. A result is the value of the head when its lane ended: it is kept there
/// where it is a carried value, else in a slot.
void LaneBody::emit_while_in_lanes(NodeId id) {
  const RegionId regions[] = {source_.region(id, 0), source_.region(id, 1)};
  const Poll poll = poll_of(regions);
  Value* const around = lanes_.mask;
  Parts start{b_.getInt64(0), full_mask()};
  start.append(widen(gather(source_.operands(id))));
  const std::vector<NodeId> results = source_.results_of(id);
  std::vector<bool> is_result;
  for (NodeId result : results)
    is_result.insert(is_result.end(), unit_.part_count(source_.type(result)), is_used(result));
  Parts homes;
  for (Value* part : nothing_in_lanes(id)) homes.push_back(lane_home(part->getType()));

  Block* const test = new_block("while");
  Block* const iteration = new_block("iteration");
  Block* const done = new_block("end");
  Block* const before = here();
  b_.CreateBr(test);
  b_.SetInsertPoint(test);
  const Parts all = phis(types_of(start), 2);
  for (size_t i = 0; i < all.size(); ++i) llvm::cast<llvm::PHINode>(all[i])->addIncoming(start[i], before);
  const Parts carried(all.begin() + 2, all.end());
  lanes_.mask = all[1];
  const auto tested = emit_region(regions[0], carried);
  INGOT_ASSERT(tested.has_value(), "codegen: the head of a loop in lanes comes to its end");
  const Parts values = widen(Parts(tested->begin() + 1, tested->end()));
  std::vector<bool> is_held(carried.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (!is_result[i]) continue;
    const auto same = std::ranges::find(carried, values[i]);
    if (same != carried.end()) {
      is_held[static_cast<size_t>(same - carried.begin())] = true;
      continue;
    }
    Value* const ended = b_.CreateLoad(values[i]->getType(), homes[i]);
    b_.CreateStore(b_.CreateSelect(lanes_.mask, values[i], ended), homes[i]);
  }
  Value* const live = b_.CreateAnd(lanes_.mask, widen((*tested)[0]));
  b_.CreateCondBr(b_.CreateOrReduce(live), iteration, done);
  b_.SetInsertPoint(iteration);
  lanes_.mask = live;
  if (const auto given = emit_region(regions[1], values)) {
    emit_poll_every(all[0], poll_mask(poll == Poll::Strip, poll == Poll::Sometimes));
    Parts incoming{b_.CreateAdd(all[0], b_.getInt64(1)), lanes_.mask};
    const Parts next = widen(*given);
    for (size_t i = 0; i < next.size(); ++i)
      incoming.push_back(is_held[i] ? b_.CreateSelect(live, next[i], carried[i]) : next[i]);
    add_incoming(all, incoming);
    b_.CreateBr(test);
  } else {
    b_.CreateBr(done);
  }
  b_.SetInsertPoint(done);
  Parts given = values;
  for (size_t i = 0; i < values.size(); ++i)
    if (is_result[i] && std::ranges::find(carried, values[i]) == carried.end())
      given[i] = b_.CreateLoad(values[i]->getType(), homes[i]);
  set(id, std::move(given));
  go_on(around, exits_of(id));
}

}  // namespace ingot::codegen
