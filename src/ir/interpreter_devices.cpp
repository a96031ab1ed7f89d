#include <algorithm>
#include <array>

#include "ir/interpreter_machine.h"

namespace ingot::ir {

namespace {

constexpr int64_t kWarp = 32;
constexpr int64_t kMaxThreads = 1 << 16;
constexpr int64_t kMaxBlocks = 1 << 24;

using Extent3 = std::array<int64_t, 3>;

Extent3 unravel(int64_t linear, const Extent3& extent) {
  return {linear % extent[0], linear / extent[0] % extent[1], linear / extent[0] / extent[1]};
}

/// The running of one block of a launch: its threads, each on a strand of its own, go in random order from
/// one barrier to the next.
class BlockRun {
 public:
  BlockRun(Step& step, RaceTracker& between_blocks, int64_t block, const Extent3& grid,
           const Extent3& threads)
      : step_(step) {
    block_.region = step.function.region(step.node);
    block_.function = &step.function;
    const int64_t count = threads[0] * threads[1] * threads[2];
    block_.in_warp.resize(static_cast<size_t>((count + kWarp - 1) / kWarp));
    const Extent3 at = unravel(block, grid);
    for (int64_t t = 0; t < count; ++t) {
      begin_thread(t, at, unravel(t, threads));
      const Watch watch{&between_blocks, static_cast<uint32_t>(block)};
      strands_.back()->watches.push_back(watch);
      strands_.back()->watches.push_back({&block_.between_warps, static_cast<uint32_t>(t / kWarp)});
      strands_.back()->watches.push_back(
          {&block_.in_warp[static_cast<size_t>(t / kWarp)], static_cast<uint32_t>(t % kWarp)});
    }
  }

  /// Runs to the end. What the lowest of the threads that raise first has raised, or nothing.
  std::optional<Raised> run() {
    for (;;) {
      for (int64_t t : step_.machine.shuffled(static_cast<int64_t>(strands_.size())))
        step_.machine.run(*strands_[static_cast<size_t>(t)]);
      for (const auto& strand : strands_)
        if (strand->state == Strand::State::Failed) return strand->raised;
      if (std::ranges::all_of(strands_, [](const auto& s) { return s->state == Strand::State::Done; }))
        return {};
      const bool released = release_warps();
      if (!released && !release_block()) fail_at_barrier();
    }
  }

 private:
  using Strands = std::span<const std::unique_ptr<Strand>>;

  void begin_thread(int64_t, const Extent3& block, const Extent3& thread) {
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
    strand->frames.push_back(std::move(frame));
    strands_.push_back(std::move(strand));
  }

  /// Whether all wait at one barrier of this scope.
  static bool all_wait(Strands strands, Scope scope) {
    const Strand& first = *strands.front();
    return std::ranges::all_of(strands, [&](const auto& s) {
      return s->state == Strand::State::Waiting && s->barrier_scope == scope && s->barrier == first.barrier &&
             s->frames.back().activation->function == first.frames.back().activation->function;
    });
  }
  static void release(Strands strands) {
    for (const auto& strand : strands) strand->state = Strand::State::Running;
  }

  bool release_warps() {
    bool any = false;
    for (size_t w = 0; w < block_.in_warp.size(); ++w) {
      const size_t first = w * static_cast<size_t>(kWarp);
      const Strands warp =
          Strands(strands_).subspan(first, std::min(static_cast<size_t>(kWarp), strands_.size() - first));
      if (!all_wait(warp, Scope::Warp)) continue;
      block_.in_warp[w].clear();
      release(warp);
      any = true;
    }
    return any;
  }

  bool release_block() {
    if (!all_wait(strands_, Scope::Block)) return false;
    block_.between_warps.clear();
    for (RaceTracker& tracker : block_.in_warp) tracker.clear();
    release(strands_);
    return true;
  }

  [[noreturn]] void fail_at_barrier() const {
    for (const auto& strand : strands_) {
      if (strand->state != Strand::State::Waiting) continue;
      const Step at(step_.machine, *strand, *strand->frames.back().activation, strand->barrier);
      at.fail("not all threads of the block reach the barrier");
    }
    step_.fail("a block neither ends nor waits");
  }

  Step& step_;
  ThreadBlock block_;
  std::vector<std::unique_ptr<Strand>> strands_;
};

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
  RaceTracker between_blocks;
  int64_t failed = blocks;
  for (int64_t block : step.machine.shuffled(blocks)) {
    if (block > failed) continue;
    std::optional<Raised> raised = BlockRun(step, between_blocks, block, grid, threads).run();
    if (!raised) continue;
    failed = block;
    step.strand.raised = std::move(raised);
  }
}

void interp_barrier(Step& step) {
  const Scope scope = static_cast<Scope>(step.attribute(0));
  step.need(step.strand.block != nullptr, "stands outside of a launch");
  step.need(scope == Scope::Warp || scope == Scope::Block, "waits for more than a block");
  step.strand.state = Strand::State::Waiting;
  step.strand.barrier = step.node;
  step.strand.barrier_scope = scope;
}

void interp_atomic(Step& step) {
  const ViewValue& view = step.view(0);
  std::byte* at = element_at(step, view, 1);
  step.touch(at, base::size_of(view.dtype), Access::Atomic);
  Scalar before = Scalar::load(view.dtype, at);
  if (base::is_bool(view.dtype)) before.bits[0] = before.bits[0] != 0;
  const Combiner combine(step.function.op_attribute(step.node, 0), view.dtype);
  combine(before, step.scalar(step.count() - 1)).store(view.dtype, at);
  step.give(before);
}

}  // namespace ingot::ir
