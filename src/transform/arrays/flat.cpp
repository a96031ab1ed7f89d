// Elements by their number in C order. Where all arrays that a nest goes through have the same lengths and
// are contiguous, one loop goes through all of their axes: rows may be short.
//
// Elements by number. Where all that a nest goes through has the same lengths and is known to be contiguous
// (arguments in C order, new arrays, parts of these), one loop goes through all axes
// (`transform/arrays/flat`): rows of three elements cost what one long row does. What is dear to compute is
// evaluated before a broadcast that repeats it.

#include <algorithm>

#include "ir/directives.h"
#include "transform/arrays/lowering.h"

namespace ingot::transform {

/// Whether a view is known to be C-contiguous.
bool Lowering::is_contiguous(NodeId view) {
  const Nodes lengths = lengths_of_view(view);
  const Nodes strides = strides_of_view(view);
  NodeId distance = b_.index(static_cast<int64_t>(base::size_of(b_.function().type(view).dtype())));
  for (size_t i = lengths.size(); i-- > 0;) {
    if (strides[i] != distance) return false;
    if (i > 0) distance = loops_.multiply(distance, lengths[i]);
  }
  return true;
}

/// Whether elements of arrays are evaluated from those of the same number.
bool Lowering::are_flat(std::span<const NodeId> arrays) const {
  if (ir::names_loops(b_.function(), b_.span())) return false;
  return all_below(arrays, [&](NodeId old) -> std::optional<bool> {
    if (whole(old).view) return whole(old).contiguous;
    if (source_.op(old) == Op::broadcast) {
      const NodeId x = source_.operand(old, 0);
      const bool stays = !source_.type(x).is_array() || ((is_identity_[old.index] || repeats_nothing(old)) &&
                                                         source_.type(x).rank() == source_.type(old).rank());
      return stays ? std::nullopt : std::optional(false);
    }
    return is_pointwise(old) ? std::nullopt : std::optional(false);
  });
}

bool Lowering::is_flat(NodeId old) const { return are_flat({&old, 1}); }

NodeId Lowering::flat_view(NodeId view) {
  const auto [found, is_new] = flat_views_.try_emplace(view.index);
  if (is_new) {
    const NodeId total = loops_.product(lengths_of_view(view));
    const NodeId buffer = b_.make(Op::buffer, {view});
    found->second =
        loops_.c_view(buffer, b_.make(Op::offset, {view}), {&total, 1}, b_.function().type(view).dtype());
  }
  return found->second;
}

/// Makes the flat views that elements of `old` are loaded from, before the loops.
void Lowering::flatten(NodeId old) {
  if (!source_.type(old).is_array()) return;
  if (whole(old).view) {
    flat_view(whole(old).view);
    return;
  }
  const auto operands = source_.operands(old);
  for (NodeId operand : operands.first(source_.op(old) == Op::broadcast ? 1 : operands.size()))
    flatten(operand);
}

/// What `loops` writes, elements of arrays being asked for by their number.
void Lowering::by_number(std::span<const NodeId> arrays, const std::function<void()>& loops) {
  flat_views_.clear();
  for (NodeId old : arrays) flatten(old);
  by_number_ = true;
  loops();
  by_number_ = false;
}

}  // namespace ingot::transform
