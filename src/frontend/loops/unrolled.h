#pragma once

#include "frontend/tracer/frame.h"

namespace ingot::frontend {

/// A loop that is being unrolled. All such loops of a function share one budget of iterations and operations,
/// because nested loops multiply and the time to compile grows with both.
class Unrolled {
 public:
  /// `iterated`: the iterable, for the refusal.
  Unrolled(Tracer& t, const Value& iterated, nb::handle node);
  ~Unrolled();
  Unrolled(const Unrolled&) = delete;
  Unrolled& operator=(const Unrolled&) = delete;

  /// Counts an iteration; refuses the loop if the budget is exceeded.
  void iteration();

 private:
  /// The number of ops that the outermost loop has made so far.
  size_t made() const;
  [[noreturn]] void refuse(const std::string& amount);

  Tracer& t_;
  const Value& iterated_;
  nb::handle node_;
};

}  // namespace ingot::frontend
