#include "softgpu/machine/launch.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "softgpu/machine/warp.h"

namespace softgpu {

namespace {

constexpr uint32_t kRound = 1 << 16;    // instructions of a warp until the next one runs
constexpr uint32_t kQuietRound = 4096;  // ... where the round before has changed nothing
constexpr uint32_t kPatience = 8;  // rounds in which all wait and nothing changes, until that is for ever

/// A generator of orders (splitmix64).
class Shuffler {
 public:
  explicit Shuffler(uint64_t seed) : state_(seed) {}

  template <class T>
  void shuffle(std::vector<T>& items) {
    if (state_ == 0) return;
    for (size_t n = items.size(); n > 1; --n) std::swap(items[n - 1], items[next() % n]);
  }
  uint32_t below(uint32_t end) { return static_cast<uint32_t>(next() % end); }

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

/// Blocks that are there at once, each of them to its end. Further ones begin when one has ended, or when all
/// that are there wait.
class Runner {
 public:
  Runner(LaunchState& state, const LaunchOptions& options)
      : state_(state), options_(options), shuffler_(options.seed) {}

  void run() {
    const auto& [gx, gy, gz] = state_.shape.grid;
    blocks_ = uint64_t{gx} * gy * gz;
    if (options_.seed != 0 || options_.all_resident) choose_order();
    most_ = options_.all_resident ? blocks_ : std::min<uint64_t>(blocks_, options_.most_resident);
    while (next_ < blocks_ || !resident_.empty()) {
      while (next_ < blocks_ && resident_.size() < wanted_) begin_next();
      const uint64_t before = state_.progress;
      const bool all_wait = run_resident();
      is_quiet_ = before == state_.progress;
      is_stuck_for_ = all_wait && is_quiet_ ? is_stuck_for_ + 1 : 0;
      if (is_stuck_for_ == 0) continue;
      if (next_ < blocks_ && resident_.size() < most_) ++wanted_;
      else if (is_stuck_for_ > kPatience) report_wait();
    }
  }

 private:
  LaunchState& state_;
  const LaunchOptions& options_;
  Shuffler shuffler_;
  uint64_t blocks_ = 0;
  std::vector<uint64_t> order_;  ///< none: that of their numbers
  uint64_t next_ = 0;            ///< that begins
  uint64_t wanted_ = 1;          ///< that are there at once
  uint64_t most_ = 1;
  uint32_t round_ = kRound;
  bool is_quiet_ = false;
  uint32_t is_stuck_for_ = 0;  ///< rounds in which all waited, and nothing changed
  std::vector<std::unique_ptr<Block>> resident_;
  std::vector<std::unique_ptr<Block>> spare_;

  /// With a seed, how many blocks are there at once, and how long each runs until the next one does, are
  /// drawn, too.
  void choose_order() {
    order_.resize(blocks_);
    std::iota(order_.begin(), order_.end(), uint64_t{0});
    shuffler_.shuffle(order_);
    if (options_.seed != 0) {
      wanted_ = uint64_t{1} << shuffler_.below(4);
      round_ = kRound >> (4 * shuffler_.below(3));
    }
    if (options_.all_resident) {
      wanted_ = blocks_;
      state_.grid_threads = blocks_ * state_.shape.block[0] * state_.shape.block[1] * state_.shape.block[2];
    }
  }

  void begin_next() {
    if (spare_.empty()) spare_.push_back(std::make_unique<Block>());
    resident_.push_back(std::move(spare_.back()));
    spare_.pop_back();
    begin(*resident_.back(), order_.empty() ? next_ : order_[next_]);
    ++next_;
    if (options_.all_resident) state_.resident.push_back(resident_.back().get());
  }

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

  struct Round {
    bool any = false;   ///< something was executed
    bool waits = true;  ///< all that was executed polls
  };
  /// One round of all warps.
  Round run_round(Block& block) {
    std::vector<Warp*> order;
    for (const auto& warp : block.warps) order.push_back(warp.get());
    shuffler_.shuffle(order);
    Round made;
    for (Warp* const warp : order) {
      if (warp->is_done()) continue;
      const bool runs = warp->run(is_quiet_ ? kQuietRound : round_);
      made.any |= runs;
      made.waits &= warp->waits || !runs;
    }
    return made;
  }

  static bool is_done(const Block& block) {
    return std::ranges::all_of(block.warps, [](const auto& warp) { return warp->is_done(); });
  }

  /// One round of all blocks that are there; whether all of them wait.
  bool run_resident() {
    bool any = false;
    bool all_wait = true;
    for (const auto& block : resident_) {
      const Round made = run_round(*block);
      any |= made.any;
      all_wait &= made.waits;
      if (!made.any && !is_done(*block) && !waits_for_grid(*block)) check_barriers(*block);
    }
    if (!any && !is_done(*resident_.front())) check_barriers(*resident_.front());
    std::erase_if(state_.resident, [](const Block* block) { return is_done(*block); });
    for (auto& block : resident_) {
      if (!is_done(*block)) continue;
      if (state_.watch != nullptr) state_.watch->end_block(block->number);
      spare_.push_back(std::move(block));
    }
    std::erase(resident_, nullptr);
    return all_wait;
  }

  [[noreturn]] void report_wait() {
    std::string others = "nobody else of the launch goes on";
    if (next_ < blocks_)
      others = std::to_string(resident_.size()) + " blocks wait, and " + std::to_string(blocks_ - next_) +
               " others cannot begin before one of these ends";
    for (const auto& block : resident_)
      for (const auto& warp : block->warps)
        if (!warp->is_done() && warp->waits) warp->report_wait(others);
    throw Fault(FaultKind::Deadlock, "a deadlock: " + others);
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
  state.touched = options.touched;
  state.is_cooperative = options.all_resident;
  state.is_watched = watch != nullptr || memory.watches_writes();
  const Workspace workspace(memory, options.all_resident);
  state.workspace = workspace.address();
  Runner(state, options).run();
  return state.counts;
}

}  // namespace softgpu
