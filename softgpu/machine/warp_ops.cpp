#include <algorithm>

#include "softgpu/machine/access.h"

// Operations of warps, and control.

namespace softgpu::handlers {

namespace {

constexpr uint32_t kNobody = 0xA5A5A5A5;  // the value of a thread that does not take part

/// The threads that execute an instruction together; none: later. The mask operand is at `slot`.
Mask together(Warp& w, const Instruction& i, Mask m, Slot slot, bool anywhere = false) {
  Mask needed = 0;
  each_lane(m, [&](uint32_t l) {
    const Mask named = w.get<uint32_t>(slot)[l];
    if (((named >> l) & 1) == 0)
      w.fault(FaultKind::Instruction, "a thread that its own mask does not name", i, l);
    needed |= named;
  });
  return w.gather(i, m, needed, anywhere);
}

void set_bit(Warp& w, Slot slot, uint32_t lane, bool value) {
  Mask* const d = w.at<Mask>(slot);
  *d = (*d & ~(Mask{1} << lane)) | (static_cast<Mask>(value) << lane);
}

}  // namespace

void shuffle(Warp& w, const Instruction& i, Mask m) {
  const auto mask_slot = static_cast<Slot>(i.offset);
  const Mask all = together(w, i, m, mask_slot);
  if (all == 0) return;
  uint32_t given[kLanes];
  for (uint32_t l = 0; l < kLanes; ++l) given[l] = ((all >> l) & 1) != 0 ? w.get<uint32_t>(i.a)[l] : kNobody;
  each_lane(all, [&](uint32_t l) {
    const uint32_t by = w.get<uint32_t>(i.b)[l] & 31;
    const uint32_t c = w.get<uint32_t>(i.c)[l];
    const uint32_t segment = (c >> 8) & 31;
    const uint32_t last = (l & segment) | (c & 31 & ~segment);
    const uint32_t first = l & segment;
    uint32_t from = l;
    bool is_in = false;
    switch (i.target) {
      case 0:
        from = l - by;
        is_in = static_cast<int32_t>(from) >= static_cast<int32_t>(last);
        break;
      case 1:
        from = l + by;
        is_in = from <= last;
        break;
      case 2:
        from = l ^ by;
        is_in = from <= last;
        break;
      default:
        from = first | (by & ~segment);
        is_in = from <= last;
        break;
    }
    if (!is_in) from = l;
    w.at<uint32_t>(i.d)[l] = given[from];
    if (i.e != kNoSlot) set_bit(w, i.e, l, is_in);
  });
}

void vote(Warp& w, const Instruction& i, Mask m) {
  const Mask all = together(w, i, m, i.b);
  if (all == 0) return;
  const Mask votes = (*w.get<Mask>(i.a) ^ ((i.flags & 1) != 0 ? kAll : 0)) & all;
  each_lane(all, [&](uint32_t l) {
    const Mask named = w.get<uint32_t>(i.b)[l] & all;
    const Mask yes = votes & named;
    switch (i.target) {
      case 0: set_bit(w, i.d, l, yes == named); break;
      case 1: set_bit(w, i.d, l, yes != 0); break;
      case 2: set_bit(w, i.d, l, yes == named || yes == 0); break;
      default: w.at<uint32_t>(i.d)[l] = yes; break;
    }
  });
}

void match(Warp& w, const Instruction& i, Mask m) {
  const Mask all = together(w, i, m, i.b);
  if (all == 0) return;
  const auto value = [&](uint32_t l) {
    return i.lanes == 8 ? w.get<uint64_t>(i.a)[l] : w.get<uint32_t>(i.a)[l];
  };
  uint32_t results[kLanes] = {};
  each_lane(all, [&](uint32_t l) {
    const Mask named = w.get<uint32_t>(i.b)[l] & all;
    Mask same = 0;
    each_lane(named, [&](uint32_t other) { same |= static_cast<Mask>(value(other) == value(l)) << other; });
    if (i.target == 1) {
      const bool is_all = same == named;
      if (i.e != kNoSlot) set_bit(w, i.e, l, is_all);
      same = is_all ? named : 0;
    }
    results[l] = same;
  });
  each_lane(all, [&](uint32_t l) { w.at<uint32_t>(i.d)[l] = results[l]; });
}

void reduce(Warp& w, const Instruction& i, Mask m) {
  const Mask all = together(w, i, m, i.b);
  if (all == 0) return;
  const bool is_signed = (i.flags & 1) != 0;
  uint32_t results[kLanes] = {};
  each_lane(all, [&](uint32_t l) {
    bool is_first = true;
    uint32_t result = 0;
    each_lane(w.get<uint32_t>(i.b)[l] & all, [&](uint32_t other) {
      const uint32_t a = w.get<uint32_t>(i.a)[other];
      const bool is_less = is_signed ? static_cast<int32_t>(a) < static_cast<int32_t>(result) : a < result;
      switch (is_first ? 6 : i.target) {
        case 0: result += a; break;
        case 1: result = is_less ? a : result; break;
        case 2: result = is_less ? result : a; break;
        case 3: result &= a; break;
        case 4: result |= a; break;
        case 5: result ^= a; break;
        default: result = a; break;
      }
      is_first = false;
    });
    results[l] = result;
  });
  each_lane(all, [&](uint32_t l) { w.at<uint32_t>(i.d)[l] = results[l]; });
}

void active_mask(Warp& w, const Instruction& i, Mask m) {
  each_lane(m, [&](uint32_t l) { w.at<uint32_t>(i.d)[l] = m; });
}

void elect(Warp& w, const Instruction& i, Mask m) {
  const Mask all = together(w, i, m, i.a);
  if (all == 0) return;
  each_lane(all, [&](uint32_t l) {
    const auto leader = static_cast<uint32_t>(std::countr_zero(w.get<uint32_t>(i.a)[l] & all));
    if (i.d != kNoSlot) w.at<uint32_t>(i.d)[l] = leader;
    if (i.e != kNoSlot) set_bit(w, i.e, l, l == leader);
  });
}

void warp_barrier(Warp& w, const Instruction& i, Mask m) { together(w, i, m, i.a, true); }

namespace {

struct Asked {
  uint32_t number;
  uint32_t threads;
};

Asked barrier_operands(Warp& w, const Instruction& i, Mask m) {
  const auto lane = static_cast<uint32_t>(std::countr_zero(m));
  Asked asked{w.get<uint32_t>(i.a)[lane], i.b == kNoSlot ? 0 : w.get<uint32_t>(i.b)[lane]};
  if (asked.number >= w.block.barriers.size())
    w.fault(FaultKind::Instruction, "a barrier of a number above 15", i, lane);
  if (i.b != kNoSlot && (asked.threads == 0 || asked.threads % kLanes != 0))
    w.fault(FaultKind::Instruction, "a barrier for " + std::to_string(asked.threads) + " threads", i, lane);
  return asked;
}

}  // namespace

void barrier(Warp& w, const Instruction& i, Mask m) {
  const Asked asked = barrier_operands(w, i, m);
  w.barrier(i, m, asked.number, asked.threads, {});
}

void barrier_arrive(Warp& w, const Instruction& i, Mask m) {
  const Asked asked = barrier_operands(w, i, m);
  w.arrive(asked.number, asked.threads, m, {});
}

void barrier_reduce(Warp& w, const Instruction& i, Mask m) {
  const Asked asked = barrier_operands(w, i, m);
  const Mask votes = (*w.get<Mask>(i.c) ^ ((i.flags & flag::kOfFrame) != 0 ? kAll : 0)) & m;
  if (!w.barrier(i, m, asked.number, asked.threads,
                 {static_cast<uint32_t>(std::popcount(votes)), votes == m, votes != 0}))
    return;
  const Reduction& result = w.block.barriers[asked.number].result;
  each_lane(m, [&](uint32_t l) {
    if (i.target == 0) w.at<uint32_t>(i.d)[l] = result.count;
    else set_bit(w, i.d, l, i.target == 1 ? result.all : result.any);
  });
}

void fence(Warp& w, const Instruction&, Mask) { w.fence(); }

void nothing(Warp&, const Instruction&, Mask) {}

void pause(Warp& w, const Instruction&, Mask) { w.yield(); }

void jump(Warp& w, const Instruction& i, Mask) { w.pc = i.target; }

void branch(Warp& w, const Instruction& i, Mask m) { w.branch(m, i.target, i.join); }

void branch_indexed(Warp& w, const Instruction& i, Mask m) {
  const auto lane = static_cast<uint32_t>(std::countr_zero(m));
  const std::vector<Slot>& targets = w.frame->function->lists[i.target];
  const uint32_t index = w.get<uint32_t>(i.a)[lane];
  if (index >= targets.size())
    w.fault(FaultKind::Instruction, "a branch by an index that has no target", i, lane);
  Mask others = 0;
  each_lane(m, [&](uint32_t l) { others |= static_cast<Mask>(w.get<uint32_t>(i.a)[l] != index) << l; });
  if (others != 0) w.split(others, w.pc - 1, i.join);
  w.pc = static_cast<uint32_t>(targets[index]);
}

void rejoin(Warp& w, const Instruction&, Mask) { w.rejoin(); }

void call(Warp& w, const Instruction& i, Mask m) {
  const CallSite& site = w.frame->function->calls[i.target];
  w.call(site, site.callee, m);
}

void call_indirect(Warp& w, const Instruction& i, Mask m) {
  const auto lane = static_cast<uint32_t>(std::countr_zero(m));
  const uint64_t address = w.get<uint64_t>(i.a)[lane];
  Mask same = 0;
  each_lane(m, [&](uint32_t l) { same |= static_cast<Mask>(w.get<uint64_t>(i.a)[l] == address) << l; });
  const uint64_t callee = address - kFunctionWindow;
  if (callee >= w.launch.program.functions.size())
    w.fault(FaultKind::Instruction, "a call of an address that is no function's", i, lane);
  if (same != w.mask) w.split(w.mask & ~same, w.pc - 1, w.pc);
  w.call(w.frame->function->calls[i.target], static_cast<uint32_t>(callee), same);
}

void give_back(Warp& w, const Instruction&, Mask m) { w.return_threads(m); }

void exit(Warp& w, const Instruction&, Mask m) { w.exit_threads(m); }

void trap(Warp& w, const Instruction& i, Mask m) {
  w.fault(FaultKind::Trap, "the kernel stopped itself by " + std::string(i.offset != 0 ? "brkpt" : "trap"), i,
          static_cast<uint32_t>(std::countr_zero(m)));
}

}  // namespace softgpu::handlers
