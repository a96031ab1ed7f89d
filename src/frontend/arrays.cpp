#include <numeric>

#include "frontend/kinds/value_kind.h"
#include "frontend/masks.h"

namespace ingot::frontend {

using base::ExceptionKind;
using ir::Op;

/// The parts in the order of the index; each indexes the axes of the array from `axis` on.
struct Evaluator::Indexing {
  enum class Part { Point, Range, New, Array };
  struct Item {
    Part part;
    int axis = -1;
    NodeId start, length, step;  ///< of points (start alone) and ranges
    NodeId array;                ///< i64 index array, or a scalar together with index arrays
    bool of_mask = false;        ///< of the indices where a mask is true, in range
  };
  std::vector<Item> items;
  NodeId mask;  ///< the only advanced part, over the leading axes
  bool advanced = false;
  bool copies = false;  ///< an array without axes is used as an integer: the result is no view
  bool open = false;    ///< with an Ellipsis: the result is an array, even without axes

  bool is_point(int rank) const {
    return !advanced && static_cast<int>(items.size()) == rank &&
           std::ranges::all_of(items, [](const Item& i) { return i.part == Part::Point; });
  }
};

NodeId Evaluator::both(NodeId a, NodeId b) { return builder_->make(Op::bitwise_and, {a, b}); }
NodeId Evaluator::negate(NodeId a) { return builder_->make(Op::invert, {a}); }

NodeId Evaluator::whole(const Value& value) {
  const Array& a = *value.as<Array>();
  if (a.type.is_array()) return a.node;
  return builder_->make(a.type.rank() == 0 ? Op::load : Op::read, {a.node});
}

Array Evaluator::named(const Value& value) {
  const Array& a = *value.as<Array>();
  return a.type.is_view() ? a : owner(materialized(a.node));
}

NodeId Evaluator::materialized(NodeId array) {
  return by_element({array},
                    [&](const auto& as_it_lies) { return builder_->make(Op::materialize, as_it_lies); });
}

NodeId Evaluator::transposed(NodeId array, std::span<const int64_t> axes) {
  return std::ranges::is_sorted(axes) ? array : builder_->make(Op::transpose, {&array, 1}, axes);
}

std::vector<int64_t> Evaluator::order_of(std::span<const NodeId> operands) {
  return memory_order(builder_->function(), operands, [this](NodeId array, int axis) {
    const NodeId one = builder_->make(Op::equal, {builder_->length(array, axis), builder_->index(1)});
    return builder_->function().is_constant(one, 1);
  });
}

NodeId Evaluator::by_element(std::vector<NodeId> operands, const Making& make) {
  const std::vector<int64_t> order = order_of(operands);
  for (NodeId& operand : operands)
    if (!builder_->function().type(operand).is_scalar()) operand = transposed(operand, order);
  return transposed(make(operands), inverse_of(order));
}

Array Evaluator::owner(NodeId view) {
  return {.type = builder_->function().type(view), .node = view, .object = next_object_++, .owns = true};
}

Array Evaluator::viewing(NodeId view, Access access) {
  return {.type = builder_->function().type(view), .node = view, .access = access, .object = next_object_++};
}

Value Evaluator::from_node(NodeId node) {
  const ir::Type type = builder_->function().type(node);
  if (type.is_scalar()) return Scalar{Kind(type.dtype()), node};
  return Array{type, node};
}

std::vector<NodeId> Evaluator::lengths_of(NodeId shaped) {
  std::vector<NodeId> lengths;
  for (int axis = 0; axis < builder_->function().type(shaped).rank(); ++axis)
    lengths.push_back(builder_->length(shaped, axis));
  return lengths;
}

NodeId Evaluator::size_of(NodeId shaped) {
  NodeId size = builder_->index(1);
  for (const NodeId length : lengths_of(shaped)) size = builder_->make(Op::multiply, {size, length});
  return size;
}

namespace {

/// Whether all iterations of an access, to the array and at the indices among `operands`, use the same index
/// of the last axis.
bool takes_one_place(const ir::Builder& builder, std::span<const NodeId> operands) {
  return operands.size() > 1 && builder.function().is_constant(operands.back());
}
NodeId last_length(ir::Builder& builder, NodeId array) {
  return builder.length(array, builder.function().type(array).rank() - 1);
}

}  // namespace

void Evaluator::measure(NodeId length) {
  const ir::Function& f = builder_->function();
  if (f.op(length) != Op::length) return;
  const NodeId measured = f.operand(length, 0);
  const auto argument = unmeasured_.find(measured.index);
  if (argument == unmeasured_.end() || f.attribute(length, 0) + 1 != f.type(measured).rank()) return;
  throw NeedsFact::of(argument->second, location_of(here_), NeedsFact::Kind::Lengths);
}

NodeId Evaluator::reduce(std::vector<NodeId> operands, Op combiner, std::span<const int64_t> axes) {
  std::vector<int64_t> order = order_of({operands.data(), 1});
  // Axes of length 1 have no order: they should not be the last.
  std::ranges::stable_partition(order, [&](int64_t axis) {
    return builder_->function().is_constant(builder_->length(operands[0], static_cast<int>(axis)), 1);
  });
  for (NodeId& operand : operands) operand = transposed(operand, order);
  std::vector<int64_t> attributes{static_cast<int64_t>(combiner)};
  std::vector<int64_t> kept;
  for (size_t i = 0; i < order.size(); ++i) {
    if (std::ranges::find(axes, order[i]) != axes.end()) attributes.push_back(static_cast<int64_t>(i));
    else kept.push_back(order[i]);
  }
  if (axes.size() == 1 && attributes.back() + 1 == static_cast<int64_t>(order.size()))
    measure(builder_->length(operands[0], static_cast<int>(attributes.back())));
  const NodeId reduced = builder_->make(Op::reduce, operands, attributes);
  // The axes that are kept, numbered as in the result.
  for (int64_t& axis : kept) axis -= std::ranges::count_if(axes, [&](int64_t gone) { return gone < axis; });
  return kept.empty() ? reduced : transposed(reduced, inverse_of(kept));
}

NodeId Evaluator::reduce_all(const std::vector<NodeId>& operands, Op combiner) {
  std::vector<int64_t> axes(static_cast<size_t>(builder_->function().type(operands[0]).rank()));
  std::iota(axes.begin(), axes.end(), 0);
  return reduce(operands, combiner, axes);
}

/// How many numbers a message shows: the lengths of two arrays of any rank.
constexpr size_t kMaxShown = 2 * ir::kMaxRank;

std::vector<NodeId> Evaluator::broadcast_together(std::vector<NodeId> operands, ExceptionKind kind,
                                                  const char* complaint) {
  const ir::Function& f = builder_->function();
  int rank = -1;
  for (const NodeId operand : operands)
    if (f.type(operand).is_array()) rank = std::max(rank, f.type(operand).rank());
  if (rank < 0) return operands;
  std::vector<NodeId> shown;
  std::string shapes;
  for (const std::vector<NodeId>& all : {operands, outputs_})
    for (const NodeId operand : all)
      shapes += (f.type(operand).is_scalar() ? "()" : show_shape(lengths_of(operand), shown)) + " ";
  if (shown.size() > kMaxShown) {
    shapes = "of different lengths";
    shown.clear();
  }
  const NodeId one = builder_->index(1);
  const auto is_one = [&](NodeId length) { return builder_->make(Op::equal, {length, one}); };
  // For each axis: the common length, and the lengths that are checked to be equal to it.
  std::vector<std::vector<NodeId>> common(static_cast<size_t>(rank));
  for (const NodeId operand : operands) {
    if (!f.type(operand).is_array()) continue;
    const std::vector<NodeId> lengths = lengths_of(operand);
    for (size_t i = 0; i < lengths.size(); ++i) {
      std::vector<NodeId>& known = common[common.size() - lengths.size() + i];
      if (known.empty()) known.push_back(lengths[i]);
      if (std::ranges::find(known, lengths[i]) != known.end()) continue;
      const NodeId same = builder_->make(Op::equal, {known[0], lengths[i]});
      const NodeId one_is_1 = builder_->make(Op::bitwise_or, {is_one(known[0]), is_one(lengths[i])});
      check(builder_->make(Op::bitwise_or, {same, one_is_1}), kind, complaint + shapes, shown);
      if (f.is_constant(one_is_1, 0)) {
        known.push_back(lengths[i]);
        continue;
      }
      const NodeId merged = builder_->make(Op::select, {is_one(known[0]), lengths[i], known[0]});
      if (merged != known[0]) known = {merged};
    }
  }
  for (const NodeId output : outputs_) {
    const std::vector<NodeId> lengths = lengths_of(output);
    for (size_t i = 0; i < std::min(lengths.size(), common.size()); ++i) {
      const std::vector<NodeId>& known = common[common.size() - 1 - i];
      const NodeId length = lengths[lengths.size() - 1 - i];
      if (std::ranges::find(known, length) != known.end()) continue;
      const NodeId same = builder_->make(Op::equal, {known[0], length});
      const NodeId one_is_1 = builder_->make(Op::bitwise_or, {is_one(known[0]), is_one(length)});
      check(builder_->make(Op::bitwise_or, {same, one_is_1}), kind, complaint + shapes, shown);
    }
  }
  for (NodeId& operand : operands) {
    if (!f.type(operand).is_array()) continue;
    const std::vector<NodeId> lengths = lengths_of(operand);
    bool fits = lengths.size() == common.size();
    for (size_t i = 0; fits && i < lengths.size(); ++i)
      fits = std::ranges::find(common[i], lengths[i]) != common[i].end();
    if (fits) continue;
    std::vector<NodeId> parts{operand};
    for (const std::vector<NodeId>& lengths_of_axis : common) parts.push_back(lengths_of_axis[0]);
    operand = builder_->make(Op::broadcast, parts);
  }
  return operands;
}

NodeId Evaluator::in_range(NodeId index, NodeId length, int axis) {
  const NodeId zero = builder_->index(0);
  const NodeId lowest = builder_->make(Op::negative, {length});
  check(both(builder_->make(Op::greater_equal, {index, lowest}), builder_->make(Op::less, {index, length})),
        ExceptionKind::IndexError,
        "index {} is out of bounds for axis " + std::to_string(axis) + " with size {}", {index, length});
  return builder_->make(
      Op::select, {builder_->make(Op::less, {index, zero}), builder_->make(Op::add, {index, length}), index});
}

std::array<NodeId, 3> Evaluator::slice_of(const Slice& slice, NodeId length) {
  const NodeId zero = builder_->index(0);
  const NodeId one = builder_->index(1);
  // Optional parts: a number instead of None, and whether the part is there.
  std::array<NodeId, 3> there{};
  std::array<Value, 3> bounds;
  for (size_t i = 0; i < 3; ++i) {
    const Value& part = (*slice.parts)[i];
    const Maybe* m = part.as<Maybe>();
    if (m != nullptr) there[i] = is_there(*m);
    bounds[i] = m == nullptr ? plain_number(part)
                             : Scalar{m->present->as<Scalar>()->kind, builder_->make(Op::value, {m->node})};
  }
  const auto& [lower, upper, by] = bounds;
  const auto or_else = [&](size_t i, NodeId bound, NodeId otherwise) {
    return there[i] ? builder_->make(Op::select, {there[i], bound, otherwise}) : bound;
  };
  for (const Value* part : {&lower, &upper, &by}) {
    const std::optional<Kind> kind = kind_of(*part);
    const Array* array = part->as<Array>();
    const bool integer = kind && (array == nullptr || array->type.rank() == 0) &&
                         (base::is_int(kind->dtype()) || *kind == Kind::py_bool());
    if (is_none(*part) || integer) continue;
    need_one_kind(ExceptionKind::TypeError, {*part});
    raise(ExceptionKind::TypeError, "slice indices must be integers or None or have an __index__ method");
  }
  const auto is_unsigned_64 = [this](const Value& part) { return number_kind(part) == Kind(DType::UInt64); };
  // Numbers beyond 64 bits are clipped.
  const auto given = [&](const Value& part) {
    if (const Static* s = part.as<Static>(); s != nullptr && !static_int(part))
      return builder_->index(s->object < nb::int_(0) ? INT64_MIN : INT64_MAX);
    if (!is_unsigned_64(part)) return stage_index(part);
    const NodeId integer = stage(part, Kind::py_int());
    return builder_->make(Op::select,
                          {builder_->make(Op::less, {integer, zero}), builder_->index(INT64_MAX), integer});
  };
  // The clipped step can be negated.
  const NodeId step =
      is_none(by) ? one
                  : or_else(2, builder_->make(Op::maximum, {given(by), builder_->index(-INT64_MAX)}), one);
  check(builder_->make(Op::not_equal, {step, zero}), ExceptionKind::ValueError, "slice step cannot be zero");
  const NodeId up = builder_->make(Op::greater, {step, zero});
  // Python's slice.indices: each end is clipped to [0, n] going up, to [-1, n - 1] going down.
  const NodeId first = builder_->make(Op::select, {up, zero, builder_->index(-1)});
  const NodeId last = builder_->make(Op::select, {up, length, builder_->make(Op::subtract, {length, one})});
  const auto end = [&](size_t i, NodeId otherwise) {
    const Value& part = bounds[i];
    if (is_none(part)) return otherwise;
    const NodeId place = given(part);
    const NodeId wrapped = builder_->make(Op::select, {builder_->make(Op::less, {place, zero}),
                                                       builder_->make(Op::add, {place, length}), place});
    const NodeId clipped = builder_->make(Op::minimum, {builder_->make(Op::maximum, {wrapped, first}), last});
    return or_else(i, clipped, otherwise);
  };
  const NodeId start = end(0, builder_->make(Op::select, {up, first, last}));
  const NodeId stop = end(1, builder_->make(Op::select, {up, last, first}));
  const NodeId high = builder_->make(Op::select, {up, stop, start});
  const NodeId low = builder_->make(Op::select, {up, start, stop});
  const NodeId distance = builder_->make(Op::subtract, {high, low});
  const NodeId iterations = builder_->make(
      Op::add, {builder_->make(Op::floor_divide, {builder_->make(Op::subtract, {distance, one}),
                                                  builder_->make(Op::absolute, {step})}),
                one});
  return {start,
          builder_->make(Op::select, {builder_->make(Op::greater, {distance, zero}), iterations, zero}),
          step};
}

Evaluator::Indexing Evaluator::classify(const Array& array, const Value& index, nb::handle node) {
  std::vector<Value> parts = index.is<Tuple>() ? index.as<Tuple>()->members : std::vector<Value>{index};
  for (Value& part : parts) part = plain_number(part);
  for (Value& part : parts) part = present(part, "an index", node);
  for (const Value& part : parts)
    if (is_foreign(part)) use_foreign("subscript", "", {array, index}, node);
  const int rank = array.type.rank();
  const auto is_ellipsis = [](const Value& v) {
    return v.is<Static>() && v.as<Static>()->object.is(nb::ellipsis());
  };
  if (std::ranges::count_if(parts, is_ellipsis) > 1)
    raise(ExceptionKind::IndexError, "an index can only have a single ellipsis ('...')");
  int taken = 0;
  for (const Value& part : parts) {
    const Array* a = part.as<Array>();
    const std::optional<Kind> kind = kind_of(part);
    if (kind && base::is_bool(kind->dtype())) taken += a == nullptr ? 0 : a->type.rank();
    else if (!is_none(part) && !is_ellipsis(part)) ++taken;
  }
  if (taken > rank) {
    raise(ExceptionKind::IndexError, "too many indices for array: array is " + std::to_string(rank) +
                                         "-dimensional, but " + std::to_string(taken) + " were indexed");
  }
  Indexing result;
  for (Value& part : parts) {
    const Array* a = part.as<Array>();
    if (a == nullptr || a->type.rank() > 0 || !base::is_int(a->type.dtype())) continue;
    part = from_node(whole(part));
    result.copies = true;
  }
  result.open = std::ranges::any_of(parts, is_ellipsis);
  if (!result.open) parts.emplace_back(Static{nb::ellipsis()});
  int axis = 0;
  const Slice all{share(std::array<Value, 3>{Static{nb::none()}, Static{nb::none()}, Static{nb::none()}})};
  const auto add_range = [&](const Slice& slice) {
    const auto [start, length, step] = slice_of(slice, builder_->length(array.node, axis));
    result.items.push_back({Indexing::Part::Range, axis++, start, length, step, {}});
  };
  for (const Value& part : parts) {
    const std::optional<Kind> kind = kind_of(part);
    if (is_ellipsis(part)) {
      for (int left = rank - taken; left > 0; --left) add_range(all);
    } else if (is_none(part)) {
      result.items.push_back({Indexing::Part::New, -1, {}, {}, {}, {}});
    } else if (const Slice* slice = part.as<Slice>()) {
      add_range(*slice);
    } else if (part.is<Array>() && kind == Kind(DType::Bool)) {
      take_mask(result, part, axis, array.node);
      axis += part.as<Array>()->type.rank();
    } else if (part.is<Array>() && base::is_int(base::known(kind).dtype())) {
      result.advanced = true;
      result.items.push_back(
          {Indexing::Part::Array, axis++, {}, {}, {}, builder_->cast(whole(part), DType::Int64)});
    } else if (kind && base::is_int(kind->dtype()) && !is_object_of_numpy(part)) {
      result.items.push_back({Indexing::Part::Point, axis, stage_index(part), {}, {}, {}});
      ++axis;
    } else if (part.is<Reference>()) {
      unsupported(node, "an index that is a " + type_name(part), "index with np.array(...)");
    } else if (kind && base::is_bool(kind->dtype())) {
      unsupported(node, "an index that is one bool", "use `if`");
    } else if (part.is<Array>()) {
      raise(ExceptionKind::IndexError, "arrays used as indices must be of integer (or boolean) type");
    } else {
      need_one_kind(ExceptionKind::IndexError, {part});
      raise(ExceptionKind::IndexError,
            "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean "
            "arrays are valid indices");
    }
  }
  const bool one_mask = result.mask && !result.items.empty() && result.items[0].part == Indexing::Part::Array;
  const auto others = std::ranges::count_if(result.items, [](const Indexing::Item& i) {
    return i.part == Indexing::Part::Point || i.part == Indexing::Part::New;
  });
  const auto arrays = std::ranges::count(result.items, Indexing::Part::Array, &Indexing::Item::part);
  if (!one_mask || others > 0 || arrays != builder_->function().type(result.mask).rank()) result.mask = {};
  // Points are checked at the access; together with index arrays a point is an index array without axes.
  for (Indexing::Item& item : result.items) {
    if (item.part != Indexing::Part::Point) continue;
    item.start = in_range(item.start, builder_->length(array.node, item.axis), item.axis);
    if (result.advanced) {
      item.part = Indexing::Part::Array;
      item.array = item.start;
    }
  }
  return result;
}

void Evaluator::take_mask(Indexing& result, const Value& mask, int axis, NodeId array) {
  const NodeId flags = whole(mask);
  const int rank = mask.as<Array>()->type.rank();
  for (int k = 0; k < rank; ++k) {
    const NodeId size = builder_->length(array, axis + k);
    const NodeId given = builder_->length(flags, k);
    check(builder_->make(Op::equal, {size, given}), ExceptionKind::IndexError,
          "boolean index did not match indexed array along axis " + std::to_string(axis + k) +
              "; size of axis is {} but size of corresponding boolean axis is {}",
          {size, given});
  }
  const bool first = !result.advanced && result.items.empty() && axis == 0;
  result.mask = first ? flags : NodeId();
  result.advanced = true;
  for (int k = 0; k < rank; ++k) {
    const std::vector<NodeId> lengths = lengths_of(flags);
    const int64_t along[] = {k};
    const NodeId indices = builder_->make(Op::iota, lengths, along);
    result.items.push_back(
        {Indexing::Part::Array, axis + k, {}, {}, {}, builder_->make(Op::compress, {indices, flags}), true});
  }
}

NodeId Evaluator::take_part(NodeId shaped, const Indexing& indexing) {
  std::vector<NodeId> operands{shaped};
  std::vector<int64_t> squeezed;
  std::vector<int64_t> inserted;
  bool whole_array = true;
  const NodeId zero = builder_->index(0);
  const NodeId one = builder_->index(1);
  int64_t place = 0;
  for (const Indexing::Item& item : indexing.items) {
    if (item.part == Indexing::Part::New) {
      inserted.push_back(place++);
      continue;
    }
    const NodeId length = builder_->length(shaped, item.axis);
    if (item.part == Indexing::Part::Range) {
      whole_array = whole_array && item.start == zero && item.length == length && item.step == one;
      operands.insert(operands.end(), {item.start, item.length, item.step});
      ++place;
    } else if (item.part == Indexing::Part::Point) {
      whole_array = false;
      operands.insert(operands.end(), {item.start, one, one});
      squeezed.push_back(item.axis);
    } else {
      operands.insert(operands.end(), {zero, length, one});
      ++place;
    }
  }
  NodeId part = whole_array ? shaped : builder_->make(Op::slice, operands);
  const auto with_axes = [&](Op op, const std::vector<int64_t>& axes) {
    const NodeId operand[] = {part};
    if (!axes.empty()) part = builder_->make(op, operand, axes);
  };
  with_axes(Op::squeeze, squeezed);
  need_rank(static_cast<size_t>(place));
  with_axes(Op::expand, inserted);
  return part;
}

void Evaluator::take_from_the_end(NodeId shaped, const Indexing& indexing, std::vector<NodeId>& arrays) {
  size_t next = 0;
  const std::vector<NodeId> given = arrays;
  for (const Indexing::Item& item : indexing.items) {
    if (item.part != Indexing::Part::Array) continue;
    NodeId& array = arrays[next++];
    // A number together with arrays was checked when it was taken as an index.
    if (item.of_mask || !builder_->function().type(item.array).is_array()) continue;
    const NodeId length = builder_->length(shaped, item.axis);
    const NodeId lowest = builder_->make(Op::negative, {length});
    const NodeId bad =
        builder_->make(Op::bitwise_or, {builder_->make(Op::less, {item.array, lowest}),
                                        builder_->make(Op::greater_equal, {item.array, length})});
    NodeId is_bad = reduce_all({bad}, Op::bitwise_or);
    // If another array has no elements, nothing is taken, and NumPy does not check this one.
    for (const NodeId other : given) {
      if (other == item.array || !builder_->function().type(other).is_array()) continue;
      const NodeId some = builder_->make(Op::greater, {size_of(other), builder_->index(0)});
      is_bad = builder_->make(Op::bitwise_and, {is_bad, some});
    }
    fork(
        is_bad,
        [&]() -> Value {
          const NodeId at = builder_->make(Op::arg_reduce, {bad}, {static_cast<int64_t>(Op::maximum), -1});
          const NodeId flat = builder_->make(Op::reshape, {item.array, size_of(item.array)});
          const NodeId one = builder_->index(1);
          const NodeId culprit = reduce_all({builder_->make(Op::slice, {flat, at, one, one})}, Op::add);
          raise(ExceptionKind::IndexError,
                "index {} is out of bounds for axis " + std::to_string(item.axis) + " with size {}",
                {culprit, length});
        },
        [] { return Value(Static{nb::none()}); });
    const NodeId negative = builder_->make(Op::less, {array, builder_->index(0)});
    array = builder_->make(Op::select, {negative, builder_->make(Op::add, {array, length}), array});
  }
}

std::vector<NodeId> Evaluator::index_arrays(const Indexing& indexing) {
  std::vector<NodeId> arrays;
  for (const Indexing::Item& item : indexing.items)
    if (item.part == Indexing::Part::Array) arrays.push_back(item.array);
  // A scalar together with arrays is repeated.
  std::vector<NodeId> shaped_ones;
  for (const NodeId array : arrays)
    if (builder_->function().type(array).is_array()) shaped_ones.push_back(array);
  shaped_ones =
      broadcast_together(std::move(shaped_ones), ExceptionKind::IndexError,
                         "shape mismatch: indexing arrays could not be broadcast together with shapes ");
  for (size_t i = 0, next = 0; i < arrays.size(); ++i)
    if (builder_->function().type(arrays[i]).is_array()) arrays[i] = shaped_ones[next++];
  NodeId like;
  for (const NodeId array : arrays)
    if (builder_->function().type(array).is_array()) like = array;
  for (NodeId& array : arrays) {
    if (builder_->function().type(array).is_array()) continue;
    std::vector<NodeId> operands{array};
    const std::vector<NodeId> lengths = lengths_of(like);
    operands.insert(operands.end(), lengths.begin(), lengths.end());
    array = builder_->make(Op::broadcast, operands);
  }
  return arrays;
}

/// The axes of a gathered array in NumPy's order: for each axis of its result, the axis of `gather`'s.
std::vector<int64_t> Evaluator::gathered_order(const Indexing& indexing, int index_rank) const {
  int before = 0;
  int after = 0;
  bool seen = false;
  bool closed = false;
  bool apart = false;
  for (const Indexing::Item& item : indexing.items) {
    const bool is_array = item.part == Indexing::Part::Array;
    if (is_array && closed) apart = true;
    if (!is_array && seen) closed = true;
    seen = seen || is_array;
    if (!is_array) (seen ? after : before) += 1;
  }
  std::vector<int64_t> order;
  if (apart) before = 0;
  const int rest =
      apart ? static_cast<int>(std::ranges::count_if(
                  indexing.items, [](const Indexing::Item& i) { return i.part != Indexing::Part::Array; }))
            : before + after;
  order.reserve(static_cast<size_t>(before));
  for (int i = 0; i < before; ++i) order.push_back(index_rank + i);
  for (int i = 0; i < index_rank; ++i) order.push_back(i);
  for (int i = before; i < rest; ++i) order.push_back(index_rank + i);
  return order;
}

std::optional<std::pair<Array, Value>> Evaluator::without_sequences(const Array& array, const Value& index,
                                                                    nb::handle node) {
  std::vector<Value> parts = index.is<Tuple>() ? index.as<Tuple>()->members : std::vector<Value>{index};
  bool changed = false;
  size_t flag = parts.size();
  size_t open = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    Value& part = parts[i];
    const bool is_list = part.is<Reference>() && type_name(part) == "list";
    if (const Range* range = part.as<Range>()) {
      part = array_of_range(*range, node);
      changed = true;
      continue;
    }
    if ((is_list || part.is<Tuple>()) && !is_foreign(part)) {
      const bool empty = elements_of(part, node).empty();
      part = array_of(part, node);
      const DType dtype = part.as<Array>()->type.dtype();
      if (!empty && !base::is_int(dtype) && !base::is_bool(dtype)) {
        raise(ExceptionKind::IndexError,
              "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean "
              "arrays are valid indices");
      }
      if (empty) part = from_node(builder_->cast(whole(part), DType::Int64));
      changed = true;
      continue;
    }
    const std::optional<Kind> kind = kind_of(part);
    if (const Array* a = part.as<Array>();
        a != nullptr && a->type.rank() == 0 && base::is_bool(a->type.dtype()))
      part = from_node(whole(part));
    if (number_kind(part) && base::is_bool(kind->dtype())) {
      flag = i;
      ++open;
    }
  }
  if (open == 0)
    return changed ? std::optional(std::pair(array, Value(Tuple{std::move(parts)}))) : std::nullopt;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i != flag && !parts[i].is<Slice>() && !is_none(parts[i]) &&
        !(parts[i].is<Static>() && parts[i].as<Static>()->object.is(nb::ellipsis())))
      unsupported(node, "a bool among other indices", "use `if`");
  }
  // One bool is a mask without axes: a new axis, of which it takes the only element or none.
  const NodeId bit = stage(parts[flag], Kind::py_bool());
  parts[flag] = Static{nb::none()};
  size_t after = 0;
  for (size_t i = parts.size(); i-- > flag + 1;) {
    const bool is_open = parts[i].is<Static>() && parts[i].as<Static>()->object.is(nb::ellipsis());
    after += is_open ? 0 : 1;
  }
  const Indexing expanded = classify(array, Tuple{parts}, node);
  const NodeId view = take_part(array.node, expanded);
  bool ellipsis_before = false;
  for (size_t i = 0; i < flag; ++i) {
    ellipsis_before =
        ellipsis_before || (parts[i].is<Static>() && parts[i].as<Static>()->object.is(nb::ellipsis()));
  }
  const ir::Type type = builder_->function().type(view);
  const size_t place = ellipsis_before ? static_cast<size_t>(type.rank()) - 1 - after : flag;
  const NodeId one = builder_->index(1);
  const NodeId flags = builder_->make(Op::broadcast, {bit, one});
  const NodeId taken = builder_->make(Op::compress, {builder_->make(Op::iota, {one}, {0}), flags});
  const Slice all{share(std::array<Value, 3>{Static{nb::none()}, Static{nb::none()}, Static{nb::none()}})};
  std::vector<Value> chosen(place, all);
  chosen.push_back(from_node(taken));
  return std::pair(viewing(view, array.access), Value(Tuple{std::move(chosen)}));
}

Value Evaluator::index_array(const Array& array, const Value& index, nb::handle node) {
  const Array source = array.type.is_array() ? named(array) : array;
  if (const auto other = without_sequences(source, index, node))
    return index_array(other->first, other->second, node);
  const Indexing indexing = classify(source, index, node);
  if (indexing.is_point(source.type.rank()) && !indexing.open) {
    std::vector<NodeId> operands{source.node};
    for (const auto& item : indexing.items) operands.push_back(item.start);
    if (!loops_.empty() && takes_one_place(*builder_, operands)) measure(last_length(*builder_, source.node));
    return from_node(builder_->make(Op::load, operands));
  }
  const NodeId part = take_part(source.node, indexing);
  if (!indexing.advanced && indexing.copies)
    return owner(builder_->make(Op::materialize, {builder_->make(Op::read, {part})}));
  if (!indexing.advanced) return viewing(part, source.access);
  if (indexing.mask)
    return from_node(builder_->make(Op::compress, {builder_->make(Op::read, {part}), indexing.mask}));
  std::vector<NodeId> arrays = index_arrays(indexing);
  take_from_the_end(source.node, indexing, arrays);
  std::vector<NodeId> operands{builder_->make(Op::read, {part})};
  operands.insert(operands.end(), arrays.begin(), arrays.end());
  std::vector<int64_t> axes;
  int64_t place = 0;
  for (const auto& item : indexing.items) {
    if (item.part == Indexing::Part::Array) axes.push_back(place);
    ++place;
  }
  const NodeId gathered = builder_->make(Op::gather, operands, axes);
  const std::vector<int64_t> order = gathered_order(indexing, builder_->function().type(arrays[0]).rank());
  if (std::ranges::is_sorted(order)) return from_node(gathered);
  const NodeId operand[] = {gathered};
  return from_node(builder_->make(Op::transpose, operand, order));
}

NodeId Evaluator::value_for(const Value& value, DType dtype, bool among) {
  const std::optional<Kind> kind = kind_of(value);
  const auto place = [&]() -> nb::object {
    return imported("numpy").attr("zeros")(nb::make_tuple(1), std::string(base::info(dtype).numpy));
  };
  if (is_foreign(value)) use_foreign("store", "", {Static{place()}, Static{nb::int_(0)}, value}, here_);
  if (const Maybe* m = value.as<Maybe>()) {
    const auto number = [&](const Value& one) { return from_node(value_for(one, dtype, among)); };
    return value_for(fork(
                         is_there(*m), [&] { return number(present(value, "the value", here_)); },
                         [&] { return number(Static{nb::none()}); }),
                     dtype, among);
  }
  if (const Static* s = value.as<Static>();
      s != nullptr && (s->object.is_none() || PyUnicode_Check(s->object.ptr()))) {
    // NumPy converts it to a number, or raises.
    const nb::object one = place();
    try {
      one[nb::int_(0)] = s->object;
    } catch (nb::python_error& error) {
      raise_host_error(error);
    }
    return value_for(Static{one[nb::int_(0)]}, dtype, among);
  }
  if (!kind) {
    if (value.is<Static>() || value.is<Tuple>() || value.is<Reference>() || value.is<Characters>()) {
      unsupported({}, "assigning a " + type_name(value) + " to part of an array",
                  "assign element by element");
    }
    raise(ExceptionKind::TypeError,
          "float() argument must be a string or a real number, not '" + type_name(value) + "'");
  }
  if (*kind == Kind::py_complex() && !base::is_complex(dtype) && !base::is_bool(dtype)) {
    raise(ExceptionKind::TypeError,
          base::is_int(dtype)
              ? "int() argument must be a string, a bytes-like object or a real number, not 'complex'"
              : "float() argument must be a string or a real number, not 'complex'");
  }
  if (value.is<Array>()) return builder_->cast(whole(value), dtype);
  if (among && !kind->is_python()) return stage(value, dtype);
  if (base::is_int(kind->dtype()) && !kind->is_python() && base::is_int(dtype) && base::is_signed(dtype)) {
    const NodeId integer = stage(value, Kind::py_int());
    if (kind->dtype() == DType::UInt64) {
      check(builder_->make(Op::greater_equal, {integer, builder_->index(0)}), ExceptionKind::OverflowError,
            "Python int too large to convert to C long");
    }
    return stage_for_loop(Scalar{Kind::py_int(), integer}, dtype);
  }
  // A float becomes a Python int on its way into integers; a NumPy one only into signed ones.
  const bool inexact = base::is_float(kind->dtype()) || base::is_complex(kind->dtype());
  if (inexact && base::is_int(dtype) && (kind->is_python() || base::is_signed(dtype))) {
    const NodeId number = stage(value, Kind::py_float());
    check(negate(builder_->make(Op::isnan, {number})), ExceptionKind::ValueError,
          "cannot convert float NaN to integer");
    check(negate(builder_->make(Op::isinf, {number})), ExceptionKind::OverflowError,
          "cannot convert float infinity to integer");
    // Beyond the range of int64 only uint64 has numbers, up to 2**64.
    const bool widest = dtype == DType::UInt64;
    const NodeId low = builder_->make(Op::greater_equal, {number, builder_->constant(-0x1p63)});
    const NodeId high = builder_->make(Op::less, {number, builder_->constant(widest ? 0x1p64 : 0x1p63)});
    check(both(low, high), ExceptionKind::OverflowError, "Python int too large to convert to C long");
    if (!widest) return stage_for_loop(Scalar{Kind::py_int(), builder_->cast(number, DType::Int64)}, dtype);
    const NodeId whole_number = builder_->make(Op::trunc, {number});
    check(builder_->make(Op::greater_equal, {whole_number, builder_->constant(0.0)}),
          ExceptionKind::OverflowError, "Python integer {} out of bounds for uint64",
          {builder_->cast(number, DType::Int64)});
    return builder_->cast(number, dtype);
  }
  return stage_for_loop(value, dtype);
}

std::string Evaluator::show_shape(std::span<const NodeId> lengths, std::vector<NodeId>& shown) {
  std::string text = "(";
  for (const NodeId length : lengths) {
    shown.push_back(length);
    text += "{},";
  }
  if (lengths.size() > 1) text.pop_back();
  return text + ")";
}

void Evaluator::check_shapes(NodeId condition, ExceptionKind kind, const std::string& message,
                             std::span<const NodeId> shown) {
  check(condition, kind, message, shown);
}

/// An operation's result, and so its operands, must broadcast to the array that stores it.
void Evaluator::need_shape(const Array& result, std::span<const NodeId> lengths) {
  const std::vector<NodeId> own = lengths_of(result.node);
  std::vector<NodeId> shown;
  std::string message = "non-broadcastable output operand with shape " + show_shape(lengths, shown);
  message += " doesn't match the broadcast shape " + show_shape(own, shown);
  NodeId fits = builder_->constant(own.size() <= lengths.size());
  for (size_t i = 0; i < own.size() && own.size() <= lengths.size(); ++i) {
    const NodeId wanted = lengths[lengths.size() - own.size() + i];
    if (own[i] == wanted) continue;
    const NodeId is_one = builder_->make(Op::equal, {own[i], builder_->index(1)});
    fits = both(fits, builder_->make(Op::bitwise_or, {builder_->make(Op::equal, {own[i], wanted}), is_one}));
  }
  check_shapes(fits, ExceptionKind::ValueError, message, shown);
}

/// An array broadcast to lengths it must fit.
NodeId Evaluator::fit(NodeId value, std::span<const NodeId> lengths, bool gathered) {
  if (!builder_->function().type(value).is_array()) return value;
  std::vector<NodeId> own = lengths_of(value);
  const std::vector<NodeId> given = own;
  const NodeId one = builder_->index(1);
  const auto need = [&](NodeId condition) {
    std::vector<NodeId> shown;
    std::string message =
        gathered ? "shape mismatch: value array of shape " + show_shape(given, shown) +
                       " could not be broadcast to indexing result of shape "
                 : "could not broadcast input array from shape " + show_shape(own, shown) + " into shape ";
    message += show_shape(lengths, shown);
    check_shapes(condition, ExceptionKind::ValueError, message, shown);
  };
  // Leading axes of length 1 that the target does not have are dropped.
  while (own.size() > lengths.size()) {
    need(builder_->make(Op::equal, {own[0], one}));
    value = builder_->make(Op::squeeze, {value}, {0});
    own.erase(own.begin());
  }
  bool equal = own.size() == lengths.size();
  for (size_t i = 0; i < own.size(); ++i) {
    const NodeId wanted = lengths[lengths.size() - own.size() + i];
    if (own[i] == wanted) continue;
    const NodeId is_one = builder_->make(Op::equal, {own[i], one});
    need(builder_->make(Op::bitwise_or, {builder_->make(Op::equal, {own[i], wanted}), is_one}));
    if (!builder_->function().is_constant(is_one, 0)) equal = false;
  }
  if (equal) return value;
  std::vector<NodeId> operands{value};
  operands.insert(operands.end(), lengths.begin(), lengths.end());
  return builder_->make(Op::broadcast, operands);
}

void Evaluator::need_writable(const Array& array, const char* complaint, nb::handle node) {
  if (array.access == Access::Differs)
    unsupported(node, "writing into an array that is read-only on one path only", "make a copy of it");
  if (array.access == Access::ReadOnly) raise(ExceptionKind::ValueError, complaint);
}

/// Lists and tuples must not have more axes than the part that they are assigned to.
void Evaluator::need_depth(int rank, const Indexing& indexing) {
  if (indexing.mask && rank > 1) {
    raise(ExceptionKind::TypeError,
          "NumPy boolean array indexing assignment requires a 0 or 1-dimensional input, input has " +
              std::to_string(rank) + " dimensions");
  }
  const auto most = std::ranges::count_if(indexing.items, [](const Indexing::Item& item) {
    return item.part == Indexing::Part::Range || item.part == Indexing::Part::New;
  });
  if (!indexing.advanced && rank > most) {
    raise(ExceptionKind::ValueError,
          "setting an array element with a sequence. The requested array would exceed the maximum number of "
          "dimension of " +
              std::to_string(most) + ".");
  }
}

void Evaluator::assign_index(const Array& array, const Value& index, const Value& value, nb::handle node) {
  if (array.type.is_array()) return;  // a temporary that nothing else sees
  need_writable(array, "assignment destination is read-only", node);
  if (const auto other = without_sequences(array, index, node))
    return assign_index(other->first, other->second, value, node);
  const Indexing indexing = classify(array, index, node);
  const DType dtype = array.type.dtype();
  const bool is_sequence =
      value.is<Tuple>() || value.is<Range>() || is_list(value) || row_of(value) != nullptr;
  const bool is_element = indexing.is_point(array.type.rank()) && !indexing.open;
  if (is_sequence && !is_foreign(value) && !is_element) {
    const Value made = array_of(value, node, dtype);
    need_depth(made.as<Array>()->type.rank(), indexing);
    return assign_index(array, index, made, node);
  }
  if (is_element) {
    NodeId scalar = value_for(value, dtype);
    if (builder_->function().type(scalar).is_array()) {
      if (base::is_complex(dtype))
        raise(ExceptionKind::TypeError, "only 0-dimensional arrays can be converted to Python scalars");
      if (!base::is_bool(dtype))
        raise(ExceptionKind::ValueError, "setting an array element with a sequence.");
      check(builder_->make(Op::equal, {size_of(scalar), builder_->index(1)}), ExceptionKind::ValueError,
            "setting an array element with a sequence.");
      scalar = reduce_all({scalar}, Op::bitwise_or);
    }
    std::vector<NodeId> operands{array.node};
    for (const auto& item : indexing.items) operands.push_back(item.start);
    if (!loops_.empty() && takes_one_place(*builder_, operands)) measure(last_length(*builder_, array.node));
    operands.push_back(scalar);
    builder_->make(Op::store, operands);
    return;
  }
  const NodeId part = take_part(array.node, indexing);
  if (!indexing.advanced) {
    builder_->make(Op::write, {part, fit(value_for(value, dtype), lengths_of(part))});
  } else if (const NodeId all = indexing.mask ? unmasked(part, indexing, value) : NodeId(); all) {
    assign_mask(part, indexing, all);
  } else {
    assign_gathered(array.node, part, indexing, value);
  }
}

/// The value to assign under a mask, as a number or as an array before masking; invalid: it is neither.
NodeId Evaluator::unmasked(NodeId view, const Indexing& indexing, const Value& value) {
  const ir::Function& f = builder_->function();
  const NodeId given = value_for(value, f.type(view).dtype(), true);
  if (f.type(given).is_scalar()) return given;
  return f.type(indexing.mask).rank() == f.type(view).rank() ? before_mask(*builder_, given, indexing.mask)
                                                             : NodeId();
}

void Evaluator::assign_mask(NodeId view, const Indexing& indexing, NodeId value) {
  const ir::Type type = builder_->function().type(view);
  NodeId mask = indexing.mask;
  const int mask_rank = builder_->function().type(mask).rank();
  if (mask_rank < type.rank()) {
    std::vector<int64_t> trailing(static_cast<size_t>(type.rank() - mask_rank));
    std::iota(trailing.begin(), trailing.end(), mask_rank);
    const NodeId operand[] = {mask};
    mask = builder_->make(Op::expand, operand, trailing);
    std::vector<NodeId> operands{mask};
    const std::vector<NodeId> lengths = lengths_of(view);
    operands.insert(operands.end(), lengths.begin(), lengths.end());
    mask = builder_->make(Op::broadcast, operands);
  }
  builder_->make(Op::write,
                 {view, builder_->make(Op::select, {mask, value, builder_->make(Op::read, {view})})});
}

void Evaluator::assign_gathered(NodeId array, NodeId view, const Indexing& indexing, const Value& value) {
  const ir::Function& f = builder_->function();
  std::vector<NodeId> arrays = index_arrays(indexing);
  std::vector<int64_t> attributes{static_cast<int64_t>(Op::constant)};
  const std::vector<NodeId> view_lengths = lengths_of(view);
  std::vector<NodeId> gathered_lengths = lengths_of(arrays[0]);
  int64_t place = 0;
  for (const auto& item : indexing.items) {
    if (item.part == Indexing::Part::Array) attributes.push_back(place);
    else gathered_lengths.push_back(view_lengths[static_cast<size_t>(place)]);
    ++place;
  }
  const std::vector<int64_t> order = gathered_order(indexing, f.type(arrays[0]).rank());
  std::vector<NodeId> shown;
  shown.reserve(order.size());
  for (const int64_t axis : order) shown.push_back(gathered_lengths[static_cast<size_t>(axis)]);
  NodeId values = value_for(value, f.type(view).dtype(), true);
  if (indexing.mask && f.type(values).is_array() && f.type(values).rank() == 1 && shown.size() == 1) {
    const NodeId given = builder_->length(values, 0);
    const NodeId fits =
        builder_->make(Op::bitwise_or, {builder_->make(Op::equal, {given, shown[0]}),
                                        builder_->make(Op::equal, {given, builder_->index(1)})});
    check(fits, ExceptionKind::ValueError,
          "NumPy boolean array indexing assignment cannot assign {} input values to the {} output values "
          "where the mask is true",
          {given, shown[0]});
  }
  values = fit(values, shown, true);
  take_from_the_end(array, indexing, arrays);
  std::vector<NodeId> operands{values};
  if (f.type(values).is_scalar()) {
    operands.insert(operands.end(), gathered_lengths.begin(), gathered_lengths.end());
    values = builder_->make(Op::broadcast, operands);
  } else if (!std::ranges::is_sorted(order)) {
    std::vector<int64_t> inverse(order.size());
    for (size_t i = 0; i < order.size(); ++i)
      inverse[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
    values = builder_->make(Op::transpose, operands, inverse);
  }
  operands = {view, values};
  operands.insert(operands.end(), arrays.begin(), arrays.end());
  builder_->make(Op::scatter, operands, attributes);
}

/// In the library they are arrays like others.
void Evaluator::need_no_memory_maps(const std::string& what, nb::handle node) {
  if (has_memory_maps_ && !frame_->of_library)
    unsupported(node, what + " in a function that is given a memory map",
                "use it outside of the function, or pass np.asarray(...) of the memory map");
}

Value Evaluator::array_attribute(const Array& array, const std::string& name, nb::handle node) {
  if (name == "shape") {
    Tuple shape;
    for (const NodeId length : lengths_of(array.node))
      shape.members.emplace_back(Scalar{Kind::py_int(), length});
    return shape;
  }
  if (name == "ndim") return Static{nb::int_(array.type.rank())};
  if (name == "size") return Scalar{Kind::py_int(), size_of(array.node)};
  if (name == "itemsize") return Static{nb::int_(base::size_of(array.type.dtype()))};
  if (name == "dtype") {
    return Static{imported("numpy").attr("dtype")(std::string(base::info(array.type.dtype()).numpy))};
  }
  if (name == "T") {
    const Array view = named(array);
    if (array.type.rank() < 2) return viewing(view.node, view.access);
    std::vector<int64_t> axes(static_cast<size_t>(array.type.rank()));
    std::iota(axes.rbegin(), axes.rend(), 0);
    const NodeId operand[] = {view.node};
    return viewing(builder_->make(Op::transpose, operand, axes), view.access);
  }
  if (name == "ctypes") return pointer_to(array, imported("ingot._objects.c_functions").attr("INTERFACE"));
  if (name == "strides") {
    Tuple strides;
    const Array view = named(array);
    for (int axis = 0; axis < array.type.rank(); ++axis)
      strides.members.emplace_back(Scalar{Kind::py_int(), builder_->make(Op::stride, {view.node}, {axis})});
    return strides;
  }
  if (registry_.method(name) >= 0) return Method{share(Value(array)), name};
  if (const nb::object member = registry_.member(name); member.is_valid()) {
    if (PyCallable_Check(member.ptr()) != 0) return Method{share(Value(array)), name};
    Call call{.positional = {array}, .keywords = {}, .name = name, .node = node};
    return inline_function(registry_.find(member)->library, call);
  }
  if (!has_attribute(imported("numpy").attr("ndarray"), name.c_str())) {
    need_no_memory_maps("the attribute `" + name + "`", node);
    raise(ExceptionKind::AttributeError, "'numpy.ndarray' object has no attribute '" + name + "'");
  }
  unsupported(node, "the array attribute `" + name + "`", "use a NumPy function");
}

}  // namespace ingot::frontend
