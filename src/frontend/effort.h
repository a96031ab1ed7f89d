#pragma once

#include <chrono>
#include <cstddef>
#include <unordered_map>
#include <unordered_set>

#include "ir/function.h"

namespace ingot::frontend {

/// What evaluating a function costs, in all of its evaluations: each of them takes a step at least, so
/// however often facts have it evaluated again, and whatever it calls, this ends.
class Effort {
 public:
  static constexpr size_t kMostSteps = 2'000'000;
  /// Of one function's calls; more of them are calls of a function of the IR, which is evaluated once.
  static constexpr size_t kMostInlined = 256;

  /// Of a function that becomes part of a module.
  explicit Effort(const ir::Module& module) : module_(module) {}

  /// Counts a statement or an expression; false: it is one too many. Throws base::Abandoned where nobody
  /// waits any more. Other threads have the GIL now and then: Python gives it to them between its own
  /// instructions alone.
  bool step() {
    if (++steps_ % kBetweenLooks == 0) look();
    return steps_ <= kMostSteps;
  }

  /// The function is evaluated from the start.
  void begin() { calls_.clear(); }
  /// Counts a call of a function, which is known by its node; whether it has been inlined often enough.
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
