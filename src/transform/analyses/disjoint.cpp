#include "transform/analyses/disjoint.h"

#include <algorithm>
#include <optional>

#include "ir/walk.h"
#include "transform/analyses/alias.h"

namespace ingot::transform {

using ir::Function;
using ir::NodeId;
using ir::Op;

namespace {

/// Whether a number is the product of two others, as `simplify` leaves it.
bool is_product(const Function& f, NodeId product, NodeId a, NodeId b) {
  const auto number = [&](NodeId node) { return f.constant(node).as<int64_t>(); };
  const auto is_one = [&](NodeId node) { return f.is_constant(node) && number(node) == 1; };
  if (is_one(a) || is_one(b)) return product == (is_one(a) ? b : a);
  if (f.is_constant(product) && f.is_constant(a) && f.is_constant(b)) {
    int64_t expected = 0;
    return !__builtin_mul_overflow(number(a), number(b), &expected) && number(product) == expected;
  }
  const NodeId factors[] = {a, b};
  return f.op(product) == Op::multiply && std::ranges::is_permutation(f.operands(product), factors);
}

}  // namespace

bool is_in_c_order(const Function& f, NodeId view) {
  const auto rank = static_cast<size_t>(f.type(view).rank());
  const auto lengths = f.operands(view).subspan(2, rank);
  const auto strides = f.operands(view).subspan(2 + rank, rank);
  const auto size = static_cast<int64_t>(base::size_of(f.type(view).dtype()));
  for (size_t axis = rank; axis-- > 0;) {
    if (axis + 1 == rank) {
      if (!f.is_constant(strides[axis]) || f.constant(strides[axis]).as<int64_t>() != size) return false;
      continue;
    }
    if (!is_product(f, strides[axis], strides[axis + 1], lengths[axis + 1])) return false;
  }
  return true;
}

NodeId laid_out_as(const Function& f, NodeId view) {
  const auto parts = f.operands(view);
  if (f.op(parts[0]) != Op::buffer) return {};
  const NodeId of = f.operand(parts[0], 0);
  const auto rank = static_cast<size_t>(f.type(view).rank());
  if (!f.type(of).is_view() || static_cast<size_t>(f.type(of).rank()) != rank) return {};
  const auto is_part = [&](NodeId part, Op op) { return f.op(part) == op && f.operand(part, 0) == of; };
  if (!is_part(parts[1], Op::offset)) return {};
  for (size_t axis = 0; axis < rank; ++axis) {
    const NodeId stride = parts[2 + rank + axis];
    if (!is_part(stride, Op::stride) || f.attribute(stride, 0) != static_cast<int64_t>(axis)) return {};
  }
  return of;
}

namespace {

/// Whether a view shows a part of another one: each of its axes goes along one of that, in whole steps.
NodeId part_of(const Function& f, NodeId view) {
  const NodeId buffer = f.operand(view, 0);
  if (f.op(buffer) != Op::buffer) return {};
  const NodeId of = f.operand(buffer, 0);
  const auto rank = static_cast<size_t>(f.type(view).rank());
  if (!f.type(of).is_view() || f.type(of).dtype() != f.type(view).dtype()) return {};
  std::vector<int64_t> axes;
  for (NodeId stride : f.operands(view).subspan(2 + rank, rank)) {
    const auto is_axis = [&](NodeId node) { return f.op(node) == Op::stride && f.operand(node, 0) == of; };
    while (f.op(stride) == Op::multiply)
      stride =
          f.operand(stride, is_axis(f.operand(stride, 1)) || f.is_constant(f.operand(stride, 0)) ? 1 : 0);
    if (f.op(stride) == Op::negative) stride = f.operand(stride, 0);
    if (!is_axis(stride) || std::ranges::find(axes, f.attribute(stride, 0)) != axes.end()) return {};
    axes.push_back(f.attribute(stride, 0));
  }
  return of;
}

/// Whether axes of a view may go along the same elements, as those of windows and of repeated rows do: two
/// have one stride, or one may have a stride of 0. Strides of parts of an array in C order do neither.
bool has_doubtful_strides(const Function& f, NodeId view) {
  const auto rank = static_cast<size_t>(f.type(view).rank());
  const auto strides = f.operands(view).subspan(2 + rank, rank);
  const auto number_of = [&](NodeId node) {
    return f.is_constant(node) ? std::optional(f.constant(node).as<int64_t>()) : std::nullopt;
  };
  for (size_t i = 0; i < rank; ++i) {
    if (f.op(strides[i]) == Op::select || number_of(strides[i]) == 0) return true;
    for (size_t k = 0; k < i; ++k) {
      const bool are_equal = number_of(strides[i]) && number_of(strides[i]) == number_of(strides[k]);
      if (strides[i] == strides[k] || are_equal) return true;
    }
  }
  return false;
}

/// Follows views to one whose elements are known to have different locations.
class Layout {
 public:
  Layout(const Function& function, NodeId loop, Layouts& found) : f_(function), loop_(loop), found_(found) {}

  void look(NodeId view) {
    const NodeId memory = memory_of(f_, view);
    if (f_.op(memory) == Op::alloc && f_.encloses(loop_, memory)) return;  // the iteration's own
    NodeId at = view;
    while (f_.op(at) == Op::view && !is_known(at)) {
      const NodeId whole = part_of(f_, at);
      if (!whole) break;
      at = whole;
    }
    if (is_known(at)) return;
    if (f_.op(at) == Op::view) {
      const auto extent = f_.operands(at).subspan(2);
      if (std::ranges::any_of(extent, [&](NodeId number) { return f_.encloses(loop_, number); })) {
        found_.known = found_.known && !has_doubtful_strides(f_, at);
        return;
      }
    } else if (f_.encloses(loop_, at)) {
      found_.known = false;
      return;
    }
    if (std::ranges::find(found_.views, at) == found_.views.end()) found_.views.push_back(at);
  }

 private:
  bool is_known(NodeId view) const {
    if (f_.type(view).rank() == 0) return true;
    if (f_.op(view) == Op::view) return is_in_c_order(f_, view);
    if (f_.op(view) != Op::param || f_[view].parent != f_.body()) return false;
    const auto& parameter = f_.parameters()[static_cast<size_t>(f_.attribute(view, 0))];
    return parameter.layout != ir::Layout::Any;
  }

  const Function& f_;
  const NodeId loop_;
  Layouts& found_;
};

}  // namespace

Layouts written_layouts(const Function& f, NodeId loop) {
  Layouts found;
  Layout layout(f, loop, found);
  ir::walk(f, loop, [&](NodeId node) {
    const ir::Effects effects = ir::info(f.op(node)).effects;
    if (f[node].region_count > 0 || effects == ir::effect::Control || !effects.any(ir::effect::Write)) return;
    for (const NodeId operand : f.operands(node))
      if (f.type(operand).is_view()) layout.look(operand);
  });
  return found;
}

bool stands_once(const Function& f, NodeId loop, NodeId view) {
  Layouts found;
  Layout(f, loop, found).look(view);
  return found.known && found.views.empty();
}

NodeId are_disjoint(LoopWriter& loops, const Function& f, std::span<const NodeId> views,
                    const std::function<NodeId(NodeId)>& use) {
  NodeId all = loops.truth(true);
  for (const NodeId view : views) {
    const Type type = f.type(view);
    const auto rank = static_cast<size_t>(type.rank());
    Nodes lengths;
    Nodes strides;
    for (size_t axis = 0; axis < rank; ++axis) {
      if (f.op(view) == Op::view) {
        lengths.push_back(use(f.operand(view, 2 + axis)));
        strides.push_back(use(f.operand(view, 2 + rank + axis)));
        continue;
      }
      lengths.push_back(loops.builder().length(use(view), static_cast<int>(axis)));
      strides.push_back(loops.builder().make(Op::stride, {use(view)}, {static_cast<int64_t>(axis)}));
    }
    const auto element = static_cast<int64_t>(base::size_of(type.dtype()));
    NodeId holds = is_disjoint<LoopWriter, NodeId>(loops, lengths, strides, element);
    for (const NodeId length : lengths) holds = loops.either(holds, loops.less(length, loops.index(1)));
    all = loops.both(all, holds);
  }
  return all;
}

}  // namespace ingot::transform
