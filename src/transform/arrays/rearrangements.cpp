#include <algorithm>

#include "transform/arrays/lowering.h"

namespace ingot::transform {

namespace {

/// The entries of a shape after an axis was dropped or inserted: `one` is at inserted positions.
Nodes without(std::span<const NodeId> all, std::span<const int64_t> axes) {
  Nodes kept;
  for (size_t i = 0; i < all.size(); ++i)
    if (std::ranges::find(axes, static_cast<int64_t>(i)) == axes.end()) kept.push_back(all[i]);
  return kept;
}
Nodes with(Nodes all, std::span<const int64_t> axes, NodeId one) {
  for (int64_t axis : axes) all.insert(all.begin() + axis, one);
  return all;
}
Nodes permuted(std::span<const NodeId> all, std::span<const int64_t> axes) {
  Nodes turned;
  for (int64_t axis : axes) turned.push_back(all[static_cast<size_t>(axis)]);
  return turned;
}

}  // namespace

Nodes Lowering::lengths_of_view(NodeId view) {
  Nodes lengths;
  for (int i = 0; i < b_.function().type(view).rank(); ++i) lengths.push_back(b_.length(view, i));
  return lengths;
}

Nodes Lowering::strides_of_view(NodeId view) {
  Nodes strides;
  for (int i = 0; i < b_.function().type(view).rank(); ++i)
    strides.push_back(b_.make(Op::stride, {view}, {i}));
  return strides;
}

/// The lengths of a rearrangement of something with these.
Nodes Lowering::rearranged_lengths(NodeId id, const Nodes& lengths) {
  switch (source_.op(id)) {
    case Op::transpose: return permuted(lengths, source_.ints(id));
    case Op::squeeze: return without(lengths, source_.ints(id));
    case Op::expand: return with(lengths, source_.ints(id), b_.index(1));
    case Op::slice: {
      Nodes sliced;
      for (size_t i = 0; i < lengths.size(); ++i) sliced.push_back(use(source_.operand(id, 2 + 3 * i)));
      return sliced;
    }
    default: return use_all(source_.operands(id).subspan(1));
  }
}

bool Lowering::is_one(NodeId length) const {
  return b_.function().is_constant(length) && b_.function().constant(length).as<int64_t>() == 1;
}

/// The strides of a rearrangement, but a reshape, of something with these lengths and strides.
Nodes Lowering::rearranged_strides(NodeId id, const Nodes& lengths, const Nodes& strides) {
  switch (source_.op(id)) {
    case Op::transpose: return permuted(strides, source_.ints(id));
    case Op::sized: return strides;
    case Op::squeeze: return without(strides, source_.ints(id));
    case Op::expand: {
      const NodeId size = b_.index(static_cast<int64_t>(base::size_of(source_.type(id).dtype())));
      return with(strides, source_.ints(id), size);
    }
    case Op::slice: {
      Nodes stepped;
      for (size_t i = 0; i < strides.size(); ++i)
        stepped.push_back(loops_.multiply(strides[i], use(source_.operand(id, 3 + 3 * i))));
      return stepped;
    }
    default: {
      const auto wanted = source_.operands(id).subspan(1);
      const size_t added = wanted.size() - strides.size();
      Nodes all(added, b_.index(0));
      for (size_t i = 0; i < strides.size(); ++i) {
        // One element is at the same location whatever the stride.
        const NodeId same = repeats_not(lengths[i], use(wanted[added + i]));
        all.push_back(loops_.select(same, strides[i], b_.index(0)));
      }
      return all;
    }
  }
}

/// The rearrangement of a view, by arithmetic on its layout.
NodeId Lowering::rearranged_view(NodeId id, NodeId v) {
  const Type type = b_.function().type(v);
  const Nodes old_lengths = lengths_of_view(v);
  const Nodes lengths = rearranged_lengths(id, old_lengths);
  const NodeId buffer = b_.make(Op::buffer, {v});
  NodeId offset = b_.make(Op::offset, {v});
  if (source_.op(id) == Op::reshape) return loops_.c_view(buffer, offset, lengths, type.dtype());
  const Nodes old_strides = strides_of_view(v);
  if (source_.op(id) == Op::slice)
    for (size_t i = 0; i < old_strides.size(); ++i)
      offset = loops_.add(offset, loops_.multiply(use(source_.operand(id, 1 + 3 * i)), old_strides[i]));
  return loops_.view(buffer, offset, lengths, rearranged_strides(id, old_lengths, old_strides),
                     Type::view(type.dtype(), static_cast<int>(lengths.size()), type.space()));
}

/// Whether a broadcast has more elements than its operand, unless both have few.
bool Lowering::repeats_for_certain(NodeId broadcast, const Whole& x) {
  const auto wanted = source_.operands(broadcast).subspan(1);
  const size_t added = wanted.size() - x.lengths.size();
  if (added > 0) return true;
  for (size_t i = 0; i < x.lengths.size(); ++i)
    if (is_one(x.lengths[i]) && !is_one(use(wanted[i]))) return true;
  return false;
}

void Lowering::lower_rearrangement(NodeId id) {
  const NodeId x = source_.operand(id, 0);
  if (source_.type(id).is_view()) return bind(id, rearranged_view(id, use(x)));
  const Op op = source_.op(id);
  Whole made{.dtype = dtype_of(id), .lengths = {}};
  if (!source_.type(x).is_array()) {
    made.lengths = use_all(source_.operands(id).subspan(1));
    return define(id, std::move(made));
  }
  Whole w = whole(x);
  const bool repeats = op == Op::broadcast && w.cost > 0 && (!is_step(id) || repeats_for_certain(id, w));
  if (repeats || op == Op::reshape) w = in_view(x);
  if (op == Op::reshape && !w.contiguous) {
    w = evaluated(x);
    keep(x, w);
  }
  if (w.view && whole(x).view == w.view) wholes_[x.index].fresh = false;
  made.reads = w.reads;
  made.cost = is_output(x) ? 0 : w.cost;
  made.work = work_of(x);
  made.repeats = w.repeats || (op == Op::broadcast && repeats_for_certain(id, w));
  if (w.view) {
    made.view = rearranged_view(id, w.view);
    const bool keeps_order = op == Op::squeeze || op == Op::expand || op == Op::reshape || op == Op::sized;
    made.contiguous = (w.contiguous && keeps_order) || is_contiguous(made.view);
    made.lengths = lengths_of_view(made.view);
  } else {
    made.lengths = rearranged_lengths(id, w.lengths);
  }
  define(id, std::move(made));
}

void Lowering::lower_broadcast(NodeId id) { lower_rearrangement(id); }
void Lowering::lower_transpose(NodeId id) { lower_rearrangement(id); }
void Lowering::lower_slice(NodeId id) { lower_rearrangement(id); }
void Lowering::lower_squeeze(NodeId id) { lower_rearrangement(id); }
void Lowering::lower_expand(NodeId id) { lower_rearrangement(id); }
void Lowering::lower_reshape(NodeId id) { lower_rearrangement(id); }
void Lowering::lower_sized(NodeId id) { lower_rearrangement(id); }

}  // namespace ingot::transform
