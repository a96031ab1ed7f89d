#include "softgpu/machine/warp.h"

#include <algorithm>

#include "softgpu/machine/queue_watch.h"

namespace softgpu {

namespace {

constexpr uint32_t kSlice = 8192;  // instructions of one path until others run, or go on
constexpr uint32_t kPause = 512;   // instructions that a path's pause takes of its warp's round

}  // namespace

Warp::Warp(LaunchState& of, Block& in, uint32_t which) : launch(of), block(in), index(which) {}

void Warp::begin() {
  const uint32_t threads = std::min(kLanes, block.threads - index * kLanes);
  alive = threads == kLanes ? kAll : (Mask{1} << threads) - 1;
  paths_.clear();
  polls = 0;
  polled_.clear();
  pending.clear();
  committed.fill(0);
  for (const auto& used : frames_)
    if (std::ranges::find(spare_, used.get()) == spare_.end()) spare_.push_back(used.get());
  Frame* const entry = new_frame(launch.kernel, nullptr, nullptr);
  for (uint32_t lane = 0; lane < kLanes && !launch.parameters.empty(); ++lane)
    std::memcpy(entry->params.data() + size_t{lane} * launch.kernel.param_bytes, launch.parameters.data(),
                launch.parameters.size());
  Path path;
  path.state = Path::Ready;
  path.mask = alive;
  path.frame = entry;
  new_path(path);
  current_ = -1;
}

Frame* Warp::new_frame(const Function& function, Frame* caller, const CallSite* site) {
  Frame* made = nullptr;
  const auto same = std::ranges::find(spare_, &function, &Frame::function);
  if (same != spare_.end()) {
    made = *same;
    spare_.erase(same);
  } else {
    made = frames_.emplace_back(std::make_unique<Frame>()).get();
    made->function = &function;
    made->registers.resize(function.register_bytes);
    made->params.resize(size_t{function.param_bytes} * kLanes);
  }
  if (!made->registers.empty()) std::memset(made->registers.data(), 0xA5, made->registers.size());
  made->caller = caller;
  made->site = site;
  made->local_base = 0;
  made->dynamic = 0;
  // A call costs a thread some of its stack, so that endless recursion ends.
  if (caller != nullptr)
    made->local_base = caller->local_base + caller->function->local_bytes + caller->dynamic +
                       caller->function->registers * 4 + caller->function->param_bytes + 16;
  made->local_base = (made->local_base + 15) & ~15u;
  grow_local(made->local_base + function.local_bytes);
  fill_specials(*made);
  return made;
}

bool Warp::grow_local(uint64_t needed) {
  if (needed > kMostLocal) return false;
  if (needed <= local_size_) return true;
  const uint32_t size = std::max(static_cast<uint32_t>(needed), local_size_ * 2);
  std::vector<std::byte> larger(size_t{size} * kLanes, std::byte{0xA5});
  for (size_t lane = 0; lane < kLanes && local_size_ != 0; ++lane)
    std::memcpy(larger.data() + lane * size, local_.data() + lane * local_size_, local_size_);
  local_ = std::move(larger);
  local_size_ = size;
  return true;
}

uint64_t Warp::allocate_local(const Instruction& i, uint64_t bytes, uint32_t alignment, uint32_t lane) {
  const uint64_t end = uint64_t{frame->local_base} + frame->function->local_bytes + frame->dynamic;
  const uint64_t start = (end + alignment - 1) / alignment * alignment;
  if (bytes > kMostLocal || !grow_local(start + bytes))
    fault(FaultKind::Stack, "the stack of a thread is full: alloca of " + std::to_string(bytes) + " bytes", i,
          lane);
  frame->dynamic += static_cast<uint32_t>((start + bytes - end + 15) & ~uint64_t{15});
  return start;
}

void Warp::drop_frame(Frame* used) { spare_.push_back(used); }

void Warp::fill_specials(Frame& of) {
  const auto& [bx, by, bz] = launch.shape.block;
  const uint32_t warps = (block.threads + kLanes - 1) / kLanes;
  for (const Special& special : of.function->specials) {
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      const uint32_t thread = index * kLanes + lane;
      uint64_t value = 0;
      switch (special.kind) {
        case Special::TidX: value = thread % bx; break;
        case Special::TidY: value = thread / bx % by; break;
        case Special::TidZ: value = thread / bx / by; break;
        case Special::NtidX: value = bx; break;
        case Special::NtidY: value = by; break;
        case Special::NtidZ: value = bz; break;
        case Special::CtaidX: value = block.index[0]; break;
        case Special::CtaidY: value = block.index[1]; break;
        case Special::CtaidZ: value = block.index[2]; break;
        case Special::NctaidX: value = launch.shape.grid[0]; break;
        case Special::NctaidY: value = launch.shape.grid[1]; break;
        case Special::NctaidZ: value = launch.shape.grid[2]; break;
        case Special::LaneId: value = lane; break;
        case Special::WarpId: value = index; break;
        case Special::Nwarpid: value = warps; break;
        case Special::Nsmid: value = 1; break;
        case Special::SmId:
        case Special::GridId:
        case Special::Zero: value = 0; break;
        case Special::LanemaskEq: value = Mask{1} << lane; break;
        case Special::LanemaskLt: value = (Mask{1} << lane) - 1; break;
        case Special::LanemaskLe: value = kAll >> (31 - lane); break;
        case Special::LanemaskGt: value = ~(kAll >> (31 - lane)); break;
        case Special::LanemaskGe: value = kAll << lane; break;
        case Special::DynamicShared: value = launch.shape.dynamic_shared; break;
        case Special::TotalShared: value = block.shared.size(); break;
        case Special::WorkspaceHigh: value = launch.workspace >> 32; break;
        case Special::WorkspaceLow: value = launch.workspace & UINT32_MAX; break;
      }
      std::memcpy(of.registers.data() + special.slot + size_t{lane} * special.bytes, &value, special.bytes);
    }
  }
}

int Warp::new_path(const Path& path) {
  const auto unused = std::ranges::find(paths_, Path::Unused, &Path::state);
  if (unused != paths_.end()) {
    *unused = path;
    return static_cast<int>(unused - paths_.begin());
  }
  paths_.push_back(path);
  return static_cast<int>(paths_.size() - 1);
}

void Warp::save() {
  if (current_ < 0) return;
  Path& path = paths_[static_cast<size_t>(current_)];
  path.pc = pc;
  path.mask = mask;
}

void Warp::load(int which) {
  current_ = which;
  Path& path = paths_[static_cast<size_t>(which)];
  pc = path.pc;
  mask = path.mask;
  frame = path.frame;
  registers = frame->registers.data();
  constants = frame->function->constants.data();
  code = frame->function->code.data();
}

int Warp::next_ready() const {
  const int count = static_cast<int>(paths_.size());
  for (int i = 1; i <= count; ++i) {
    const int which = (std::max(current_, 0) + i) % count;
    if (paths_[static_cast<size_t>(which)].state == Path::Ready) return which;
  }
  return -1;
}

bool Warp::run(uint32_t budget) {
  bool any = false;
  waits = false;
  while (budget > 0) {
    const int which = next_ready();
    if (which < 0) {
      if (wake_waiting()) continue;
      break;
    }
    load(which);
    const uint64_t polled = polls;
    const uint32_t slice = std::min(kSlice, budget);
    uint64_t issues = 0;
    uint64_t threads = 0;
    for (steps_ = slice; steps_ != 0;) {
      --steps_;
      const Instruction& i = code[pc++];
      Mask active = mask;
      ++issues;
      if (i.guard != kNoSlot) {
        const Mask guard = *get<Mask>(i.guard);
        active &= i.is_guard_negated ? ~guard : guard;
        if (active == 0) {
          ++threads;
          continue;
        }
      }
      threads += active == kAll ? kLanes : static_cast<uint32_t>(std::popcount(active));
      i.run(*this, i, active);
    }
    save();
    if (current_ >= 0) {
      uint32_t& own = paths_[static_cast<size_t>(current_)].issues;
      own += static_cast<uint32_t>(issues);
      if (own >= kSlice || yields_) {
        own = 0;
        let_go_above(current_);
      }
    }
    waits = (waits || !any) && polls != polled;
    any = true;
    if (yields_) budget -= std::min(kPause, budget);
    yields_ = false;
    launch.counts.issues += issues;
    launch.counts.instructions += threads;
    budget -= static_cast<uint32_t>(std::min<uint64_t>(issues, budget));
    if (launch.counts.instructions > launch.limit && alive != 0 && current_ >= 0)
      fault(FaultKind::Timeout, "more than " + std::to_string(launch.limit) + " instructions", code[pc],
            static_cast<uint32_t>(std::countr_zero(mask)));
  }
  return any;
}

void Warp::end_current() {
  Path& path = paths_[static_cast<size_t>(current_)];
  path.state = Path::Unused;
  const int parent = path.parent;
  current_ = -1;
  steps_ = 0;
  child_ended(parent);
}

void Warp::child_ended(int parent) {
  while (parent >= 0) {
    Path& path = paths_[static_cast<size_t>(parent)];
    if (--path.children != 0) return;
    if (path.is_call) drop_frame(path.callee);
    path.is_call = false;
    path.mask &= alive;
    if (path.mask != 0) {
      path.state = Path::Ready;
      return;
    }
    path.state = Path::Unused;
    parent = path.parent;
  }
}

bool Warp::may_join_at(int which, uint32_t join) const {
  if (which < 0) return false;
  const Path& path = paths_[static_cast<size_t>(which)];
  if (path.is_call) return join == kNever;  // they join where the call returns
  return path.pc == join && path.frame == frame;
}

int Warp::join_at(uint32_t join) {
  const int above = paths_[static_cast<size_t>(current_)].parent;
  if (may_join_at(above, join)) return above;
  Path& joining = paths_[static_cast<size_t>(current_)];
  joining.state = Path::Joining;
  joining.pc = join;
  joining.mask = 0;
  joining.children = 1;
  const int parent = current_;
  Path child;
  child.state = Path::Ready;
  child.frame = frame;
  child.parent = parent;
  current_ = new_path(child);
  return parent;
}

void Warp::split(Mask taken, uint32_t target, uint32_t join) {
  const int parent = join_at(join);
  Path other;
  other.state = Path::Ready;
  other.pc = target;
  other.mask = taken;
  other.frame = frame;
  other.parent = parent;
  ++paths_[static_cast<size_t>(parent)].children;
  new_path(other);
  mask &= ~taken;
}

void Warp::branch(Mask taken, uint32_t target, uint32_t join) {
  const Mask rest = mask & ~taken;
  if (rest == 0 || target == pc) {
    pc = target;
  } else if (target == join) {
    paths_[static_cast<size_t>(join_at(join))].mask |= taken;
    mask = rest;
  } else if (pc == join) {
    paths_[static_cast<size_t>(join_at(join))].mask |= rest;
    mask = taken;
    pc = target;
  } else {
    split(taken, target, join);
  }
}

void Warp::rejoin() {
  const int parent = paths_[static_cast<size_t>(current_)].parent;
  if (parent < 0) return;
  Path& joining = paths_[static_cast<size_t>(parent)];
  if (joining.pc != pc - 1 || joining.frame != frame || joining.is_call) return;
  joining.mask |= mask;
  end_current();
}

void Warp::poll(const Instruction& i, uint64_t address, uint32_t lane) {
  uint64_t& last = polled_[&i];
  if (last == address) {
    ++polls;
    polling_ = &i;
    polling_frame_ = frame;
    polling_lane_ = lane;
  }
  last = address;
}

void Warp::report_wait(const std::string& others) {
  frame = polling_frame_;
  fault(FaultKind::Deadlock, "a wait that can never end: what this thread polls does not change; " + others,
        *polling_, polling_lane_);
}

void Warp::exit_threads(Mask which) {
  ++launch.progress;
  std::erase_if(pending, [&](const PendingCopy& copy) { return ((which >> copy.lane) & 1) != 0; });
  alive &= ~which;
  block.exited += static_cast<uint32_t>(std::popcount(which));
  for (uint32_t number = 0; number < block.barriers.size(); ++number) complete(number);
  mask &= ~which;
  if (mask == 0) end_current();
}

void Warp::call(const CallSite& site, uint32_t callee, Mask which) {
  const Function& function = launch.program.functions[callee];
  const Instruction& i = code[pc - 1];
  const auto lane = static_cast<uint32_t>(std::countr_zero(which));
  if (!function.has_body)
    fault(FaultKind::Instruction, "a call of `" + function.name + "`, which is only declared", i, lane);
  if (site.arguments.size() != function.parameters.size())
    fault(FaultKind::Instruction, "a call of `" + function.name + "` with other arguments than it takes", i,
          lane);
  Frame* const made = new_frame(function, frame, &site);
  if (made->local_base + function.local_bytes > kMostLocal)
    fault(FaultKind::Stack, "the stack of a thread is full in a call of `" + function.name + "`", i, lane);
  const uint32_t ours = frame->function->param_bytes;
  for (size_t k = 0; k < std::min(site.results.size(), function.results.size()); ++k)
    if (site.results[k] + function.results[k].bytes > ours)
      fault(FaultKind::Instruction, "a call of `" + function.name + "` with another result than it gives", i,
            lane);
  for (size_t k = 0; k < site.arguments.size(); ++k) {
    const Parameter& parameter = function.parameters[k];
    if (site.arguments[k] + parameter.bytes > ours)
      fault(FaultKind::Instruction, "a call of `" + function.name + "` with a smaller argument than it takes",
            i, lane);
    each_lane(which, [&](uint32_t l) {
      std::memcpy(made->params.data() + size_t{l} * function.param_bytes + parameter.offset,
                  frame->params.data() + size_t{l} * frame->function->param_bytes + site.arguments[k],
                  parameter.bytes);
    });
  }
  Path& joining = paths_[static_cast<size_t>(current_)];
  joining.state = Path::Joining;
  joining.is_call = true;
  joining.pc = pc;
  joining.mask = mask & ~which;
  joining.children = 1;
  joining.callee = made;
  Path child;
  child.state = Path::Ready;
  child.mask = which;
  child.frame = made;
  child.parent = current_;
  load(new_path(child));
}

void Warp::return_threads(Mask which) {
  if (frame->caller == nullptr) {
    exit_threads(which);
    return;
  }
  int parent = paths_[static_cast<size_t>(current_)].parent;
  while (!paths_[static_cast<size_t>(parent)].is_call) parent = paths_[static_cast<size_t>(parent)].parent;
  const Function& function = *frame->function;
  const Frame& caller = *frame->caller;
  for (size_t k = 0; k < std::min(frame->site->results.size(), function.results.size()); ++k) {
    const Parameter& result = function.results[k];
    each_lane(which, [&](uint32_t lane) {
      std::memcpy(paths_[static_cast<size_t>(parent)].frame->params.data() +
                      size_t{lane} * caller.function->param_bytes + frame->site->results[k],
                  frame->params.data() + size_t{lane} * function.param_bytes + result.offset, result.bytes);
    });
  }
  paths_[static_cast<size_t>(parent)].mask |= which;
  mask &= ~which;
  if (mask == 0) end_current();
}

bool Warp::let_go_above(int which) {
  bool any = false;
  for (int at = paths_[static_cast<size_t>(which)].parent; at >= 0;
       at = paths_[static_cast<size_t>(at)].parent) {
    const Path joining = paths_[static_cast<size_t>(at)];
    if ((joining.mask & alive) == 0) continue;
    Path early;
    early.state = Path::Ready;
    early.pc = joining.pc;
    early.mask = joining.mask & alive;
    early.frame = joining.frame;
    early.parent = joining.parent;
    if (early.parent >= 0) ++paths_[static_cast<size_t>(early.parent)].children;
    paths_[static_cast<size_t>(at)].mask = 0;
    new_path(early);
    any = true;
  }
  return any;
}

Mask Warp::gather(const Instruction& i, Mask which, Mask needed, bool anywhere) {
  needed &= alive;
  ++together_;
  if ((needed & ~which) == 0) return which;
  const auto lane = static_cast<uint32_t>(std::countr_zero(which));
  if (which != mask && (needed & mask & ~which) != 0)
    fault(FaultKind::Deadlock, "threads that the mask names do not execute this: their predicate is false", i,
          lane);
  const auto fits = [&](const Path& path) {
    return path.state == Path::Waiting && path.frame == frame &&
           (path.pc == pc - 1 || (anywhere && code[path.pc].run == i.run));
  };
  Mask together = which;
  for (const Path& path : paths_)
    if (fits(path)) together |= path.mask;
  if ((needed & ~together) != 0) {
    Path& path = paths_[static_cast<size_t>(current_)];
    path.state = Path::Waiting;
    path.needed = needed;
    --pc;
    steps_ = 0;
    return 0;
  }
  together = which;
  for (size_t at = 0; at < paths_.size(); ++at) {
    Path& path = paths_[at];
    if (!fits(path) || (path.mask & needed) == 0) continue;
    Path rest = path;
    rest.mask &= ~needed;
    rest.needed &= ~needed;
    path.mask &= needed;
    together |= path.mask;
    path.state = Path::Ready;
    ++path.pc;
    if (rest.mask == 0) continue;
    // Threads that name others wait for those.
    if (rest.parent >= 0) ++paths_[static_cast<size_t>(rest.parent)].children;
    new_path(rest);
  }
  return together;
}

bool Warp::wake_waiting() {
  for (Path& path : paths_) {
    if (path.state != Path::Waiting) continue;
    Mask there = 0;
    for (const Path& other : paths_)
      if (other.state == Path::Waiting && other.pc == path.pc && other.frame == path.frame)
        there |= other.mask;
    if ((path.needed & alive & ~there) == 0) {
      path.state = Path::Ready;
      return true;
    }
  }
  // Those that others wait for may themselves wait where paths join.
  bool any = false;
  for (size_t which = 0; which < paths_.size(); ++which)
    if (paths_[which].state == Path::Waiting) any |= let_go_above(static_cast<int>(which));
  return any;
}

void Warp::fault(FaultKind kind, const std::string& what, const Instruction& i, uint32_t lane) const {
  const Function& function = *frame->function;
  const auto at = static_cast<size_t>(&i - function.code.data());
  const uint32_t thread = index * kLanes + lane;
  const auto& [bx, by, bz] = launch.shape.block;
  const auto triple = [](uint32_t x, uint32_t y, uint32_t z) {
    return "(" + std::to_string(x) + ", " + std::to_string(y) + ", " + std::to_string(z) + ")";
  };
  std::string message = what + "\n  in kernel `" + launch.kernel.name + "`";
  if (&function != &launch.kernel) message += ", function `" + function.name + "`";
  message += ", block " + triple(block.index[0], block.index[1], block.index[2]) + ", thread " +
             triple(thread % bx, thread / bx % by, thread / bx / by);
  if (at < function.locations.size()) {
    const ptx::Location& location = function.locations[at];
    const std::string& file = location.file == 0 ? std::string() : launch.program.files[location.file - 1];
    if (!file.empty()) message += "\n  at " + file + ":" + std::to_string(location.source_line);
    message += "\n  in line " + std::to_string(location.line) + " of the PTX: " + function.texts[at];
  }
  throw Fault(kind, message);
}

std::byte* Warp::local(const Instruction& i, uint64_t address, uint32_t bytes, uint32_t lane, Access access) {
  if ((address & (bytes - 1)) != 0) misaligned(i, address, bytes, lane, access);
  const uint64_t end = uint64_t{frame->local_base} + frame->function->local_bytes + frame->dynamic;
  if (address >= end || bytes > end - address)
    fault(FaultKind::Illegal,
          std::string(name_of(access)) + " of " + std::to_string(bytes) + " bytes of local memory at " +
              std::to_string(address) + ": the thread has " + std::to_string(end),
          i, lane);
  return local_.data() + size_t{lane} * local_size_ + address;
}

std::byte* Warp::param(const Instruction& i, uint64_t address, uint32_t bytes, uint32_t lane, Access access) {
  const uint32_t size = frame->function->param_bytes;
  if ((address & (bytes - 1)) != 0) misaligned(i, address, bytes, lane, access);
  if (address >= size || bytes > size - address)
    fault(FaultKind::Illegal,
          std::string(name_of(access)) + " of " + std::to_string(bytes) + " bytes outside of the parameters",
          i, lane);
  return frame->params.data() + size_t{lane} * size + address;
}

std::byte* Warp::call_param(const Instruction& i, uint32_t at, uint32_t bytes, uint32_t lane) {
  const uint32_t size = frame->function->param_bytes;
  if (bytes > size || at > size - bytes)
    fault(FaultKind::Instruction, "a call with an argument or result that is too small", i, lane);
  return frame->params.data() + size_t{lane} * size + at;
}

std::byte* Warp::generic_slowly(const Instruction& i, uint64_t address, uint32_t bytes, uint32_t lane,
                                Access access) {
  const uint64_t window = address & (uint64_t{0xFF} << 56);
  if (window == kSharedWindow) return shared(i, address - window, bytes, lane, access);
  if (window == kLocalWindow) return local(i, address - window, bytes, lane, access);
  if (window == kParamWindow) return param(i, address - window, bytes, lane, access);
  Allocation* const found = launch.memory.near(address);
  if (found != nullptr && found->holds(address, bytes)) {
    i.last = found;
    if (launch.is_watched) watch(i, found, address - found->base, bytes, lane, access);
    return found->host + (address - found->base);
  }
  fault(FaultKind::Illegal,
        std::string(name_of(access)) + " of " + std::to_string(bytes) +
            " bytes: " + launch.memory.describe(address),
        i, lane);
}

void Warp::watch(const Instruction& i, Allocation* where, uint64_t at, uint32_t bytes, uint32_t lane,
                 Access access) {
  std::vector<uint8_t>& written = where == nullptr ? block.written : where->written;
  if (!written.empty() && access == Access::Write) std::memset(written.data() + at, 1, bytes);
  if (!written.empty() && std::memchr(written.data() + at, 0, bytes) != nullptr) {
    const std::string memory = where == nullptr ? "shared memory at " + std::to_string(at)
                                                : launch.memory.describe(where->base + at);
    fault(FaultKind::Unwritten,
          std::string(name_of(access)) + " of " + std::to_string(bytes) + " bytes of " + memory +
              " that nobody has written",
          i, lane);
  }
  if (launch.watch == nullptr) return;
  if (launch.touched != nullptr && where != nullptr) {
    const bool is_strong = access == Access::Write && (i.flags & flag::kStrong) != 0;
    launch.touched->add(*where, at, bytes, is_strong ? Access::Atomic : access);
  }
  if ((i.flags & flag::kRelease) != 0) fence();
  Watch::Touch now;
  now.block = block.number;
  now.thread = static_cast<uint16_t>(index * kLanes + lane);
  now.is_strong = access == Access::Atomic || (i.flags & flag::kStrong) != 0;
  now.barriers = block.completed;
  now.together = together_;
  if (const Watch::Touch* const with = launch.watch->touch(where, at, bytes, now, access))
    race(i, *with, lane, access);
}

void Warp::race(const Instruction& i, const Watch::Touch& with, uint32_t lane, Access access) const {
  fault(FaultKind::Race,
        "a race: " + std::string(name_of(access)) + " of what thread " + std::to_string(with.thread) +
            " of block " + std::to_string(with.block) + " has touched, with nothing between that orders them",
        i, lane);
}

void Warp::misaligned(const Instruction& i, uint64_t address, uint32_t bytes, uint32_t lane,
                      Access access) const {
  fault(FaultKind::Misaligned,
        std::string(name_of(access)) + " of " + std::to_string(bytes) + " bytes at address " +
            std::to_string(address) + ", which is no multiple of " + std::to_string(bytes),
        i, lane);
}

void Warp::out_of_shared(const Instruction& i, uint64_t address, uint32_t bytes, uint32_t lane,
                         Access access) const {
  fault(FaultKind::Illegal,
        std::string(name_of(access)) + " of " + std::to_string(bytes) + " bytes at " +
            std::to_string(address) + " of shared memory, which has " + std::to_string(block.shared.size()) +
            " bytes",
        i, lane);
}

}  // namespace softgpu
