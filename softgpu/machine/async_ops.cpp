#include <algorithm>

#include "softgpu/machine/access.h"

// Asynchronous copies, and barriers that are objects of shared memory.

namespace softgpu::handlers {

namespace {

/// Does the copies of these threads that are of a group before `end[lane]`.
void finish_copies(Warp& w, const Instruction& i, Mask m, const std::array<uint32_t, kLanes>& end) {
  ++w.launch.progress;
  std::erase_if(w.pending, [&](const Warp::PendingCopy& copy) {
    if (((m >> copy.lane) & 1) == 0 || copy.group >= end[copy.lane]) return false;
    std::byte* const to = w.shared(i, copy.to, copy.bytes, copy.lane, Access::Write);
    if (copy.given != 0)
      std::memcpy(to, w.generic(i, copy.from, copy.bytes, copy.lane, Access::Read), copy.given);
    std::memset(to + copy.given, 0, copy.bytes - copy.given);
    return true;
  });
}

}  // namespace

void copy_begin(Warp& w, const Instruction& i, Mask m) {
  const auto bytes = static_cast<uint32_t>(i.offset);
  each_lane(m, [&](uint32_t l) {
    uint32_t given = bytes;
    if (i.c != kNoSlot) given = std::min(w.get<uint32_t>(i.c)[l], bytes);
    if (i.e != kNoSlot && ((*w.get<Mask>(i.e) >> l) & 1) != 0) given = 0;
    const uint64_t to = w.get<uint64_t>(i.a)[l];
    const uint64_t from = w.get<uint64_t>(i.b)[l];
    // What is wrong with the addresses is reported here.
    if (to % bytes != 0 || to + bytes > w.block.shared.size()) w.shared(i, to, bytes, l, Access::Write);
    if (given != 0) w.generic(i, from, bytes, l, Access::Read);
    w.pending.push_back({to, from, bytes, given, l, w.committed[l]});
  });
}

void copy_commit(Warp& w, const Instruction&, Mask m) {
  each_lane(m, [&](uint32_t l) { ++w.committed[l]; });
}

void copy_wait(Warp& w, const Instruction& i, Mask m) {
  std::array<uint32_t, kLanes> end{};
  const auto stay = static_cast<uint32_t>(i.offset);
  for (uint32_t l = 0; l < kLanes; ++l)
    end[l] = i.flags != 0 ? UINT32_MAX : w.committed[l] - std::min(stay, w.committed[l]);
  finish_copies(w, i, m, end);
}

namespace {

/// An mbarrier's 64 bits. They are opaque to programs.
struct Object {
  uint32_t phase;     ///< its parity
  uint32_t expected;  ///< arrivals of a phase
  uint32_t pending;   ///< arrivals until the phase ends
  int32_t bytes;      ///< that copies still have to bring
};

constexpr uint32_t kMostArrivals = (1 << 20) - 1;
constexpr int32_t kMiddle = 1 << 21;  ///< of the bytes

uint64_t coded(const Object& object) {
  return uint64_t{1} << 63 | uint64_t{object.phase & 1} << 62 | uint64_t{object.expected} << 42 |
         uint64_t{object.pending} << 22 | static_cast<uint32_t>(object.bytes + kMiddle);
}

Object of(uint64_t code) {
  return {static_cast<uint32_t>(code >> 62) & 1, static_cast<uint32_t>(code >> 42) & kMostArrivals,
          static_cast<uint32_t>(code >> 22) & kMostArrivals,
          static_cast<int32_t>(code & ((1 << 22) - 1)) - kMiddle};
}

void end_phase(Object& object) {
  if (object.pending != 0 || object.bytes != 0) return;
  object.phase ^= 1;
  object.pending = object.expected;
}

/// One thread's op on one barrier.
class Step {
 public:
  Step(Warp& w, const Instruction& i, uint32_t lane) : w_(w), i_(i), lane_(lane) {
    const uint64_t address = w.get<uint64_t>(i.a)[lane];
    at_ = i.lanes == 1 ? w.shared(i, address, 8, lane, Access::Atomic)
                       : w.generic(i, address, 8, lane, Access::Atomic);
    std::memcpy(&code_, at_, 8);
  }

  void init() {
    const uint32_t count = operand();
    if (count == 0 || count > kMostArrivals) fail("an mbarrier for " + std::to_string(count) + " arrivals");
    put({0, count, count, 0});
  }

  void invalidate() {
    read();
    code_ = 0;
    std::memcpy(at_, &code_, 8);
  }

  uint64_t arrive(uint32_t count, bool drops) {
    Object object = read();
    const uint64_t before = code_;
    if (count == 0 || count > object.pending) fail("more arrivals than the mbarrier waits for");
    if (drops) object.expected -= std::min(object.expected, count);
    object.pending -= count;
    end_phase(object);
    put(object);
    return before;
  }

  void add_bytes(int64_t bytes) {
    Object object = read();
    bytes += object.bytes;
    if (bytes <= -kMiddle || bytes >= kMiddle) fail("too many bytes for an mbarrier");
    object.bytes = static_cast<int32_t>(bytes);
    end_phase(object);
    put(object);
  }

  /// Whether the phase of this parity has ended.
  bool is_over(uint32_t parity) { return read().phase != (parity & 1); }

  uint32_t operand() const { return i_.b == kNoSlot ? 1 : w_.get<uint32_t>(i_.b)[lane_]; }

 private:
  Warp& w_;
  const Instruction& i_;
  uint32_t lane_;
  std::byte* at_;
  uint64_t code_ = 0;

  [[noreturn]] void fail(const std::string& what) const { w_.fault(FaultKind::Instruction, what, i_, lane_); }

  Object read() const {
    if (code_ >> 63 == 0) fail("no mbarrier: what is there was not initialised");
    return of(code_);
  }
  void put(const Object& object) {
    code_ = coded(object);
    std::memcpy(at_, &code_, 8);
  }
};

void put_bit(Warp& w, Slot slot, uint32_t lane, bool value) {
  Mask* const d = w.at<Mask>(slot);
  *d = (*d & ~(Mask{1} << lane)) | (static_cast<Mask>(value) << lane);
}

bool waits(Warp& w, const Instruction& i, uint32_t l, BarrierOp op) {
  Step step(w, i, l);
  const bool has_state = op == BarrierOp::TestState || op == BarrierOp::TryState;
  const uint32_t parity = has_state ? of(w.get<uint64_t>(i.b)[l]).phase : w.get<uint32_t>(i.b)[l];
  const bool is_over = step.is_over(parity);
  put_bit(w, i.d, l, is_over);
  return !is_over && (op == BarrierOp::TryState || op == BarrierOp::TryParity);
}

void arrive(Warp& w, const Instruction& i, uint32_t l, BarrierOp op) {
  Step step(w, i, l);
  uint32_t count = 1;
  if (op == BarrierOp::ArriveExpect) step.add_bytes(static_cast<int32_t>(step.operand()));
  else if (op != BarrierOp::CopyArrive) count = step.operand();
  const uint64_t state = step.arrive(count, op == BarrierOp::ArriveDrop);
  if (i.d != kNoSlot) w.at<uint64_t>(i.d)[l] = state;
}

}  // namespace

void barrier_object(Warp& w, const Instruction& i, Mask m) {
  const auto op = static_cast<BarrierOp>(i.offset);
  if (op == BarrierOp::PendingCount) {
    each_lane(m, [&](uint32_t l) { w.at<uint32_t>(i.d)[l] = of(w.get<uint64_t>(i.a)[l]).pending; });
    return;
  }
  if (op == BarrierOp::CopyArrive || op == BarrierOp::CopyFinish) {
    std::array<uint32_t, kLanes> end{};
    end.fill(UINT32_MAX);
    finish_copies(w, i, m, end);
    w.fence();
    if (op == BarrierOp::CopyFinish) return;
  }
  bool has_to_wait = false;
  if (op < BarrierOp::TestState || op > BarrierOp::TryParity) ++w.launch.progress;
  else if (m != 0) w.poll(i, address_at(w, i, i.a, first_of(m)), first_of(m));
  each_lane(m, [&](uint32_t l) {
    switch (op) {
      case BarrierOp::Init: Step(w, i, l).init(); break;
      case BarrierOp::Invalidate: Step(w, i, l).invalidate(); break;
      case BarrierOp::Expect:
      case BarrierOp::Complete: {
        Step step(w, i, l);
        const int64_t bytes = static_cast<int32_t>(step.operand());
        step.add_bytes(op == BarrierOp::Expect ? bytes : -bytes);
        break;
      }
      case BarrierOp::TestState:
      case BarrierOp::TestParity:
      case BarrierOp::TryState:
      case BarrierOp::TryParity: has_to_wait |= waits(w, i, l, op); break;
      default: arrive(w, i, l, op); break;
    }
  });
  w.fence();
  if (has_to_wait) w.yield();
}

void stack_allocate(Warp& w, const Instruction& i, Mask m) {
  const auto lane = static_cast<uint32_t>(std::countr_zero(m));
  uint64_t most = 0;
  each_lane(m, [&](uint32_t l) { most = std::max(most, w.get<uint64_t>(i.a)[l]); });
  const uint64_t start = w.allocate_local(i, most, static_cast<uint32_t>(i.offset), lane);
  each_lane(m, [&](uint32_t l) { w.at<uint64_t>(i.d)[l] = start; });
}

void stack_save(Warp& w, const Instruction& i, Mask m) {
  each_lane(m, [&](uint32_t l) { w.at<uint64_t>(i.d)[l] = w.frame->dynamic; });
}

/// Threads that are elsewhere in the function may use later allocations; then it stays until the function
/// ends.
void stack_restore(Warp& w, const Instruction& i, Mask m) {
  uint64_t most = 0;
  each_lane(m, [&](uint32_t l) { most = std::max(most, w.get<uint64_t>(i.a)[l]); });
  if (m == w.alive) w.frame->dynamic = std::min(w.frame->dynamic, static_cast<uint32_t>(most));
}

}  // namespace softgpu::handlers
