#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/function.h"

namespace ingot::transform {

/// Why the iterations of a loop do not run together.
enum class ObstacleKind : uint8_t {
  Carried,
  FloatOrder,
  Kept,
  FewIterations,
  UnknownCount,
  CallsPython,
  CallsC,
  Draws,
  MayRaise,
  MakesArray,
  OwnArray,
  Left,
  InnerLoop,
  InnerLeft,
  Uneven,
  RepeatedWrite,
  StoresInTurn,
  SameMemory,
  Conflict,  ///< iterations may depend on each other, see dependence.h
};

/// The name of a kind, by which programs know it.
std::string_view name_of(ObstacleKind kind);
/// What it is in words for users; of a conflict, these are the conflict's own.
std::string_view words_of(ObstacleKind kind);

/// What keeps the iterations of a loop from running together, in words for users, and the nodes that it is
/// about.
struct Obstacle {
  Obstacle(ObstacleKind why, ir::NodeId first) : Obstacle(why, first, first) {}
  Obstacle(ObstacleKind why, ir::NodeId first, ir::NodeId second)
      : kind(why), what(words_of(why)), node(first), other(second) {}
  /// A conflict.
  Obstacle(std::string reason, ir::NodeId first, ir::NodeId second)
      : kind(ObstacleKind::Conflict), what(std::move(reason)), node(first), other(second) {}

  ObstacleKind kind;
  std::string what;
  ir::NodeId node;
  ir::NodeId other;  ///< may be `node`
};

/// A loop, and what keeps it from lanes and from being shared among threads; none: nothing does.
struct LoopObstacles {
  ir::NodeId loop;
  std::optional<Obstacle> lanes;
  std::optional<Obstacle> threads;
};

/// Those of all loops of a function that run for each of their own iterations, in its order. At the loop
/// stage, before `schedule`; it decides nothing, and reports what `schedule` and `threads` will find.
std::vector<LoopObstacles> obstacles_of(const ir::Function& function);

/// The obstacle that effects are, if a node has such that no two iterations can have at once. `may_raise`:
/// exceptions are none.
std::optional<Obstacle> obstacle_in(const ir::Function& function, ir::RegionId region,
                                    bool may_raise = false);

}  // namespace ingot::transform
