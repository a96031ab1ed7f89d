#include <algorithm>
#include <array>

#include "transform/analyses/activity.h"
#include "transform/analyses/disjoint.h"
#include "transform/derivatives/pullback.h"
#include "transform/derivatives/reduce_slopes.h"
#include "transform/writers/loop_writer.h"

// Memory: what was loaded adds to the shadow, what is stored takes the shadow with it.

namespace ingot::transform {

Pullback::Overlap Pullback::overlap_of(NodeId view) const {
  switch (source_.op(view)) {
    case Op::materialize: return Overlap::None;
    case Op::param: {
      const bool is_known =
          source_[view].parent == source_.body() &&
          source_.parameters()[static_cast<size_t>(source_.attribute(view, 0))].layout != ir::Layout::Any;
      return is_known ? Overlap::None : Overlap::Unknown;
    }
    case Op::slice:
    case Op::transpose:
    case Op::squeeze:
    case Op::expand:
    case Op::reshape:
    case Op::lift:
    case Op::primal: return overlap_of(source_.operand(view, 0));
    case Op::broadcast: return Overlap::Some;
    case Op::view: {
      const NodeId same = laid_out_as(source_, view);
      if (same) return overlap_of(same);
      return is_in_c_order(source_, view) ? Overlap::None : Overlap::Unknown;
    }
    default: return Overlap::Unknown;
  }
}

void Pullback::add_to(NodeId view, NodeId c) {
  const NodeId shadow = sweep_.shadow(view);
  if (!shadow) return;
  const auto at_once = [&] {
    make(Op::write, {shadow, make(Op::add, {make(Op::read, {shadow}), mirrored(c)})});
    return Nodes();
  };
  LoopWriter w(b_);
  const auto one_by_one = [&] {
    const NodeId all = make(Op::materialize, {mirrored(c)});
    w.nest(lengths_of(b_, shadow), [&](std::span<const NodeId> indices) {
      const NodeId element = element_of(shadow, indices);
      make(Op::store, {element, make(Op::add, {make(Op::load, {element}), w.load(all, indices)})});
    });
    return Nodes();
  };
  const Overlap overlap = overlap_of(view);
  if (overlap == Overlap::None) at_once();
  else if (overlap == Overlap::Some) one_by_one();
  else w.branch(is_disjoint_from_others(shadow), {}, at_once, one_by_one);
}

/// Whether different indices of a view are different locations, found when the code runs.
NodeId Pullback::is_disjoint_from_others(NodeId view) {
  LoopWriter w(b_);
  Nodes strides;
  for (int axis = 0; axis < b_.function().type(view).rank(); ++axis)
    strides.push_back(b_.make(Op::stride, {view}, {axis}));
  const Nodes all = lengths_of(b_, view);
  const auto size = static_cast<int64_t>(base::size_of(b_.function().type(view).dtype()));
  return is_disjoint<LoopWriter, NodeId>(w, all, strides, size);
}

/// One element as a view of its own: nothing is known of whether two of them are the same memory.
NodeId Pullback::element_of(NodeId view, std::span<const NodeId> indices) {
  LoopWriter w(b_);
  NodeId offset = make(Op::offset, {view});
  for (size_t axis = 0; axis < indices.size(); ++axis) {
    const NodeId stride = b_.make(Op::stride, {view}, {static_cast<int64_t>(axis)});
    offset = w.add(offset, w.multiply(indices[axis], stride));
  }
  const Type type = b_.function().type(view);
  return w.view(make(Op::buffer, {view}), offset, {}, {}, Type::view(type.dtype(), 0, type.space()));
}

void Pullback::visit_load(NodeId id, NodeId c) {
  const auto old = source_.operands(id);
  const NodeId shadow = sweep_.shadow(old[0]);
  if (!shadow) return;
  if (source_.op(id) == Op::read) return add_to(old[0], c);
  Nodes position{shadow};
  for (size_t i = 1; i < old.size(); ++i) position.push_back(sweep_.value(old[i]));
  if (overlap_of(old[0]) == Overlap::Some) position = {element_of(shadow, std::span(position).subspan(1))};
  const NodeId there = b_.make(Op::load, position);
  position.push_back(make(Op::add, {there, mirrored(c)}));
  b_.make(Op::store, position);
}

/// Whether it was a node that writes, or makes memory.
bool Pullback::visit_memory(NodeId id) {
  const auto old = source_.operands(id);
  const bool stores = ir::info(source_.op(id)).effects.any(ir::effect::Write) && !old.empty();
  if (stores && !has_tangents(source_.type(old[0])) && !clears_bytes(source_, id)) return true;
  switch (source_.op(id)) {
    case Op::write: visit_write(id); return true;
    case Op::store: visit_store(id); return true;
    case Op::scatter: visit_scatter(id); return true;
    case Op::materialize:
      if (const NodeId shadow = sweep_.shadow(id); shadow && sweep_.varies(old[0]))
        sweep_.add(old[0], mirrored(make(Op::read, {shadow})));
      return true;
    case Op::copy: {
      const NodeId to = sweep_.shadow(old[0]);
      if (!to) return true;
      const NodeId c = make(Op::read, {to});
      make(Op::write, {to, zero(source_.type(old[0]))});
      add_to(old[1], mirrored(c));
      return true;
    }
    default: return false;
  }
}

void Pullback::visit_write(NodeId id) {
  const auto old = source_.operands(id);
  const NodeId shadow = sweep_.shadow(old[0]);
  if (!shadow) return;
  if (overlap_of(old[0]) == Overlap::Some)
    refuse_derivative(source_, id, "the derivative of a write into elements that are the same memory");
  const NodeId c = mirrored(make(Op::read, {shadow}));
  if (sweep_.varies(old[1])) add_all(old[1], c);
  make(Op::write, {shadow, zero(source_.type(old[0]))});
}

void Pullback::visit_store(NodeId id) {
  const auto old = source_.operands(id);
  Nodes position{sweep_.shadow(old[0])};
  if (!position[0]) return;
  for (const NodeId index : old.subspan(1, old.size() - 2)) position.push_back(sweep_.value(index));
  if (sweep_.varies(old.back())) sweep_.add(old.back(), mirrored(b_.make(Op::load, position)));
  position.push_back(zero(source_.type(old[0])));
  b_.make(Op::store, position);
}

/// Each element stores its number at its location, and is the last one there if the location has that number
/// afterwards.
NodeId Pullback::last_ones(NodeId view, std::span<const NodeId> indices, std::span<const int64_t> axes) {
  LoopWriter w(b_);
  const Nodes shape = lengths_of(b_, indices[0]);
  const NodeId count = w.product(shape);
  Nodes operands{b_.make(Op::iota, std::array{count}, std::array<int64_t, 1>{0})};
  operands.insert(operands.end(), shape.begin(), shape.end());
  const NodeId numbers = b_.make(Op::reshape, operands);
  Nodes positions;
  std::vector<int64_t> all;
  for (size_t i = 0; i < axes.size(); ++i) {
    positions.push_back(b_.length(view, static_cast<int>(axes[i])));
    all.push_back(static_cast<int64_t>(i));
  }
  const NodeId last = w.new_view(positions, base::DType::Int64);
  std::vector<int64_t> attributes{static_cast<int64_t>(Op::constant)};
  attributes.insert(attributes.end(), all.begin(), all.end());
  Nodes stored{last, numbers};
  stored.insert(stored.end(), indices.begin(), indices.end());
  b_.make(Op::scatter, stored, attributes);
  Nodes looked{make(Op::read, {last})};
  looked.insert(looked.end(), indices.begin(), indices.end());
  return make(Op::equal, {b_.make(Op::gather, looked, all), numbers});
}

void Pullback::visit_scatter(NodeId id) {
  const auto old = source_.operands(id);
  const NodeId shadow = sweep_.shadow(old[0]);
  if (!shadow) return;
  const Op combiner = source_.op_attribute(id, 0);
  if (combiner != Op::constant && combiner != Op::add && combiner != Op::subtract)
    refuse_derivative(source_, id);
  Nodes indices;
  for (const NodeId index : old.subspan(2)) indices.push_back(sweep_.value(index));
  Nodes chosen{make(Op::read, {shadow})};
  chosen.insert(chosen.end(), indices.begin(), indices.end());
  NodeId c = mirrored(b_.make(Op::gather, chosen, source_.ints(id)));
  const NodeId none = zero(source_.type(old[0]));
  if (combiner == Op::subtract) c = make(Op::negative, {c});
  if (combiner == Op::constant) {
    NodeId is_last = last_ones(shadow, indices, source_.ints(id));
    const Nodes shape = lengths_of(b_, c);
    const int indexed = b_.function().type(is_last).rank();
    std::vector<int64_t> others;
    for (auto axis = static_cast<int64_t>(indexed); axis < static_cast<int64_t>(shape.size()); ++axis)
      others.push_back(axis);
    if (!others.empty()) is_last = b_.make(Op::expand, std::array{is_last}, others);
    Nodes operands{is_last};
    operands.insert(operands.end(), shape.begin(), shape.end());
    is_last = b_.make(Op::broadcast, operands);
    if (sweep_.varies(old[1])) sweep_.add(old[1], make(Op::select, {is_last, c, none}));
    Nodes cleared{shadow, none};
    cleared[1] = [&] {
      Nodes zeros{none};
      zeros.insert(zeros.end(), shape.begin(), shape.end());
      return b_.make(Op::broadcast, zeros);
    }();
    cleared.insert(cleared.end(), indices.begin(), indices.end());
    b_.make(Op::scatter, cleared, source_.attributes(id));
    return;
  }
  if (sweep_.varies(old[1])) sweep_.add(old[1], c);
}

}  // namespace ingot::transform
