#pragma once

#include <functional>
#include <unordered_map>

#include "ir/function.h"

namespace ingot::transform {

/// Where a value is from: it is there before a loop, or is not, or that depends on what it is computed from.
enum class Origin : uint8_t { Outside, Inside, Operands };

/// Of what is made in a loop, values that are computed without regions and effects are from their operands,
/// all else - its parameters among them - from inside.
Origin origin_inside(const ir::Function& function, ir::NodeId value);
inline Origin origin_in(const ir::Function& function, ir::NodeId loop, ir::NodeId value) {
  return function.encloses(loop, value) ? origin_inside(function, value) : Origin::Outside;
}

/// Whether values are computed from what is there before a loop: they are the same in all iterations, or can
/// be computed before. Each is looked at once.
class FromOutside {
 public:
  using OriginOf = std::function<Origin(ir::NodeId value)>;

  FromOutside(const ir::Function& function, ir::NodeId loop)
      : FromOutside(function,
                    [&function, loop](ir::NodeId value) { return origin_in(function, loop, value); }) {}
  FromOutside(const ir::Function& function, OriginOf origin) : f_(function), origin_(std::move(origin)) {}

  bool operator()(ir::NodeId value);

 private:
  const ir::Function& f_;
  OriginOf origin_;
  std::unordered_map<uint32_t, bool> known_;
};

}  // namespace ingot::transform
