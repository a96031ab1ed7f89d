#pragma once

#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "softgpu/machine/fault.h"
#include "softgpu/machine/launch.h"
#include "softgpu/machine/program.h"
#include "softgpu/machine/watch.h"

/// The state that handlers work on: a warp, its block, its launch. Only the component's sources include this.
namespace softgpu {

/// A function that is being executed, by the threads that called it together.
struct Frame {
  const Function* function = nullptr;
  Frame* caller = nullptr;
  const CallSite* site = nullptr;  ///< that made it
  uint32_t local_base = 0;         ///< of its variables, in each thread's local memory
  uint32_t dynamic = 0;            ///< bytes that alloca has given, after them
  std::vector<std::byte> registers;
  std::vector<std::byte> params;  ///< 32 times `param_bytes`
};

struct Block;

struct LaunchState {
  const Program& program;
  const Function& kernel;
  const LaunchShape& shape;
  const std::vector<std::byte>& parameters;
  Memory& memory;
  uint64_t limit;
  Watch* watch = nullptr;      ///< null: races are not detected
  bool is_watched = false;     ///< for races, or for reads of unwritten memory
  Touched* touched = nullptr;  ///< null: what it touches is not asked for
  LaunchCounts counts{};
  std::string* printed = nullptr;  ///< null: printf is silent
  bool is_cooperative = false;
  std::vector<Block*> resident{};  ///< of a cooperative launch
  uint64_t grid_threads = 0;       ///< that have to come to a barrier of the grid
  uint64_t grid_arrived = 0;
  uint64_t workspace = 0;  ///< 16 bytes for a barrier of the grid that is code; 0: none
  /// Grows with all that others can see: stores, atomics that change something, barriers, threads that end.
  uint64_t progress = 0;
};

/// The reduction of `barrier.red`.
struct Reduction {
  uint32_t count = 0;
  bool all = true;
  bool any = false;
};

struct Block {
  std::array<uint32_t, 3> index{};
  uint32_t number = 0;
  uint32_t completed = 0;        ///< barriers until now
  std::vector<uint8_t> written;  ///< of shared memory, by byte, where that is watched
  std::vector<std::byte> shared;
  std::vector<std::unique_ptr<Warp>> warps;
  uint32_t threads = 0;
  uint32_t exited = 0;  ///< threads
  struct Barrier {
    uint32_t arrived = 0;   ///< threads
    uint32_t expected = 0;  ///< threads; 0: no thread has come yet
    bool is_of_all = true;  ///< threads that have exited are not waited for
    Reduction reduction{};
    Reduction result{};
  };
  std::array<Barrier, 16> barriers{};
};

class Warp {
 public:
  static constexpr uint32_t kMostLocal = ptx::most::kStack;  ///< bytes of a thread

  Warp(LaunchState& launch, Block& block, uint32_t index);

  /// At the kernel's entry, with all its threads.
  void begin();
  /// Executes until all threads have exited or wait, or about `budget` instructions of the warp are done.
  /// Whether anything was executed.
  bool run(uint32_t budget);
  bool is_done() const { return alive == 0; }
  /// A strong access or an atomic, of the first of some threads, that changes nothing: it polls where it has
  /// accessed this address before.
  void poll(const Instruction& i, uint64_t address, uint32_t lane);
  /// Throws the fault of a warp that polls what nobody will change.
  [[noreturn]] void report_wait(const std::string& others);

  uint64_t polls = 0;  ///< until now
  bool waits = false;  ///< all its paths that ran in the last `run` polled; some did
  LaunchState& launch;
  Block& block;
  const uint32_t index;
  Mask alive = 0;

  // The path that runs now.
  std::byte* registers = nullptr;
  const std::byte* constants = nullptr;
  const Instruction* code = nullptr;
  uint32_t pc = 0;  ///< the next instruction
  Mask mask = 0;
  Frame* frame = nullptr;

  template <class T>
  T* at(Slot slot) {
    return reinterpret_cast<T*>(registers + slot);
  }
  template <class T>
  const T* get(Slot slot) const {
    return reinterpret_cast<const T*>(slot >= 0 ? registers + slot : constants + (slot - kConstant));
  }

  // Control, called by handlers. `pc` is that of the instruction after theirs.

  /// Threads of `taken` go on at `target`, the others of the path at `pc`; they join at `join`.
  void branch(Mask taken, uint32_t target, uint32_t join);
  /// The same, where `pc` or `target` may be the join, and the threads have something to do before.
  void split(Mask taken, uint32_t target, uint32_t join);
  /// The path has come to a join, the instruction before `pc`.
  void rejoin();
  void exit_threads(Mask which);
  void call(const CallSite& site, uint32_t callee, Mask which);
  void return_threads(Mask which);
  /// For an instruction that threads `which` execute together with those of `needed`, as far as they have not
  /// exited: those that do now, with those that waited for it in other paths; or none, if the path has to
  /// wait for others. `anywhere`: others may be at another instruction of this handler.
  Mask gather(const Instruction& i, Mask which, Mask needed, bool anywhere);
  /// At a barrier of the block, for `threads` (0: all); true when these go on, which is the second time that
  /// they come.
  bool barrier(const Instruction& i, Mask which, uint32_t number, uint32_t threads,
               const Reduction& of_these);
  /// The same for all threads of a cooperative launch.
  bool grid_barrier(const Instruction& i, Mask which);
  /// Releases a barrier that all have come to that are waited for.
  void complete(uint32_t number);
  /// Comes to a barrier and goes on.
  void arrive(uint32_t number, uint32_t threads, Mask which, const Reduction& of_these);
  /// Lets other paths and warps run.
  void yield() {
    steps_ = 0;
    yields_ = true;
  }
  /// What the block did until now is seen by others.
  void fence() {
    if (launch.watch != nullptr) launch.watch->fence(block.number);
  }

  /// The bytes at a generic or global address of one thread. Throws Fault.
  std::byte* generic(const Instruction& i, uint64_t address, uint32_t bytes, uint32_t lane, Access access) {
    if ((address & (bytes - 1)) != 0) misaligned(i, address, bytes, lane, access);
    const Allocation* const last = i.last;
    if (last != nullptr && last->holds(address, bytes) && !launch.is_watched) [[likely]]
      return last->host + (address - last->base);
    return generic_slowly(i, address, bytes, lane, access);
  }
  std::byte* shared(const Instruction& i, uint64_t address, uint32_t bytes, uint32_t lane, Access access) {
    if ((address & (bytes - 1)) != 0) misaligned(i, address, bytes, lane, access);
    if (address >= block.shared.size() || bytes > block.shared.size() - address)
      out_of_shared(i, address, bytes, lane, access);
    if (launch.is_watched) [[unlikely]]
      watch(i, nullptr, address, bytes, lane, access);
    return block.shared.data() + address;
  }
  /// Memory of the function's own, the same for all threads of the frame: its address among the local ones.
  uint64_t allocate_local(const Instruction& i, uint64_t bytes, uint32_t alignment, uint32_t lane);

  /// A copy that a thread has begun (`cp.async`); it is done when the thread waits for it.
  struct PendingCopy {
    uint64_t to, from;  ///< shared, generic
    uint32_t bytes;
    uint32_t given;  ///< that are read; the rest becomes 0
    uint32_t lane;
    uint32_t group;
  };
  std::vector<PendingCopy> pending{};
  std::array<uint32_t, kLanes> committed{};  ///< groups of copies, by thread

  std::byte* local(const Instruction& i, uint64_t address, uint32_t bytes, uint32_t lane, Access access);
  std::byte* param(const Instruction& i, uint64_t address, uint32_t bytes, uint32_t lane, Access access);
  /// What is at an offset among the frame's parameters, for a call of what every device has.
  std::byte* call_param(const Instruction& i, uint32_t at, uint32_t bytes, uint32_t lane);

  [[noreturn]] void fault(FaultKind kind, const std::string& what, const Instruction& i, uint32_t lane) const;

 private:
  uint32_t together_ = 0;                                      ///< ops that threads of the warp did together
  std::unordered_map<const Instruction*, uint64_t> polled_{};  ///< the address of its last strong access
  const Instruction* polling_ = nullptr;                       ///< the last one that polled
  Frame* polling_frame_ = nullptr;
  uint32_t polling_lane_ = 0;

  /// A path of threads that run together, or a join.
  struct Path {
    enum State : uint8_t { Unused, Ready, Waiting, AtBarrier, Joining } state = Unused;
    bool is_call = false;  ///< a Joining one that is a call's return
    uint8_t barrier = 0;
    bool is_released = false;  ///< by its barrier
    uint32_t pc = 0;           ///< of a Joining one: where they join
    uint32_t issues = 0;       ///< since others of the warp could go on
    Mask mask = 0;             ///< of a Joining one: those that have come
    Mask needed = 0;           ///< of a Waiting one: for whom it waits
    int parent = -1;
    uint32_t children = 0;
    Frame* frame = nullptr;
    Frame* callee = nullptr;  ///< of a call
  };

  std::vector<Path> paths_;
  int current_ = -1;
  uint32_t steps_ = 0;  ///< that the path may still do now
  bool yields_ = false;
  std::vector<std::unique_ptr<Frame>> frames_;
  std::vector<Frame*> spare_;
  std::vector<std::byte> local_;
  uint32_t local_size_ = 0;  ///< of one thread

  int new_path(const Path& path);
  int join_at(uint32_t join);
  void save();
  void load(int path);
  void end_current();
  void child_ended(int parent);
  int next_ready() const;
  Frame* new_frame(const Function& function, Frame* caller, const CallSite* site);
  bool grow_local(uint64_t needed);
  void drop_frame(Frame* frame);
  void fill_specials(Frame& frame);
  bool wake_waiting();
  /// Lets those go on that wait at a join for a path which takes long, or waits for them. Whether any were
  /// there.
  bool let_go_above(int path);
  void release(uint32_t number);
  bool may_join_at(int path, uint32_t join) const;

  std::byte* generic_slowly(const Instruction& i, uint64_t address, uint32_t bytes, uint32_t lane,
                            Access access);
  void watch(const Instruction& i, Allocation* where, uint64_t at, uint32_t bytes, uint32_t lane,
             Access access);
  [[noreturn]] void race(const Instruction& i, const Watch::Touch& with, uint32_t lane, Access access) const;
  [[noreturn]] void misaligned(const Instruction& i, uint64_t address, uint32_t bytes, uint32_t lane,
                               Access access) const;
  [[noreturn]] void out_of_shared(const Instruction& i, uint64_t address, uint32_t bytes, uint32_t lane,
                                  Access access) const;

  friend void check_barriers(Block& block);
  friend bool waits_for_grid(const Block& block);
};

/// Throws Fault where a block whose warps all wait can never go on.
void check_barriers(Block& block);

/// Whether some of its threads wait at a barrier of the grid.
bool waits_for_grid(const Block& block);

/// The first thread of a mask that has one.
inline uint32_t first_of(Mask mask) { return static_cast<uint32_t>(std::countr_zero(mask)); }

/// Calls `f(lane)` for each thread of a mask.
template <class F>
inline void each_lane(Mask mask, F&& f) {
  for (; mask != 0; mask &= mask - 1) f(static_cast<uint32_t>(std::countr_zero(mask)));
}

}  // namespace softgpu
