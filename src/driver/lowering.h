#pragma once

#include <utility>
#include <variant>

namespace ingot::driver {

/// Lowers a function by as many attempts as it takes. `frontend.attempt()` gives a variant of what was
/// lowered, the fact that is lacking, and a refusal, which is thrown; `frontend.learn(fact)` has the next
/// attempt know the fact, or throws.
template <class Frontend>
auto lower(Frontend& frontend) {
  for (;;) {
    auto outcome = frontend.attempt();
    if (auto* const lowered = std::get_if<0>(&outcome)) return std::move(*lowered);
    if (auto* const refusal = std::get_if<2>(&outcome)) throw std::move(*refusal);
    frontend.learn(std::get<1>(std::move(outcome)));
  }
}

}  // namespace ingot::driver
