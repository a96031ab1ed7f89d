#include <algorithm>

#include "ir/evaluate.h"
#include "transform/lowering.h"

namespace ingot::transform {

namespace {

/// Whether combining with the identity gives every value back that a reduction can have. Not of complex
/// products, where inf * (1+0j) has a NaN, nor of multiples that have wrapped to a negative number.
bool keeps_by_identity(Op combiner, DType dtype) {
  return combiner == Op::multiply ? !base::is_complex(dtype) : combiner != Op::lcm;
}

}  // namespace

Nodes Lowering::Axes::join(Indices kept_indices, Indices reduced_indices) const {
  Nodes all;
  size_t k = 0;
  size_t r = 0;
  for (bool reduced_axis : is_reduced) all.push_back(reduced_axis ? reduced_indices[r++] : kept_indices[k++]);
  return all;
}

Lowering::Axes Lowering::split_axes(NodeId old, std::span<const int64_t> axes) const {
  Axes split;
  const Nodes& lengths = whole(old).lengths;
  for (size_t i = 0; i < lengths.size(); ++i) {
    const bool is_reduced = std::ranges::find(axes, static_cast<int64_t>(i)) != axes.end();
    split.is_reduced.push_back(is_reduced);
    (is_reduced ? split.reduced : split.kept).push_back(lengths[i]);
  }
  return split;
}

/// Gives a node its value for each index of the kept axes; it is a scalar when none is left.
void Lowering::define_reduced(NodeId id, const Axes& axes, const std::function<NodeId(Indices)>& value) {
  const auto operands = source_.operands(id);
  if (source_.type(id).is_scalar())
    return bind(id, in_versions(operands, {source_.type(id)}, [&] { return Nodes{value({})}; })[0]);
  const NodeId view = loops_.new_view(axes.kept, dtype_of(id));
  in_versions(operands, {}, [&] {
    loops_.nest(axes.kept, [&](Indices kept) { loops_.store(view, kept, value(kept)); });
    return Nodes();
  });
  define(id, fresh(view, axes.kept, dtype_of(id)));
}

/// A parallel loop combines in the order of reductions; starting from the identity, or from the first element
/// where there is none, does not change its value.
NodeId Lowering::reduce_range(NodeId id, const Axes& axes, Indices kept) {
  const NodeId x = source_.operand(id, 0);
  const Op combiner = source_.op_attribute(id, 0);
  const DType dtype = dtype_of(x);
  const auto identity = ir::identity_of(combiner, dtype);
  const NodeId start = identity ? b_.constant(Type::scalar(dtype), *identity)
                                : element(x, axes.join(kept, Nodes(axes.reduced.size(), b_.index(0))));
  const NodeId operands[] = {loops_.product(axes.reduced), start};
  const int64_t attributes[] = {static_cast<int64_t>(ir::Schedule::Serial), 0,
                                static_cast<int64_t>(combiner)};
  const ir::SpanId place = b_.span();
  const NodeId loop = b_.begin(Op::parallel_for, operands, attributes);
  const Type index[] = {ir::kInt64};
  const NodeId k = b_.enter(loop, 0, index)[0];
  const Nodes at = axes.join(kept, loops_.unflatten(k, axes.reduced));
  NodeId value = element(x, at);
  if (source_.operands(id).size() > 1)
    value = loops_.select(element(source_.operand(id, 1), at), value, start);
  b_.yield({value});
  b_.set_span(place);
  return b_.end(loop)[0];
}

void Lowering::lower_reduce(NodeId id) {
  const NodeId x = source_.operand(id, 0);
  const Axes axes = split_axes(x, source_.ints(id));
  const bool by_loop = keeps_by_identity(source_.op_attribute(id, 0), dtype_of(x));
  define_reduced(id, axes, [&](Indices kept) {
    return by_loop ? reduce_range(id, axes, kept) : reduce_lanes(id, axes, kept);
  });
}

/// The index of the first extreme or NaN of a range, as it stands in C order.
NodeId Lowering::arg_reduce_range(NodeId id, const Axes& axes, Indices kept) {
  const NodeId x = source_.operand(id, 0);
  const Op better = source_.op_attribute(id, 0) == Op::minimum ? Op::less : Op::greater;
  const bool has_nan = base::is_float(dtype_of(x)) || base::is_complex(dtype_of(x));
  const NodeId zero = b_.index(0);
  const Nodes inits = {zero, zero, element(x, axes.join(kept, Nodes(axes.reduced.size(), zero)))};
  const auto turn = [&](Indices indices, std::span<const NodeId> carried) {
    const NodeId value = element(x, axes.join(kept, indices));
    NodeId wins = b_.make(better, {value, carried[2]});
    if (has_nan) {
      wins = loops_.either(wins, b_.make(Op::isnan, {value}));
      wins = loops_.both(wins, loops_.negate(b_.make(Op::isnan, {carried[2]})));
    }
    return Nodes{loops_.add(carried[0], b_.index(1)), loops_.select(wins, carried[0], carried[1]),
                 loops_.select(wins, value, carried[2])};
  };
  return loops_.nest(axes.reduced, inits, turn)[1];
}

void Lowering::lower_arg_reduce(NodeId id) {
  const NodeId x = source_.operand(id, 0);
  std::vector<int64_t> listed{source_.attribute(id, 1)};
  if (listed[0] == -1) {
    listed.clear();
    for (int64_t i = 0; i < source_.type(x).rank(); ++i) listed.push_back(i);
  }
  const Axes axes = split_axes(x, listed);
  define_reduced(id, axes, [&](Indices kept) { return arg_reduce_range(id, axes, kept); });
}

void Lowering::lower_scan(NodeId id) {
  const NodeId x = source_.operand(id, 0);
  const Op combiner = source_.op_attribute(id, 0);
  const int64_t along[] = {source_.attribute(id, 1)};
  const Axes axes = split_axes(x, along);
  const Nodes lengths = whole(x).lengths;
  const NodeId view = loops_.new_view(lengths, dtype_of(id));
  loops_.nest(axes.kept, [&](Indices kept) {
    const NodeId start = loops_.zero(dtype_of(id));
    loops_.loop(axes.reduced[0], {&start, 1}, [&](Indices k, std::span<const NodeId> carried) {
      const Nodes at = axes.join(kept, k);
      const NodeId value = element(x, at);
      const NodeId is_first = loops_.equal(k[0], b_.index(0));
      const NodeId sum = loops_.select(is_first, value, b_.make(combiner, {carried[0], value}));
      loops_.store(view, at, sum);
      return Nodes{sum};
    });
  });
  define(id, fresh(view, lengths, dtype_of(id)));
}

}  // namespace ingot::transform
