#include <algorithm>

#include "softgpu/machine/warp.h"

// Barriers of a block: threads are counted; a path that waits executes the barrier again when it has been
// released.

namespace softgpu {

namespace {

constexpr uint8_t kGridBarrier = 255;

}  // namespace

void Warp::arrive(uint32_t number, uint32_t threads, Mask which, const Reduction& of_these) {
  Block::Barrier& barrier = block.barriers[number];
  if (barrier.expected == 0)
    barrier = {0, threads != 0 ? threads : block.threads, threads == 0, {}, barrier.result};
  // Where threads are counted by the program, a warp counts as a whole.
  barrier.arrived += threads != 0 && which == alive ? kLanes : static_cast<uint32_t>(std::popcount(which));
  barrier.reduction.count += of_these.count;
  barrier.reduction.all &= of_these.all;
  barrier.reduction.any |= of_these.any;
  complete(number);
}

void Warp::complete(uint32_t number) {
  Block::Barrier& barrier = block.barriers[number];
  const uint32_t gone = barrier.is_of_all ? block.exited : 0;
  if (barrier.expected == 0 || barrier.arrived == 0 || barrier.arrived + gone < barrier.expected) return;
  barrier.result = barrier.reduction;
  ++block.completed;
  ++launch.progress;
  barrier.expected = 0;
  for (const auto& warp : block.warps) warp->release(number);
}

bool Warp::barrier(const Instruction& i, Mask which, uint32_t number, uint32_t threads,
                   const Reduction& of_these) {
  Path& path = paths_[static_cast<size_t>(current_)];
  if (path.is_released) {
    path.is_released = false;
    return true;
  }
  const auto lane = static_cast<uint32_t>(std::countr_zero(which));
  if (which != mask)
    fault(FaultKind::Barrier, "a barrier in divergent code: some threads of the warp pass it by", i, lane);
  path.state = Path::AtBarrier;
  path.barrier = static_cast<uint8_t>(number);
  path.pc = --pc;
  steps_ = 0;
  arrive(number, threads, which, of_these);
  return false;
}

bool Warp::grid_barrier(const Instruction& i, Mask which) {
  Path& path = paths_[static_cast<size_t>(current_)];
  if (path.is_released) {
    path.is_released = false;
    return true;
  }
  const auto lane = static_cast<uint32_t>(std::countr_zero(which));
  if (!launch.is_cooperative)
    fault(FaultKind::Instruction, "a barrier of the grid, but the launch is not cooperative", i, lane);
  if (which != mask)
    fault(FaultKind::Barrier, "a barrier in divergent code: some threads of the warp pass it by", i, lane);
  path.state = Path::AtBarrier;
  path.barrier = kGridBarrier;
  path.pc = --pc;
  steps_ = 0;
  launch.grid_arrived += static_cast<uint32_t>(std::popcount(which));
  if (launch.grid_arrived < launch.grid_threads) return false;
  launch.grid_arrived = 0;
  ++launch.progress;
  if (launch.watch != nullptr) {
    for (const Block* const other : launch.resident) launch.watch->fence(other->number);
    for (const Block* const other : launch.resident) launch.watch->look(other->number);
  }
  for (Block* const other : launch.resident) {
    ++other->completed;
    for (const auto& warp : other->warps) warp->release(kGridBarrier);
  }
  return false;
}

bool waits_for_grid(const Block& block) {
  return std::ranges::any_of(block.warps, [](const auto& warp) {
    return std::ranges::any_of(warp->paths_, [](const Warp::Path& path) {
      return path.state == Warp::Path::AtBarrier && path.barrier == kGridBarrier;
    });
  });
}

void Warp::release(uint32_t number) {
  const Path* first = nullptr;
  for (Path& path : paths_) {
    if (path.state != Path::AtBarrier || path.barrier != number) continue;
    if (first != nullptr && (first->pc != path.pc || first->frame->function != path.frame->function)) {
      frame = path.frame;
      fault(FaultKind::Barrier, "a barrier in divergent code: other threads of the warp wait at another one",
            path.frame->function->code[path.pc], static_cast<uint32_t>(std::countr_zero(path.mask)));
    }
    if (first == nullptr) first = &path;
    path.state = Path::Ready;
    path.is_released = true;
  }
}

void check_barriers(Block& block) {
  uint32_t exited = block.threads;
  uint32_t at_barriers = 0;
  for (const auto& warp : block.warps) {
    exited -= static_cast<uint32_t>(std::popcount(warp->alive));
    for (const Warp::Path& path : warp->paths_)
      if (path.state == Warp::Path::AtBarrier) at_barriers += static_cast<uint32_t>(std::popcount(path.mask));
  }
  for (const auto& warp : block.warps) {
    for (const Warp::Path& path : warp->paths_) {
      if (path.state != Warp::Path::AtBarrier && path.state != Warp::Path::Waiting) continue;
      const bool is_barrier = path.state == Warp::Path::AtBarrier;
      if (at_barriers != 0 && !is_barrier) continue;
      const auto lane = static_cast<uint32_t>(std::countr_zero(path.mask));
      warp->frame = path.frame;
      const Instruction& i = path.frame->function->code[path.pc];
      if (!is_barrier)
        warp->fault(FaultKind::Deadlock, "a deadlock: the threads that the mask names do not all come here",
                    i, lane);
      const std::string waiting =
          std::to_string(at_barriers) + " of " + std::to_string(block.threads) + " threads wait at a barrier";
      if (exited != 0)
        warp->fault(FaultKind::Barrier,
                    waiting + " that " + std::to_string(exited) + " have left by their exit", i, lane);
      if (path.mask != warp->alive)
        warp->fault(FaultKind::Barrier, waiting + " in divergent code, to which the others do not come", i,
                    lane);
      warp->fault(FaultKind::Deadlock, waiting + ", the others elsewhere", i, lane);
    }
  }
  throw Fault(FaultKind::Deadlock, "a deadlock: no thread can go on");
}

}  // namespace softgpu
