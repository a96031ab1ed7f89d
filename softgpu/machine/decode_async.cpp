#include <algorithm>
#include <bit>

#include "softgpu/machine/decode.h"

// Asynchronous copies, barriers that are objects, the stack, atomics of vectors.

namespace softgpu {

Slot FunctionDecoder::address_value(const ptx::Operand& operand) {
  if (operand.kind != ptx::Operand::Address) fail("an address is missing");
  const Register* const base = operand.name.empty() ? nullptr : find_register(operand.name);
  if (base == nullptr) {
    uint64_t at = operand.integer;
    if (!operand.name.empty()) {
      const std::optional<Storage> storage = find_variable(operand.name);
      if (!storage || storage->space == ptx::Space::Local || storage->space == ptx::Space::Param)
        fail("`" + std::string(operand.name) + "` is no variable of shared or global memory,");
      at += storage->at;
    }
    return constant(at, 8);
  }
  if (base->width == 8 && operand.integer == 0) return base->slot;
  if (base->width != 4 && base->width != 8) fail("the width of an address");
  const Plan plan = base->width == 8
                        ? plan2<uint64_t, uint64_t, uint64_t>([](uint64_t a, uint64_t b) { return a + b; })
                        : plan2<uint64_t, uint32_t, uint64_t>([](uint32_t a, uint64_t b) {
                            return static_cast<uint64_t>(static_cast<uint32_t>(a + b));
                          });
  Instruction i = begin(plan.run);
  i.d = new_register(8).slot;
  i.a = base->slot;
  i.b = constant(operand.integer, 8);
  add(i);
  return i.d;
}

uint32_t FunctionDecoder::add_list(const ptx::Operand& operand, uint8_t width, bool is_result) {
  std::vector<Slot> slots;
  const auto one = [&](const ptx::Operand& which) {
    slots.push_back(is_result ? result(which, width) : value(which, width));
  };
  if (operand.kind == ptx::Operand::Vector) {
    for (const ptx::Operand& which : operand.list) one(which);
  } else {
    one(operand);
  }
  into_.lists.push_back(std::move(slots));
  return static_cast<uint32_t>(into_.lists.size() - 1);
}

bool FunctionDecoder::decode_async() {
  if (now_->parts[0] == "mbarrier") return decode_barrier_object();
  if (now_->parts[0] != "cp" || now_->parts.size() < 3 || now_->parts[1] != "async") return false;
  if (now_->has("bulk") || now_->has("reduce")) unknown();
  if (now_->has("mbarrier")) {
    Instruction i = begin(handlers::barrier_object);
    // Without .noinc the arrivals raise the count at once: no net change.
    i.offset = static_cast<int64_t>(now_->has("noinc") ? BarrierOp::CopyArrive : BarrierOp::CopyFinish);
    i.lanes = space() == ptx::Space::Shared ? 1 : 0;
    i.a = address_value(operand(0));
    add(i);
    return true;
  }
  if (now_->has("commit_group")) {
    add(begin(handlers::copy_commit));
    return true;
  }
  if (now_->has("wait_group") || now_->has("wait_all")) {
    Instruction i = begin(handlers::copy_wait);
    i.flags = now_->has("wait_all") ? 1 : 0;
    if (i.flags == 0) i.offset = static_cast<int64_t>(operand(0).integer);
    add(i);
    return true;
  }
  Instruction i = begin(handlers::copy_begin);
  if (!now_->has("ca") && !now_->has("cg")) unknown();
  i.a = address_value(operand(0));
  i.b = address_value(operand(1));
  if (operand(2).kind != ptx::Operand::Integer) fail("a size that is no number");
  i.offset = static_cast<int64_t>(operand(2).integer);
  if (i.offset != 4 && i.offset != 8 && i.offset != 16) fail("a size of " + std::to_string(i.offset));
  const size_t given = operands() - (now_->has("L2::cache_hint") ? 1 : 0);
  if (given == 4) {
    const bool is_predicate = width_of_operand(operand(3), 4) == kPredicate;
    if (is_predicate) i.e = value(operand(3), kPredicate);
    else i.c = value(operand(3), 4);
  }
  add(i);
  return true;
}

bool FunctionDecoder::decode_barrier_object() {
  static constexpr struct {
    std::string_view word;
    BarrierOp op;
    uint8_t width;  ///< of b; 0: there is none
  } kOps[] = {{"init", BarrierOp::Init, 4},
              {"inval", BarrierOp::Invalidate, 0},
              {"arrive", BarrierOp::Arrive, 4},
              {"arrive_drop", BarrierOp::ArriveDrop, 4},
              {"expect_tx", BarrierOp::Expect, 4},
              {"complete_tx", BarrierOp::Complete, 4},
              {"test_wait", BarrierOp::TestState, 8},
              {"try_wait", BarrierOp::TryState, 8},
              {"pending_count", BarrierOp::PendingCount, 0}};
  const auto* const known =
      std::ranges::find_if(kOps, [&](const auto& op) { return op.word == now_->parts[1]; });
  if (known == std::end(kOps)) unknown();
  BarrierOp op = known->op;
  uint8_t width = known->width;
  if (op == BarrierOp::Arrive && now_->has("expect_tx")) op = BarrierOp::ArriveExpect;
  if (now_->has("noComplete") && op != BarrierOp::Arrive && op != BarrierOp::ArriveDrop) unknown();
  if (now_->has("parity")) {
    op = op == BarrierOp::TestState ? BarrierOp::TestParity : BarrierOp::TryParity;
    width = 4;
  }
  Instruction i = begin(handlers::barrier_object);
  i.offset = static_cast<int64_t>(op);
  const bool gives = operand(0).kind != ptx::Operand::Address;
  if (op == BarrierOp::PendingCount) {
    i.d = result(operand(0), 4);
    i.a = value(operand(1), 8);
    add(i);
    return true;
  }
  const size_t first = gives ? 1 : 0;
  i.lanes = space() == ptx::Space::Shared ? 1 : 0;
  i.a = address_value(operand(first));
  const bool is_test = op >= BarrierOp::TestState && op <= BarrierOp::TryParity;
  if (gives) i.d = result(operand(0), is_test ? kPredicate : 8);
  if (width != 0 && operands() > first + 1) i.b = value(operand(first + 1), width);
  if (is_test && (i.b == kNoSlot || i.d == kNoSlot)) fail("the number of operands");
  add(i);
  return true;
}

bool FunctionDecoder::decode_stack() {
  const std::string_view name = now_->parts[0];
  if (name == "alloca") {
    Instruction i = begin(handlers::stack_allocate);
    i.d = result(operand(0), 8);
    i.a = value(operand(1), 8);
    i.offset = operands() > 2 ? static_cast<int64_t>(operand(2).integer) : 8;
    if (!std::has_single_bit(static_cast<uint64_t>(i.offset)) || i.offset > ptx::most::kAlignment)
      fail("an alignment of " + std::to_string(i.offset));
    add(i);
  } else if (name == "stacksave") {
    Instruction i = begin(handlers::stack_save);
    i.d = result(operand(0), 8);
    add(i);
  } else if (name == "stackrestore") {
    Instruction i = begin(handlers::stack_restore);
    i.a = value(operand(0), 8);
    add(i);
  } else {
    return false;
  }
  return true;
}

void FunctionDecoder::decode_vector_atomic(bool gives, std::string_view op) {
  const ptx::Type type = last_type();
  const size_t first = gives ? 1 : 0;
  if (space() != ptx::Space::Global && space() != ptx::Space::Generic) unknown();
  Instruction i = begin(vector_atomic_handler(op, type, gives));
  if (i.run == nullptr) unknown();
  const auto width = static_cast<uint8_t>(type.bytes());
  i.a = address_value(operand(first));
  i.lanes = static_cast<uint8_t>(vector_lanes());
  i.target = gives ? add_list(operand(0), width, true) : static_cast<uint32_t>(into_.lists.size());
  const uint32_t given = add_list(operand(first + 1), width, false);
  if (into_.lists[given].size() != i.lanes || (gives && into_.lists[i.target].size() != i.lanes))
    fail("a vector of other length");
  put_order(i);
  add(i);
}

}  // namespace softgpu
