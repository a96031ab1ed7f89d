#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "ir/function.h"

namespace ingot::transform {

/// An extreme that a `for` carries, and what becomes another value where it does: `if x < m: m = x; k = i`.
struct Selection {
  size_t extreme;
  ir::Op comparison;              ///< `less` or `greater`: of what is new with what is there
  std::vector<size_t> followers;  ///< carried values, too
};
struct Selections {
  std::vector<Selection> all;
  /// Of `if x < low: low = x` with `elif x > high: high = x`: the slots of both. That is as two branches only
  /// where `low` is not above `high`, which is so in all iterations if it is so before them.
  std::vector<std::pair<size_t, size_t>> pairs;
};

/// Whether the iterations of a `for` only select those of its carried values that `carried_of` knows nothing
/// of, and maybe other extremes, in branches, in loops inside and before a `continue`, and nothing else that
/// they do depends on them. Then the range may be divided: pieces whose iterations run in order, each from
/// the initial values, give what the loop gives, if their extremes are selected in order, with what follows
/// them. After `simplify`.
std::optional<Selections> selections_of(const ir::Function& function, ir::NodeId loop);

}  // namespace ingot::transform
