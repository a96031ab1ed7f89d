// Order of axes. Results of elementwise operations have NumPy's order `K` in memory, if the order of the
// operands is known when compiling (a repeated axis of one element does not count): the frontend computes
// them from transposed operands, and transposes the result. So passes see only C order where all operands are
// in Fortran order, and reductions over all axes read elements in the order of memory.

#include "frontend/arrays/memory_order.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "frontend/tracer/python_objects.h"

namespace ingot::frontend {

namespace {

using ir::NodeId;
using ir::Op;

/// By axis: the rank of its stride among those of all axes; 0: the axis is repeated, or of one element.
using Distances = std::vector<int>;

Distances in_c_order(size_t rank) {
  Distances distances(rank);
  std::iota(distances.rbegin(), distances.rend(), 1);
  return distances;
}

Distances of_parameter(const ir::Function& f, NodeId node) {
  Distances distances = in_c_order(static_cast<size_t>(f.type(node).rank()));
  if (f[node].parent != f.body()) return distances;
  const ir::ParameterInfo& known = f.parameters()[static_cast<size_t>(f.attribute(node, 0))];
  if (known.layout == ir::Layout::F) std::ranges::reverse(distances);
  for (size_t axis = 0; axis < distances.size(); ++axis)
    if (known.ones && ((*known.ones >> axis) & 1u) != 0) distances[axis] = 0;
  return distances;
}

using IsOne = std::function<bool(NodeId, int)>;

Distances of_branch(const ir::Function& f, NodeId node, const IsOne& is_one);

Distances distances_of(const ir::Function& f, NodeId node, const IsOne& is_one) {
  const auto rank = static_cast<size_t>(f.type(node).rank());
  const auto inner = [&] { return distances_of(f, f.operand(node, 0), is_one); };
  switch (f.op(node)) {
    case Op::param: return of_parameter(f, node);
    case Op::read:
    case Op::cast:
    case Op::slice: return inner();
    case Op::transpose: {
      const Distances from = inner();
      Distances distances;
      for (const int64_t axis : f.ints(node)) distances.push_back(from[static_cast<size_t>(axis)]);
      return distances;
    }
    case Op::squeeze: {
      const Distances from = inner();
      Distances distances;
      for (size_t axis = 0; axis < from.size(); ++axis) {
        const bool stays = std::ranges::find(f.ints(node), static_cast<int64_t>(axis)) == f.ints(node).end();
        if (stays) distances.push_back(from[axis]);
      }
      return distances;
    }
    case Op::expand: {
      Distances distances = inner();
      for (const int64_t axis : f.ints(node)) distances.insert(distances.begin() + axis, 0);
      return distances;
    }
    case Op::broadcast: {
      const NodeId repeated = f.operand(node, 0);
      Distances distances = f.type(repeated).is_scalar() ? Distances() : inner();
      for (size_t axis = 0; axis < distances.size(); ++axis)
        if (is_one(repeated, static_cast<int>(axis))) distances[axis] = 0;
      distances.insert(distances.begin(), rank - distances.size(), 0);
      return distances;
    }
    case Op::if_:
    case Op::result: return of_branch(f, node, is_one);
    default: return in_c_order(rank);
  }
}

/// Of a branch: those of its arms where both agree; else of C order.
Distances of_branch(const ir::Function& f, NodeId node, const IsOne& is_one) {
  const NodeId branch = f.op(node) == Op::result ? f.operand(node, 0) : node;
  const auto slot = f.op(node) == Op::result ? static_cast<size_t>(f.attribute(node, 0)) : 0;
  Distances other = in_c_order(static_cast<size_t>(f.type(node).rank()));
  if (f.op(branch) != Op::if_) return other;
  std::optional<Distances> both;
  for (size_t arm = 0; arm < 2; ++arm) {
    // An arm that leaves a loop has no end, perhaps no node, until the loop has been completed.
    const ir::RegionId region = f.region(branch, arm);
    if (f.region_body(region).empty() || f.op(f.terminator(region)) != Op::yield) continue;
    const NodeId last = f.terminator(region);
    const Distances distances = distances_of(f, f.operand(last, slot), is_one);
    if (both && *both != distances) return other;
    both = distances;
  }
  return both.value_or(other);
}

/// Whether the axis `inner` has to be swapped with `outer`, the axis around it; none: no operand decides.
std::optional<bool> lies_outside(const std::vector<Distances>& all, size_t inner, size_t outer) {
  std::optional<bool> outside;
  for (const Distances& distances : all) {
    if (distances[inner] == 0 || distances[outer] == 0) continue;
    if (distances[inner] <= distances[outer]) outside = false;
    else if (!outside) outside = true;
  }
  return outside;
}

}  // namespace

std::vector<int64_t> memory_order(const ir::Function& function, std::span<const NodeId> operands,
                                  const IsOne& is_one) {
  std::vector<Distances> all;
  for (const NodeId operand : operands)
    if (!function.type(operand).is_scalar()) all.push_back(distances_of(function, operand, is_one));
  if (all.empty()) return {};
  // The innermost first; each axis is inserted inside of those with larger strides, as NumPy's iterator sorts
  // them.
  std::vector<int64_t> order(all[0].size());
  std::iota(order.rbegin(), order.rend(), 0);
  for (size_t i = 1; i < order.size(); ++i) {
    size_t index = i;
    for (size_t k = i; k-- > 0;) {
      const auto outside = lies_outside(all, static_cast<size_t>(order[k]), static_cast<size_t>(order[i]));
      if (outside && !*outside) break;
      if (outside) index = k;
    }
    const auto first = order.begin();
    std::rotate(first + static_cast<ptrdiff_t>(index), first + static_cast<ptrdiff_t>(i),
                first + static_cast<ptrdiff_t>(i) + 1);
  }
  std::ranges::reverse(order);
  return order;
}

std::vector<int64_t> inverse_of(std::span<const int64_t> order) {
  std::vector<int64_t> inverse(order.size());
  for (size_t i = 0; i < order.size(); ++i) inverse[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  return inverse;
}

}  // namespace ingot::frontend
