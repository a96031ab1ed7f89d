#pragma once

#include <chrono>
#include <cstddef>
#include <unordered_map>
#include <unordered_set>

#include "ir/function.h"

namespace ingot::frontend {

/// The effort of evaluating a function, over all of its evaluations. Each evaluation takes at least one step,
/// so this ends, however often new facts require another one.
class Effort {
 public:
  static constexpr size_t kMostSteps = 2'000'000;
  /// Inlined calls of one function; further calls are of a function of the IR, which is evaluated once.
  static constexpr size_t kMostInlined = 256;

  /// For a function that becomes part of a module.
  explicit Effort(const ir::Module& module) : module_(module) {}

  /// Counts a statement or an expression; false: the limit is exceeded. Throws base::Abandoned if nobody
  /// waits for the result any more. Releases the GIL now and then, as Python does between its instructions.
  bool step() {
    if (++steps_ % kBetweenLooks == 0) look();
    return steps_ <= kMostSteps;
  }

  /// A new evaluation of the function begins.
  void begin() { calls_.clear(); }
  /// Counts a call of a function, identified by its node; whether it has been inlined often enough.
  bool is_called_often(const void* function) {
    return ++calls_[function] > kMostInlined && !always_inlined_.contains(function);
  }
  /// From now on all calls of it are inlined.
  void inline_always(const void* function) { always_inlined_.insert(function); }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr size_t kBetweenLooks = 32;

  void look();

  const ir::Module& module_;
  size_t steps_ = 0;
  std::unordered_map<const void*, size_t> calls_;
  std::unordered_set<const void*> always_inlined_;
  Clock::time_point held_since_ = Clock::now();
};

}  // namespace ingot::frontend
