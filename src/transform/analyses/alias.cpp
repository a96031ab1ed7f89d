#include "transform/analyses/alias.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "ir/index_sum.h"
#include "ir/walk.h"

namespace ingot::transform {

using ir::NodeId;

namespace {

/// Memory with more possible origins than this counts as of unknown origin.
constexpr size_t kMostSources = 16;

bool is_memory(const ir::Function& function, NodeId node) {
  return function.type(node).is_view() || function.type(node).is_buffer();
}

/// The loop that carries a parameter, or none.
NodeId loop_of(const ir::Function& function, NodeId parameter) {
  const NodeId owner = function[function[parameter].parent].owner;
  const bool carried = owner && function.op(owner) == ir::Op::for_ && function.attribute(parameter, 0) > 0;
  return carried ? owner : NodeId();
}

/// The roots of the memory that a loop starts with.
std::vector<Root> initial_roots(const ir::Function& function, NodeId loop) {
  std::vector<Root> roots;
  for (const NodeId init : function.operands(loop).subspan(1))
    if (is_memory(function, init)) roots.push_back(root_of(function, init));
  return roots;
}

/// Whether a loop's iterations only swap the memory that it carries, all of which is disjoint.
bool exchanges(const ir::Function& function, NodeId loop) {
  const ir::RegionId body = function.region(loop);
  const NodeId last = function.terminator(body);
  if (function.op(last) != ir::Op::yield) return false;
  std::vector<NodeId> given;
  for (NodeId value : function.operands(last)) {
    if (!is_memory(function, value)) continue;
    value = memory_of(function, value);
    const bool is_slot = function.op(value) == ir::Op::param && function[value].parent == body;
    if (!is_slot || std::ranges::find(given, value) != given.end()) return false;
    given.push_back(value);
  }
  // What is not known is not asked after here: the answer might depend on this loop again.
  const std::vector<Root> roots = initial_roots(function, loop);
  if (std::ranges::any_of(roots, [](const Root& root) { return root.kind == Root::Kind::Unknown; }))
    return false;
  for (size_t i = 0; i < roots.size(); ++i) {
    for (size_t k = 0; k < i; ++k)
      if (may_overlap(function, roots[i], roots[k])) return false;
  }
  return true;
}

/// Whether `unknown` was found before `fresh` was made.
bool came_before(const ir::Function& function, const Root& unknown, const Root& fresh) {
  if (unknown.kind != Root::Kind::Unknown || unknown.number == 0 || fresh.kind != Root::Kind::Fresh)
    return false;
  const ir::RegionId region = function[NodeId(fresh.number)].parent;
  const bool same_region = function[NodeId(unknown.number)].parent == region;
  return same_region ? unknown.number < fresh.number : function.reaches(NodeId(unknown.number), region);
}

/// Adds the values that a parameter of a region, or the result of a node with regions, may be; false: not all
/// are known.
bool add_sources(const ir::Function& function, NodeId node, std::vector<NodeId>& sources) {
  const bool is_parameter = function.op(node) == ir::Op::param;
  const bool is_result = function.op(node) == ir::Op::result;
  const NodeId owner = is_parameter ? function[function[node].parent].owner
                       : is_result  ? function.operand(node, 0)
                                    : node;
  if (!owner || function[owner].region_count == 0) return false;
  // Of a node that is being built, not all is known.
  for (size_t i = 0; i < function[owner].region_count; ++i) {
    const ir::Region& region = function[function.region(owner, i)];
    if (region.nodes.empty() || !ir::info(function.op(region.nodes.back())).terminator) return false;
  }
  const ir::Op op = function.op(owner);
  auto slot = static_cast<size_t>(is_parameter || is_result ? function.attribute(node, 0) : 0);
  // Of a region that does not end by a yield, nothing comes.
  const auto add_yielded = [&](size_t region, size_t fixed) {
    const NodeId last = function.terminator(function.region(owner, region));
    if (function.op(last) == ir::Op::yield) sources.push_back(function.operand(last, fixed + slot));
  };
  switch (op) {
    case ir::Op::for_:
      if (is_parameter && slot-- == 0) return false;
      sources.push_back(function.operand(owner, 1 + slot));
      add_yielded(0, 0);
      return true;
    case ir::Op::while_:
      if (is_parameter && function[node].parent == function.region(owner, 0)) {
        sources.push_back(function.operand(owner, slot));
        add_yielded(1, 0);
      } else {
        add_yielded(0, 1);
      }
      return true;
    case ir::Op::if_:
      if (is_parameter) return false;
      for (size_t arm = 0; arm < 2; ++arm) add_yielded(arm, 0);
      return true;
    case ir::Op::block: {
      if (is_parameter) return false;
      const NodeId label = function.region_parameters(function.region(owner))[0];
      add_yielded(0, 0);
      ir::walk(function, function.region(owner), [&](NodeId inner) {
        if (function.op(inner) == ir::Op::exit_ && function.operand(inner, 0) == label)
          sources.push_back(function.operand(inner, 1 + slot));
      });
      return true;
    }
    default: return false;
  }
}

/// All memory that a value may be of; none: not known.
std::optional<std::vector<Root>> origins(const ir::Function& function, const Root& root) {
  if (root.kind != Root::Kind::Unknown) return std::vector{root};
  if (root.number == 0) return std::nullopt;
  std::vector<Root> found;
  std::vector<NodeId> open{NodeId(root.number)};
  for (size_t i = 0; i < open.size(); ++i) {
    std::vector<NodeId> sources;
    if (i == kMostSources || !add_sources(function, open[i], sources)) return std::nullopt;
    for (const NodeId source : sources) {
      const NodeId memory = memory_of(function, source);
      const Root own = root_of(function, memory);
      if (own.kind != Root::Kind::Unknown) found.push_back(own);
      else if (std::ranges::find(open, memory) == open.end()) open.push_back(memory);
    }
  }
  return found;
}

}  // namespace

NodeId memory_of(const ir::Function& function, NodeId node) {
  // A pure node that gives memory gives that of its first operand, if that is memory; so do the marks of
  // variables.
  const auto is_name = [&] {
    const ir::Op op = function.op(node);
    return ir::info(op).effects.pure() || op == ir::Op::lift || op == ir::Op::primal;
  };
  while (is_name() && !function.operands(node).empty() && is_memory(function, function.operand(node, 0)))
    node = function.operand(node, 0);
  return node;
}

Root root_of(const ir::Function& function, NodeId node) {
  node = memory_of(function, node);
  const ir::OpInfo& card = ir::info(function.op(node));
  if (function.op(node) == ir::Op::param) {
    if (function[node].parent == function.body()) {
      const auto index = static_cast<size_t>(function.attribute(node, 0));
      return {Root::Kind::Parameter, function.parameters()[index].alias_set};
    }
    const NodeId loop = loop_of(function, node);
    if (loop && exchanges(function, loop)) return {Root::Kind::Carried, node.index};
    return {Root::Kind::Unknown, node.index};
  }
  if (card.effects == ir::effect::Allocate && card.regions == 0 && is_memory(function, node))
    return {Root::Kind::Fresh, node.index};
  return {Root::Kind::Unknown, node.index};
}

bool may_overlap(const ir::Function& function, const Root& a, const Root& b) {
  if (a.kind == Root::Kind::Unknown || b.kind == Root::Kind::Unknown) {
    if (came_before(function, a, b) || came_before(function, b, a)) return false;
    const auto all_a = origins(function, a);
    const auto all_b = origins(function, b);
    if (!all_a || !all_b) return true;
    return std::ranges::any_of(*all_a, [&](const Root& one) {
      return std::ranges::any_of(*all_b,
                                 [&](const Root& other) { return may_overlap(function, one, other); });
    });
  }
  if (a == b) return true;
  const auto loop = [&](const Root& root) {
    return root.kind == Root::Kind::Carried ? loop_of(function, NodeId(root.number)) : NodeId();
  };
  if (loop(a) && loop(a) == loop(b)) return false;
  if (!loop(a) && !loop(b)) return false;
  // One of what the loop started with; of two loops, the inner one is replaced by its initial roots first.
  const bool first = !loop(b) || (loop(a) && loop(a).index > loop(b).index);
  const Root& carried = first ? a : b;
  const std::vector<Root> roots = initial_roots(function, loop(carried));
  return std::ranges::any_of(roots,
                             [&](const Root& root) { return may_overlap(function, root, first ? b : a); });
}

std::optional<std::vector<Root>> origins_of(const ir::Function& function, NodeId node) {
  return origins(function, root_of(function, node));
}

std::optional<BufferLocation> element_of(const ir::Function& function, NodeId view,
                                         std::span<const NodeId> indices) {
  if (function.op(view) != ir::Op::view) return std::nullopt;
  const auto made_of = function.operands(view);
  const size_t rank = indices.size();
  BufferLocation position{function.type(view).dtype(), made_of[0], made_of[1], {}, {}};
  for (size_t axis = 0; axis < rank; ++axis) {
    const NodeId index = indices[axis];
    const NodeId stride = made_of[2 + rank + axis];
    if (function.is_constant(index, 0) || function.is_constant(stride, 0)) continue;
    position.indices.push_back(index);
    position.strides.push_back(stride);
  }
  return position;
}

bool writes_one_view(ir::Op op) {
  using ir::Op;
  return op == Op::store || op == Op::write || op == Op::stream || op == Op::copy || op == Op::atomic ||
         op == Op::compare_exchange || op == Op::atomic_load || op == Op::atomic_store;
}

bool may_write(const ir::Function& function, ir::RegionId region, const Root& memory) {
  return ir::any_within(function, region, [&](NodeId node) {
    const ir::Effects effects = ir::info(function.op(node)).effects;
    if (!effects.any(ir::effect::Write) || effects.any(ir::effect::Control)) return false;
    return !writes_one_view(function.op(node)) ||
           may_overlap(function, memory, root_of(function, function.operand(node, 0)));
  });
}

bool may_write(const ir::Function& function, NodeId node, NodeId view) {
  const Root memory = root_of(function, view);
  for (size_t i = 0; i < function[node].region_count; ++i)
    if (may_write(function, function.region(node, i), memory)) return true;
  return false;
}

namespace {

bool is_one(const ir::Function& function, NodeId a, NodeId b) {
  return a == b ||
         (ir::known_number(function, a) && ir::known_number(function, a) == ir::known_number(function, b));
}

/// How many bytes the axes of a view from one on reach over; none: not known.
std::optional<int64_t> reach_inside(const ir::Function& function, NodeId view, size_t from) {
  const auto rank = static_cast<size_t>(function.type(view).rank());
  auto reach = static_cast<int64_t>(base::size_of(function.type(view).dtype()));
  for (size_t axis = from; axis < rank; ++axis) {
    const auto length = ir::known_number(function, function.operand(view, 2 + axis));
    const auto stride = ir::known_number(function, function.operand(view, 2 + rank + axis));
    int64_t more = 0;
    if (!length || !stride || *stride < 0 || __builtin_mul_overflow(*length - 1, *stride, &more) ||
        __builtin_add_overflow(reach, std::max<int64_t>(more, 0), &reach))
      return std::nullopt;
  }
  return reach;
}

/// Whether an axis of a view continues where the next axis ends.
bool goes_on(const ir::Function& function, NodeId view, size_t axis) {
  const auto rank = static_cast<size_t>(function.type(view).rank());
  const NodeId stride = function.operand(view, 2 + rank + axis);
  const NodeId inner[] = {function.operand(view, 2 + rank + axis + 1), function.operand(view, 2 + axis + 1)};
  if (function.op(stride) == ir::Op::multiply)
    return std::ranges::is_permutation(function.operands(stride), inner);
  const auto whole = ir::known_number(function, stride);
  const auto step = ir::known_number(function, inner[0]);
  const auto count = ir::known_number(function, inner[1]);
  int64_t product = 0;
  return whole && step && count && !__builtin_mul_overflow(*step, *count, &product) && product == *whole;
}

}  // namespace

size_t axes_of_records(const ir::Function& function, NodeId a, NodeId b) {
  if (function.op(a) != ir::Op::view || function.op(b) != ir::Op::view) return 0;
  if (function.operand(a, 0) != function.operand(b, 0)) return 0;
  const auto [base_of_a, first_of_a] = ir::index_sum(function, function.operand(a, 1));
  const auto [base_of_b, first_of_b] = ir::index_sum(function, function.operand(b, 1));
  constexpr int64_t kFar = int64_t{1} << 61;
  if (base_of_a != base_of_b || std::max(first_of_a, first_of_b) > kFar ||
      std::min(first_of_a, first_of_b) < -kFar)
    return 0;
  const auto rank_of_a = static_cast<size_t>(function.type(a).rank());
  const auto rank_of_b = static_cast<size_t>(function.type(b).rank());
  for (size_t axis = 0; axis < std::min(rank_of_a, rank_of_b); ++axis) {
    if (!is_one(function, function.operand(a, 2 + axis), function.operand(b, 2 + axis)) ||
        !is_one(function, function.operand(a, 2 + rank_of_a + axis),
                function.operand(b, 2 + rank_of_b + axis)))
      return 0;
    const auto apart = ir::known_number(function, function.operand(a, 2 + rank_of_a + axis));
    const auto reach_of_a = reach_inside(function, a, axis + 1);
    const auto reach_of_b = reach_inside(function, b, axis + 1);
    if (apart && reach_of_a && reach_of_b) {
      const int64_t end = std::max(first_of_a + *reach_of_a, first_of_b + *reach_of_b);
      if (end - std::min(first_of_a, first_of_b) <= *apart) return axis + 1;
    }
    const bool has_next = axis + 1 < std::min(rank_of_a, rank_of_b);
    if (!has_next || !goes_on(function, a, axis)) return 0;
  }
  return 0;
}

bool is_beside(const ir::Function& function, NodeId view, NodeId other) {
  if (view == other) return true;
  const int rank = function.type(view).rank();
  return rank == function.type(other).rank() &&
         axes_of_records(function, view, other) == static_cast<size_t>(rank) && rank > 0;
}

}  // namespace ingot::transform
