#include "softgpu/machine/launch.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "softgpu/machine/warp.h"

namespace softgpu {

namespace {

constexpr uint32_t kRound = 1 << 16;  // instructions of a warp until the next one runs

/// A generator of orders (splitmix64).
class Shuffler {
 public:
  explicit Shuffler(uint64_t seed) : state_(seed) {}

  template <class T>
  void shuffle(std::vector<T>& items) {
    if (state_ == 0) return;
    for (size_t n = items.size(); n > 1; --n) std::swap(items[n - 1], items[next() % n]);
  }

 private:
  uint64_t state_;

  uint64_t next() {
    state_ += 0x9E3779B97F4A7C15;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }
};

class Runner {
 public:
  Runner(LaunchState& state, const LaunchOptions& options)
      : state_(state), options_(options), shuffler_(options.seed) {}

  void run() {
    const auto& [gx, gy, gz] = state_.shape.grid;
    const uint64_t blocks = uint64_t{gx} * gy * gz;
    if (options_.all_resident) {
      run_together(blocks);
      return;
    }
    Block block;
    if (options_.seed == 0) {
      for (uint64_t number = 0; number < blocks; ++number) run_alone(block, number);
      return;
    }
    std::vector<uint64_t> order(blocks);
    std::iota(order.begin(), order.end(), uint64_t{0});
    shuffler_.shuffle(order);
    for (const uint64_t number : order) run_alone(block, number);
  }

 private:
  LaunchState& state_;
  const LaunchOptions& options_;
  Shuffler shuffler_;

  void begin(Block& block, uint64_t number) {
    const auto& [gx, gy, gz] = state_.shape.grid;
    const auto& [bx, by, bz] = state_.shape.block;
    block.index = {static_cast<uint32_t>(number % gx), static_cast<uint32_t>(number / gx % gy),
                   static_cast<uint32_t>(number / gx / gy)};
    block.threads = bx * by * bz;
    block.barriers = {};
    block.number = static_cast<uint32_t>(number);
    block.completed = 0;
    block.exited = 0;
    const uint32_t shared = state_.kernel.shared_bytes + state_.shape.dynamic_shared;
    block.shared.assign(shared, std::byte{0xA5});
    if (state_.memory.watches_writes()) block.written.assign(shared, 0);
    if (block.warps.empty())
      for (uint32_t i = 0; i < (block.threads + kLanes - 1) / kLanes; ++i)
        block.warps.push_back(std::make_unique<Warp>(state_, block, i));
    for (const auto& warp : block.warps) warp->begin();
  }

  /// One round of all warps; whether some executed anything.
  bool run_round(Block& block) {
    std::vector<Warp*> order;
    for (const auto& warp : block.warps) order.push_back(warp.get());
    shuffler_.shuffle(order);
    bool any = false;
    for (Warp* const warp : order)
      if (!warp->is_done()) any |= warp->run(kRound);
    return any;
  }

  static bool is_done(const Block& block) {
    return std::ranges::all_of(block.warps, [](const auto& warp) { return warp->is_done(); });
  }

  void run_alone(Block& block, uint64_t number) {
    begin(block, number);
    while (!is_done(block))
      if (!run_round(block) && !is_done(block)) check_barriers(block);
    if (state_.watch != nullptr) state_.watch->end_block(block.number);
  }

  void run_together(uint64_t blocks) {
    std::vector<std::unique_ptr<Block>> resident;
    for (uint64_t number = 0; number < blocks; ++number) {
      resident.push_back(std::make_unique<Block>());
      begin(*resident.back(), number);
    }
    shuffler_.shuffle(resident);
    for (const auto& block : resident) state_.resident.push_back(block.get());
    for (const auto& block : resident) state_.grid_threads += block->threads;
    while (!resident.empty()) {
      bool any = false;
      for (const auto& block : resident) {
        const bool runs = run_round(*block);
        any |= runs;
        if (!runs && !is_done(*block) && !waits_for_grid(*block)) check_barriers(*block);
      }
      if (!any && !resident.empty() && !is_done(*resident.front())) check_barriers(*resident.front());
      std::erase_if(state_.resident, [](const Block* block) { return is_done(*block); });
      std::erase_if(resident, [](const auto& block) { return is_done(*block); });
    }
  }
};

/// Work memory of a cooperative launch, at first zeros.
class Workspace {
 public:
  Workspace(Memory& memory, bool is_needed) : memory_(memory) {
    if (!is_needed) return;
    made_ = memory.allocate_zeros(16);
  }
  ~Workspace() {
    if (made_ != nullptr) memory_.free(*made_);
  }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  uint64_t address() const { return made_ == nullptr ? 0 : made_->base; }

 private:
  Memory& memory_;
  Allocation* made_ = nullptr;
};

}  // namespace

LaunchCounts run_kernel(const Program& program, const Function& kernel, const LaunchShape& shape,
                        const std::vector<std::byte>& parameters, Memory& memory,
                        const LaunchOptions& options) {
  std::unique_ptr<Watch> watch;
  if (options.finds_races)
    watch = std::make_unique<Watch>(uint64_t{shape.grid[0]} * shape.grid[1] * shape.grid[2]);
  LaunchState state{program, kernel, shape, parameters, memory, options.limit, watch.get()};
  state.printed = options.printed;
  state.is_cooperative = options.all_resident;
  state.is_watched = watch != nullptr || memory.watches_writes();
  const Workspace workspace(memory, options.all_resident);
  state.workspace = workspace.address();
  Runner(state, options).run();
  return state.counts;
}

}  // namespace softgpu
