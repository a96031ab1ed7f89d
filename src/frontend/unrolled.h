#pragma once

#include "frontend/evaluator_parts.h"

namespace ingot::frontend {

/// A loop that is being unrolled. All of a function have one budget of iterations and of operations, as loops
/// inside each other multiply: the time to compile grows with both.
class Evaluator::Unrolled {
 public:
  /// `iterated`: what the loop iterates, for the refusal.
  Unrolled(Evaluator& evaluator, const Value& iterated, nb::handle node);
  ~Unrolled();
  Unrolled(const Unrolled&) = delete;
  Unrolled& operator=(const Unrolled&) = delete;

  /// Counts an iteration; refuses what is beyond the budget.
  void iteration();

 private:
  /// Ops that the outermost loop around has made so far.
  size_t made() const;
  [[noreturn]] void refuse(const std::string& amount);

  Evaluator& e_;
  const Value& iterated_;
  nb::handle node_;
};

}  // namespace ingot::frontend
