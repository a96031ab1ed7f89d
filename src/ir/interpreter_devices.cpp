#include <algorithm>
#include <array>

#include "base/abi.h"
#include "ir/interpreter_machine.h"
#include "ir/uniformity.h"
#include "ir/walk.h"

// Launches. Each thread of a block is a strand of its own; they go in random order from one collective - a
// barrier, a vote, a shuffle - to the next. Blocks run one after the other, unless the launch has barriers
// for all of them: then they go on together.

namespace ingot::ir {

namespace {

constexpr int64_t kMaxThreads = 1 << 16;
constexpr int64_t kMaxBlocks = 1 << 24;
constexpr uint32_t kAllLanes = 0xffffffff;

using Extent3 = std::array<int64_t, 3>;
using Strands = std::span<const std::unique_ptr<Strand>>;

Extent3 unravel(int64_t linear, const Extent3& extent) {
  return {linear % extent[0], linear / extent[0] % extent[1], linear / extent[0] / extent[1]};
}

/// The number of a thread in the order of the last axis of the whole launch first.
int64_t number_of_thread(const Extent3& block, const Extent3& thread, const Extent3& grid,
                         const Extent3& threads) {
  int64_t number = 0;
  for (size_t i = 3; i-- > 0;) number = number * grid[i] * threads[i] + block[i] * threads[i] + thread[i];
  return number;
}

/// Which of the threads that have raised comes first, as `entry::KernelError` has it.
uint64_t order_of(const Strand& failed) {
  const bool follows = failed.raised && base::follows_others(failed.raised->kind);
  return static_cast<uint64_t>(failed.number) | (follows ? entry::KernelError::kFollowing : 0);
}

/// The node that a strand waits at, as a step of it.
Step at_collective(Machine& machine, Strand& strand) {
  return {machine, strand, *strand.frames.back().activation, strand.collective};
}

const Function& function_of(const Strand& strand) { return *strand.frames.back().activation->function; }

bool waits(const Strand& strand, Scope scope) {
  return strand.state == Strand::State::Waiting && strand.scope == scope;
}

/// Whether two strands wait at the same node.
bool wait_together(const Strand& a, const Strand& b) {
  return a.collective == b.collective && &function_of(a) == &function_of(b);
}

/// Whether two strands wait at equal collectives, at any node.
bool is_same_question(const Strand& a, const Strand& b) {
  const Function& f = function_of(a);
  const Function& g = function_of(b);
  if (f.op(a.collective) != g.op(b.collective) || a.mask != b.mask) return false;
  if (!std::ranges::equal(f.attributes(a.collective), g.attributes(b.collective))) return false;
  const bool has_value = f.op(a.collective) == Op::match || f.op(a.collective) == Op::shuffle;
  return !has_value || f.type(f.operand(a.collective, 1)) == g.type(g.operand(b.collective, 1));
}

/// A collective that all its threads have reached: computes the value of each.
class Collective {
 public:
  /// `there`: by lane of a warp, or the threads of a block; null: not in it.
  Collective(Machine& machine, std::vector<Strand*> there) : machine_(machine), there_(std::move(there)) {}

  /// Gives the values, and lets all go on.
  void end() {
    each([&](Strand& strand) {
      const Step step = at_collective(machine_, strand);
      switch (step.op()) {
        case Op::vote: return answer(step);
        case Op::match: return step.give_number(agreeing(step));
        case Op::shuffle: return step.give(shuffled(step));
        case Op::active: return step.give_number(lanes());
        default: return;
      }
    });
    each([](Strand& strand) { strand.state = Strand::State::Running; });
  }

 private:
  template <class Fn>
  void each(Fn&& fn) const {
    for (Strand* strand : there_)
      if (strand != nullptr) fn(*strand);
  }

  /// The lanes that are here.
  uint32_t lanes() const {
    uint32_t mask = 0;
    each([&](const Strand& strand) { mask |= uint32_t{1} << strand.lane(); });
    return mask;
  }

  void answer(const Step& step) const {
    uint32_t holds = 0;
    int32_t count = 0;
    int32_t all = 0;
    each([&](Strand& strand) {
      const Step other = at_collective(machine_, strand);
      const bool is_true = other.truth(other.count() - 1);
      if (is_true) holds |= uint32_t{1} << strand.lane();
      count += is_true;
      ++all;
    });
    switch (static_cast<Question>(step.attribute(0))) {
      case Question::All: return step.give_number(count == all);
      case Question::Any: return step.give_number(count > 0);
      case Question::Equal: return step.give_number(count == 0 || count == all);
      case Question::Ballot: return step.give_number(holds);
      case Question::Count: return step.give_number(count);
    }
  }

  uint32_t agreeing(const Step& step) const {
    uint32_t mask = 0;
    each([&](Strand& strand) {
      const Step other = at_collective(machine_, strand);
      if (other.scalar(1) == step.scalar(1)) mask |= uint32_t{1} << strand.lane();
    });
    const bool wants_all = static_cast<Agreement>(step.attribute(0)) == Agreement::All;
    return wants_all && mask != lanes() ? 0 : mask;
  }

  Scalar shuffled(const Step& step) const {
    const auto width = static_cast<uint32_t>(step.attribute(1));
    const uint32_t own = step.strand.lane();
    const auto by = static_cast<uint32_t>(step.scalar(2).as<int32_t>());
    const uint32_t first = own & ~(width - 1);
    const uint32_t last = first + width - 1;
    uint32_t lane = own;
    switch (static_cast<Source>(step.attribute(0))) {
      case Source::Index: lane = first + (by & (width - 1)); break;
      case Source::Up: lane = own - first >= by ? own - by : own; break;
      case Source::Down: lane = last - own >= by ? own + by : own; break;
      case Source::Exclusive: lane = (own ^ by) <= last ? own ^ by : own; break;
    }
    step.need(there_[lane] != nullptr, "wants the value of a lane that is not in the mask");
    return at_collective(machine_, *there_[lane]).scalar(1);
  }

  Machine& machine_;
  std::vector<Strand*> there_;
};

/// The execution of one block of a launch.
class BlockRun {
 public:
  enum class End : uint8_t { Done, Waits };

  BlockRun(Step& step, RaceTracker& between_blocks, int64_t block, const Extent3& grid,
           const Extent3& threads)
      : step_(step) {
    block_.region = step.function.region(step.node);
    block_.function = &step.function;
    const int64_t count = threads[0] * threads[1] * threads[2];
    block_.in_warp.resize(static_cast<size_t>((count + kWarp - 1) / kWarp));
    const int64_t bytes = step.count() > 6 ? step.index(6) : 0;
    step.need(bytes >= 0, "has a negative number of bytes");
    if (step.count() > 6) dynamic_ = step.machine.allocate(bytes, Space::Shared);
    const Extent3 at = unravel(block, grid);
    for (int64_t t = 0; t < count; ++t) {
      const Extent3 thread = unravel(t, threads);
      begin_thread(at, thread);
      Strand& strand = *strands_.back();
      strand.number = number_of_thread(at, thread, grid, threads);
      strand.thread = static_cast<uint32_t>(t);
      strand.watches.push_back({&between_blocks, static_cast<uint32_t>(block)});
      strand.watches.push_back({&block_.between_warps, strand.thread / kWarp});
      strand.watches.push_back({&block_.in_warp[strand.thread / kWarp], strand.lane()});
    }
    if (dynamic_) between_blocks.forget(dynamic_->data, static_cast<size_t>(bytes));
  }

  /// Runs to the end, or until all threads that have not ended wait for the other blocks.
  End run() {
    for (;;) {
      for (int64_t t : step_.machine.shuffled(static_cast<int64_t>(strands_.size())))
        step_.machine.run(*strands_[static_cast<size_t>(t)]);
      if (has_ended()) return End::Done;
      const bool released = release_warps();
      if (release_block() || released) continue;
      const auto are_at_rest = [](const auto& s) { return s->has_ended() || waits(*s, Scope::Device); };
      if (std::ranges::all_of(strands_, are_at_rest)) return End::Waits;
      const auto goes_on = [](const auto& s) { return s->state == Strand::State::Running; };
      if (std::ranges::any_of(strands_, goes_on)) continue;
      if (failed() != nullptr) return End::Done;
      fail_at_collective();
    }
  }

  bool has_ended() const {
    return std::ranges::all_of(strands_, [](const auto& s) { return s->has_ended(); });
  }
  /// The lowest thread that has raised; null: none.
  Strand* failed() const {
    Strand* lowest = nullptr;
    for (const auto& strand : strands_) {
      if (strand->state != Strand::State::Failed) continue;
      if (lowest == nullptr || order_of(*strand) < order_of(*lowest)) lowest = strand.get();
    }
    return lowest;
  }
  /// A thread that waits for the other blocks.
  Strand* waiting() const {
    const auto found = std::ranges::find_if(strands_, [](const auto& s) { return waits(*s, Scope::Device); });
    return found == strands_.end() ? nullptr : found->get();
  }
  void go_on() {
    forget_all();
    for (const auto& strand : strands_)
      if (!strand->has_ended()) strand->state = Strand::State::Running;
  }

 private:
  void begin_thread(const Extent3& block, const Extent3& thread) {
    auto strand = std::make_unique<Strand>();
    strand->block = &block_;
    strand->watches = step_.strand.watches;
    strand->calls = step_.strand.calls;
    Frame frame;
    frame.own = std::make_unique<Activation>(step_.activation);
    frame.activation = frame.own.get();
    frame.owner = step_.node;
    frame.region = block_.region;
    const auto parameters = step_.function.region_parameters(block_.region);
    for (size_t i = 0; i < 3; ++i) {
      frame.own->values[parameters[i].index] = Scalar::of(block[i]);
      frame.own->values[parameters[3 + i].index] = Scalar::of(thread[i]);
    }
    if (dynamic_) frame.own->values[parameters[6].index] = dynamic_;
    strand->frames.push_back(std::move(frame));
    strands_.push_back(std::move(strand));
  }

  Strands warp(size_t number) const {
    const size_t first = number * kWarp;
    return Strands(strands_).subspan(first, std::min<size_t>(kWarp, strands_.size() - first));
  }

  bool release_warps() {
    bool any = false;
    for (size_t w = 0; w < block_.in_warp.size(); ++w) any = release_masked(w) || release_active(w) || any;
    return any;
  }

  /// Releases the threads of a warp whose masks are complete.
  bool release_masked(size_t number) {
    const Strands threads = warp(number);
    bool any = false;
    for (const auto& first : threads) {
      if (!waits(*first, Scope::Warp) || first->mask == 0) continue;
      std::vector<Strand*> there(kWarp, nullptr);
      bool are_all = true;
      uint32_t absent = 0;
      for (const auto& other : threads) {
        const uint32_t bit = uint32_t{1} << other->lane();
        if (!other->has_ended() && (first->mask & bit) == 0) absent |= bit;
        if (other->has_ended() || (first->mask & bit) == 0) continue;
        are_all = are_all && waits(*other, Scope::Warp) && is_same_question(*first, *other);
        there[other->lane()] = other.get();
      }
      if (!are_all) continue;
      if (function_of(*first).op(first->collective) == Op::barrier) {
        if (absent == 0) block_.in_warp[number].clear();
        else block_.in_warp[number].forget_iterations(first->mask);
      }
      Collective(step_.machine, std::move(there)).end();
      any = true;
    }
    return any;
  }

  /// Where no thread of the warp can go on, those at an `active` get their lanes.
  bool release_active(size_t number) {
    const Strands threads = warp(number);
    if (std::ranges::any_of(threads, [](const auto& s) { return s->state == Strand::State::Running; }))
      return false;
    bool any = false;
    for (const auto& first : threads) {
      if (!waits(*first, Scope::Warp) || first->mask != 0) continue;
      std::vector<Strand*> there(kWarp, nullptr);
      for (const auto& other : threads)
        if (waits(*other, Scope::Warp) && wait_together(*first, *other)) there[other->lane()] = other.get();
      Collective(step_.machine, std::move(there)).end();
      any = true;
    }
    return any;
  }

  bool release_block() {
    std::vector<Strand*> there;
    for (const auto& strand : strands_) {
      if (strand->has_ended()) continue;
      if (!waits(*strand, Scope::Block) || (!there.empty() && !wait_together(*there[0], *strand)))
        return false;
      there.push_back(strand.get());
    }
    if (there.empty()) return false;
    forget_all();
    Collective(step_.machine, std::move(there)).end();
    return true;
  }

  void forget_all() {
    block_.between_warps.clear();
    for (RaceTracker& tracker : block_.in_warp) tracker.clear();
  }

  [[noreturn]] void fail_at_collective() const {
    for (const auto& strand : strands_) {
      if (strand->state != Strand::State::Waiting) continue;
      const bool in_warp = strand->scope == Scope::Warp && strand->mask != kAllLanes;
      at_collective(step_.machine, *strand)
          .fail(in_warp ? "not all threads of the mask come here"
                        : "not all threads of the block reach the barrier");
    }
    step_.fail("a block neither ends nor waits");
  }

  Step& step_;
  ThreadBlock block_;
  BlockRef dynamic_;
  std::vector<std::unique_ptr<Strand>> strands_;
};

/// All blocks of a launch.
class LaunchRun {
 public:
  LaunchRun(Step& step, int64_t blocks, const Extent3& grid, const Extent3& threads)
      : step_(step), blocks_(blocks), grid_(grid), threads_(threads) {}

  void one_by_one() {
    for (int64_t block : step_.machine.shuffled(blocks_)) {
      const int64_t first = number_of_thread(unravel(block, grid_), {}, grid_, threads_);
      if (static_cast<uint64_t>(first) > lowest_) continue;
      BlockRun run(step_, between_blocks_, block, grid_, threads_);
      if (run.run() == BlockRun::End::Waits) fail(run);
      end(run);
    }
  }

  void together() {
    std::vector<std::unique_ptr<BlockRun>> runs;
    for (int64_t block = 0; block < blocks_; ++block)
      runs.push_back(std::make_unique<BlockRun>(step_, between_blocks_, block, grid_, threads_));
    for (;;) {
      for (int64_t block : step_.machine.shuffled(blocks_))
        if (BlockRun& run = *runs[static_cast<size_t>(block)]; !run.has_ended()) run.run();
      if (std::ranges::none_of(runs, [](const auto& run) { return run->waiting() != nullptr; })) break;
      const auto is_stuck = [](const auto& run) { return !run->has_ended() && run->waiting() == nullptr; };
      if (std::ranges::any_of(runs, is_stuck)) break;
      between_blocks_.clear();
      for (const auto& run : runs) run->go_on();
    }
    for (const auto& run : runs) end(*run);
  }

 private:
  /// Keeps the exception of the lowest thread.
  void end(const BlockRun& run) {
    Strand* failed = run.failed();
    if (failed == nullptr || order_of(*failed) > lowest_) return;
    lowest_ = order_of(*failed);
    step_.strand.raised = std::move(failed->raised);
  }
  [[noreturn]] void fail(const BlockRun& run) const {
    at_collective(step_.machine, *run.waiting()).fail("waits for blocks that may not run yet");
  }

  Step& step_;
  int64_t blocks_;
  Extent3 grid_;
  Extent3 threads_;
  RaceTracker between_blocks_;
  uint64_t lowest_ = entry::KernelError::kNone;  ///< the thread that raises, by its `order_of`
};

bool has_barrier_of_all(const Function& function, NodeId launch) {
  bool any = false;
  walk(function, launch, [&](NodeId node) {
    any = any || (is_collective(function.op(node)) && scope_of_collective(function, node) == Scope::Device);
  });
  return any;
}

void wait(Step& step, Scope scope, uint32_t mask) {
  Strand& strand = step.strand;
  step.need(strand.block != nullptr, "is outside of a launch");
  const bool is_in = scope != Scope::Warp || mask == 0 || (mask >> strand.lane() & 1) != 0;
  step.need(is_in, "comes with a mask that it is not in");
  strand.state = Strand::State::Waiting;
  strand.collective = step.node;
  strand.scope = scope;
  strand.mask = mask;
}

uint32_t mask_of(const Step& step) {
  const auto mask = step.scalar(0).as<uint32_t>();
  step.need(mask != 0, "comes with a mask that it is not in");
  return mask;
}

}  // namespace

void interp_launch(Step& step) {
  Extent3 grid;
  Extent3 threads;
  for (size_t i = 0; i < 3; ++i) {
    grid[i] = std::max<int64_t>(step.index(i), 0);
    threads[i] = std::max<int64_t>(step.index(3 + i), 0);
  }
  const auto product = [&](const Extent3& extent, int64_t limit) {
    if (std::ranges::find(extent, 0) != extent.end()) return int64_t{0};
    int64_t count = 1;
    for (int64_t length : extent)
      step.need(!__builtin_mul_overflow(count, length, &count) && count <= limit,
                "launches too many threads");
    return count;
  };
  const int64_t blocks = product(grid, kMaxBlocks);
  if (product(threads, kMaxThreads) == 0 || blocks == 0) return;
  LaunchRun run(step, blocks, grid, threads);
  if (has_barrier_of_all(step.function, step.node)) run.together();
  else run.one_by_one();
}

void interp_barrier(Step& step) {
  const Scope scope = static_cast<Scope>(step.attribute(0));
  const uint32_t mask = step.count() == 0 ? kAllLanes : mask_of(step);
  wait(step, std::min(scope, Scope::Device), mask);
}

void interp_vote(Step& step) {
  const Scope scope = static_cast<Scope>(step.attribute(1));
  wait(step, scope, scope == Scope::Warp ? mask_of(step) : 0);
}

void interp_match(Step& step) { wait(step, Scope::Warp, mask_of(step)); }
void interp_shuffle(Step& step) { wait(step, Scope::Warp, mask_of(step)); }
void interp_active(Step& step) { wait(step, Scope::Warp, 0); }
void interp_fence(Step& step) { step.fence(static_cast<Scope>(step.attribute(0))); }
void interp_linked(Step& step) { step.need(false, "is of what is linked, which is not interpreted"); }
void interp_nanosleep(Step& step) { step.strand.yields = step.strand.block != nullptr; }

namespace {

/// The element that an atomic access is to, as it is now.
std::pair<std::byte*, Scalar> atomic_element(Step& step, size_t order) {
  const ViewValue& view = step.view(0);
  std::byte* at = element_at(step, view, 1);
  if (static_cast<Order>(step.attribute(order)) == Order::AcquireRelease)
    step.fence(static_cast<Scope>(step.attribute(order - 1)));
  step.touch(at, base::size_of(view.dtype), Access::Atomic);
  Scalar before = Scalar::load(view.dtype, at);
  if (base::is_bool(view.dtype)) before.bits[0] = before.bits[0] != 0;
  return {at, before};
}

}  // namespace

void interp_atomic(Step& step) {
  const DType dtype = step.view(0).dtype;
  const auto [at, before] = atomic_element(step, 2);
  const Scalar& value = step.scalar(step.count() - 1);
  const Op combiner = step.function.op_attribute(step.node, 0);
  if (combiner == Op::constant) value.store(dtype, at);
  else Combiner(combiner, dtype)(before, value).store(dtype, at);
  step.give(before);
}

void interp_compare_exchange(Step& step) {
  const auto [at, before] = atomic_element(step, 1);
  if (before == step.scalar(step.count() - 2)) step.scalar(step.count() - 1).store(step.view(0).dtype, at);
  // A thread that polls for another one yields to it.
  step.strand.yields = step.strand.block != nullptr;
  step.give(before);
}

void interp_atomic_load(Step& step) {
  const auto [at, before] = atomic_element(step, 1);
  step.strand.yields = step.strand.block != nullptr;
  step.give(before);
}

void interp_atomic_store(Step& step) {
  const auto [at, before] = atomic_element(step, 1);
  step.scalar(step.count() - 1).store(step.view(0).dtype, at);
}

}  // namespace ingot::ir
