// Distances. In iteration i the first access of a pair is at `a + i * step`, and the second at `b + i *
// step`. Lanes run the first one of iterations i + 1, i + 2, ... before the second one of iteration i. The
// two touch different bytes in three cases. `b - a` is less than the step by at least the bytes of an access:
// the second one is never where the first one comes only later (it is at the same element, at one that has
// been passed, at another field of its record). Or the first one does not come there within the largest
// number of lanes. Where the two steps may differ, as between an element and the row that it scales, the
// third case: what one touches in all iterations is before what the other does.

#include "transform/analyses/distances.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "ir/index_sum.h"
#include "transform/analyses/alias.h"

namespace ingot::transform {

namespace {

/// Elements from iteration to iteration: products with lanes and strides stay far from 64 bits.
constexpr int64_t kMostStep = int64_t{1} << 12;
constexpr int64_t kMostStride = int64_t{1} << 40;
/// Where strides are not the same, products of these two stay so.
constexpr int64_t kMostShortStride = int64_t{1} << 21;
constexpr int64_t kMostIterations = int64_t{1} << 40;

/// An index: a sum of values from outside the loop, and a multiple of the iteration's number.
struct Linear {
  ir::IndexSum start;
  int64_t step = 0;

  void subtract(const Linear& other) {
    start.add(other.start, -1);
    step -= other.step;
  }
};

class Indices {
 public:
  Indices(const Function& function, NodeId loop) : f_(function), loop_(loop) {}

  std::optional<Linear> linear(NodeId index) const {
    Linear found{ir::index_sum(f_, index)};
    const auto own = found.start.terms.find(f_.region_parameters(f_.region(loop_))[0]);
    if (own != found.start.terms.end()) {
      found.step = own->second;
      found.start.terms.erase(own);
    }
    const bool varies = std::ranges::any_of(found.start.terms,
                                            [&](const auto& term) { return f_.encloses(loop_, term.first); });
    if (varies || found.step > kMostStep || found.step < -kMostStep) return std::nullopt;
    return found;
  }
  /// The indices of an access along each axis; none: one of them does not grow by a constant.
  std::optional<std::vector<Linear>> of_access(NodeId access) const {
    const auto rank = static_cast<size_t>(f_.type(f_.operand(access, 0)).rank());
    std::vector<Linear> axes;
    for (const NodeId index : f_.operands(access).subspan(1, rank)) {
      auto found = linear(index);
      if (!found) return std::nullopt;
      axes.push_back(std::move(*found));
    }
    return axes;
  }

 private:
  const Function& f_;
  NodeId loop_;
};

/// Whether an access may be to neighbours in memory from iteration to iteration: lanes that scatter what they
/// store gain nothing.
bool may_be_to_neighbours(const Function& f, NodeId view, const std::vector<Linear>& axes) {
  const auto rank = static_cast<int64_t>(axes.size());
  int64_t along = -1;
  for (int64_t axis = 0; axis < rank; ++axis) {
    const int64_t step = axes[static_cast<size_t>(axis)].step;
    if (step == 0) continue;
    if (step != 1 || along >= 0) return false;
    along = axis;
  }
  if (along < 0) return false;
  if (f.op(view) == Op::view) {
    const NodeId stride = f.operand(view, static_cast<size_t>(2 + rank + along));
    return !f.is_constant(stride) ||
           f.constant(stride).as<int64_t>() == static_cast<int64_t>(base::size_of(f.type(view).dtype()));
  }
  if (f.op(view) != Op::param || f[view].parent != f.body()) return true;
  const ir::Layout layout = f.parameters()[static_cast<size_t>(f.attribute(view, 0))].layout;
  return layout == ir::Layout::Any || along == (layout == ir::Layout::C ? rank - 1 : 0);
}

/// Whether the first access of a pair is known to come in an iteration soon to where the second one is in
/// this.
bool is_known_to_meet(const Function& f, const AccessPair& pair, const std::vector<Linear>& first,
                      const std::vector<Linear>& second) {
  if (f.operand(pair.first, 0) != f.operand(pair.second, 0)) return false;
  uint64_t ahead = 0;
  for (size_t axis = 0; axis < first.size(); ++axis) {
    Linear between = second[axis];
    between.subtract(first[axis]);
    if (!between.start.is_constant() || between.step != 0) return false;
    if (first[axis].step == 0 && between.start.constant != 0) return false;
    if (first[axis].step == 0) continue;
    if (first[axis].step != 1) return false;
    ahead = static_cast<uint64_t>(between.start.constant);
  }
  return ahead - 1 < static_cast<uint64_t>(kMostLanes - 1);
}

bool is_once_in_iteration(const Function& f, NodeId loop, NodeId node) {
  for (NodeId at = f[f[node].parent].owner; at != loop; at = f[f[at].parent].owner)
    if (!at || f.op(at) != Op::if_) return false;
  return true;
}

/// Writes what is asked before a loop.
class Question {
 public:
  Question(LoopWriter& loops, const Function& function, NodeId loop, const std::function<NodeId(NodeId)>& use)
      : loops_(loops), b_(loops.builder()), f_(function), loop_(loop), indices_(function, loop), use_(use) {}

  NodeId ask(const AccessPair& pair) {
    const Location first = location_of(pair.first);
    const Location second = location_of(pair.second);
    const NodeId step = sum(first, step_of);
    const NodeId away = distance(first, second);
    const NodeId near = is_passed_or_far(first, second, step, away);
    if (first.strides == second.strides &&
        std::ranges::equal(first.axes, second.axes, {}, &Linear::step, &Linear::step))
      return near;
    const NodeId other_step = sum(second, step_of);
    const NodeId together = loops_.both(loops_.equal(step, other_step), near);
    return loops_.either(together, are_disjoint(first, second, step, other_step, away));
  }

 private:
  struct Location {
    NodeId view;  ///< of the source
    Nodes strides;
    std::vector<Linear> axes;
    int64_t size;
  };
  static ir::IndexSum step_of(const Linear& axis) { return {.terms = {}, .constant = axis.step}; }
  static ir::IndexSum start_of(const Linear& axis) { return axis.start; }

  /// The first two cases, of accesses whose steps are the same.
  NodeId is_passed_or_far(const Location& first, const Location& second, NodeId step, NodeId away) {
    const NodeId bytes = b_.index(std::max(first.size, second.size));
    const NodeId is_back = loops_.less(step, b_.index(0));
    const NodeId ahead = loops_.select(is_back, b_.make(Op::negative, {away}), away);
    const NodeId stride = loops_.absolute(step);
    const NodeId behind = loops_.less_equal(ahead, loops_.subtract(stride, bytes));
    const NodeId all = loops_.multiply(stride, b_.index(kMostLanes - 1));
    const NodeId beyond = loops_.less_equal(loops_.add(all, bytes), ahead);
    return loops_.both(loops_.less_equal(stride, b_.index(kMostStride)), loops_.either(behind, beyond));
  }
  /// The third case.
  NodeId are_disjoint(const Location& first, const Location& second, NodeId step, NodeId other_step,
                      NodeId away) {
    const NodeId last = loops_.subtract(use_(f_.operand(loop_, 0)), b_.index(1));
    const NodeId zero = b_.index(0);
    const NodeId way = loops_.multiply(step, last);
    const NodeId other_way = loops_.multiply(other_step, last);
    const auto end = [&](NodeId start, NodeId length, int64_t size) {
      return loops_.add(loops_.add(start, loops_.maximum(length, zero)), b_.index(size));
    };
    const NodeId other_start = loops_.add(away, loops_.minimum(other_way, zero));
    const NodeId is_first = loops_.less_equal(end(zero, way, first.size), other_start);
    const NodeId is_second = loops_.less_equal(end(away, other_way, second.size), loops_.minimum(way, zero));
    const auto is_short = [&](NodeId stride) {
      return loops_.both(loops_.less_equal(b_.index(-kMostShortStride), stride),
                         loops_.less_equal(stride, b_.index(kMostShortStride)));
    };
    const NodeId is_small = loops_.both(loops_.both(is_short(step), is_short(other_step)),
                                        loops_.less_equal(last, b_.index(kMostIterations)));
    return loops_.both(is_small, loops_.either(is_first, is_second));
  }
  Location location_of(NodeId access) {
    const NodeId view = f_.operand(access, 0);
    Location position{view, {}, *indices_.of_access(access), 0};
    for (int64_t axis = 0; axis < f_.type(view).rank(); ++axis)
      position.strides.push_back(b_.make(Op::stride, {use_(view)}, {axis}));
    position.size = static_cast<int64_t>(base::size_of(f_.type(view).dtype()));
    return position;
  }

  /// From the first element of one view to that of another.
  NodeId between(NodeId first, NodeId second) {
    if (first == second) return b_.index(0);
    if (memory_of(f_, first) != memory_of(f_, second))
      return b_.make(Op::distance, {use_(first), use_(second)});
    return loops_.subtract(b_.make(Op::offset, {use_(second)}), b_.make(Op::offset, {use_(first)}));
  }
  template <class Part>
  NodeId sum(const Location& position, Part&& part) {
    NodeId all = b_.index(0);
    for (size_t i = 0; i < position.axes.size(); ++i) {
      const NodeId along = ir::write(b_, part(position.axes[i]), use_);
      all = loops_.add(all, loops_.multiply(along, position.strides[i]));
    }
    return all;
  }
  /// From the first to the second location of the first iteration.
  NodeId distance(const Location& first, const Location& second) {
    const bool are_alike = first.strides == second.strides;
    const NodeId views = between(first.view, second.view);
    if (!are_alike) return loops_.add(views, loops_.subtract(sum(second, start_of), sum(first, start_of)));
    Location both = second;
    for (size_t i = 0; i < both.axes.size(); ++i) both.axes[i].subtract(first.axes[i]);
    return loops_.add(views, sum(both, start_of));
  }

  LoopWriter& loops_;
  ir::Builder& b_;
  const Function& f_;
  NodeId loop_;
  Indices indices_;
  const std::function<NodeId(NodeId)>& use_;
};

}  // namespace

bool can_ask_for_order(const Function& f, NodeId loop, const AccessPair& pair) {
  const Indices indices(f, loop);
  std::vector<std::vector<Linear>> positions;
  for (const NodeId access : {pair.first, pair.second}) {
    if (f.op(access) != Op::load && f.op(access) != Op::store) return false;
    const NodeId view = f.operand(access, 0);
    if (f.encloses(loop, view) || !is_once_in_iteration(f, loop, access)) return false;
    const auto axes = indices.of_access(access);
    if (!axes || (f.op(access) == Op::store && !may_be_to_neighbours(f, view, *axes))) return false;
    positions.push_back(*axes);
  }
  return !is_known_to_meet(f, pair, positions[0], positions[1]);
}

NodeId keeps_order(LoopWriter& loops, const Function& function, NodeId loop,
                   std::span<const AccessPair> pairs, const std::function<NodeId(NodeId)>& use) {
  Question question(loops, function, loop, use);
  NodeId all = loops.truth(true);
  for (const AccessPair& pair : pairs) all = loops.both(all, question.ask(pair));
  return all;
}

}  // namespace ingot::transform
