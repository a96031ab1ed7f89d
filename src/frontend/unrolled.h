#pragma once

#include "frontend/evaluator_parts.h"

namespace ingot::frontend {

/// A loop that is being unrolled. All of a function have one budget of turns and of operations, as loops
/// inside each other multiply: the time to compile grows with both.
class Evaluator::Unrolled {
 public:
  /// `walked`: what the loop walks, for the refusal.
  Unrolled(Evaluator& evaluator, const Value& walked, nb::handle node);
  ~Unrolled();
  Unrolled(const Unrolled&) = delete;
  Unrolled& operator=(const Unrolled&) = delete;

  /// Counts a turn; refuses what is beyond the budget.
  void turn();

 private:
  /// Ops that the outermost loop around has made so far.
  size_t made() const;
  [[noreturn]] void refuse(const std::string& amount);

  Evaluator& e_;
  const Value& walked_;
  nb::handle node_;
};

}  // namespace ingot::frontend
