#include "frontend/arrays/indexing.h"

#include <numeric>

#include "frontend/arrays/arguments.h"
#include "frontend/arrays/arrays.h"
#include "frontend/arrays/masks.h"
#include "frontend/arrays/memory_order.h"
#include "frontend/arrays/scalars.h"
#include "frontend/kinds/objects.h"
#include "frontend/kinds/sequences.h"
#include "frontend/tracer/evaluate.h"
#include "frontend/tracer/python_objects.h"

namespace ingot::frontend {

using base::ExceptionKind;
using ir::Op;

namespace {

/// A classified index: how each axis of the array is taken, and the index arrays, if any. The parts are in
/// the order of the index; each indexes the axes of the array from `axis` on.
struct Indexing {
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

void take_mask(Tracer& t, Indexing& indexing, const Value& mask, int axis, NodeId array);
NodeId unmasked(Tracer& t, NodeId view, const Indexing& indexing, const Value& value);
void assign_mask(Tracer& t, NodeId view, const Indexing& indexing, NodeId value);
void assign_gathered(Tracer& t, NodeId array, NodeId view, const Indexing& indexing, const Value& value);

/// Whether all iterations of an access, to the array and at the indices among `operands`, use the same index
/// of the last axis.
bool takes_one_place(const ir::Builder& builder, std::span<const NodeId> operands) {
  return operands.size() > 1 && builder.function().is_constant(operands.back());
}
NodeId last_length(ir::Builder& builder, NodeId array) {
  return builder.length(array, builder.function().type(array).rank() - 1);
}

}  // namespace

NodeId in_range(Tracer& t, NodeId index, NodeId length, int axis) {
  const NodeId zero = t.builder->index(0);
  const NodeId lowest = t.builder->make(Op::negative, {length});
  check(t,
        both(t, t.builder->make(Op::greater_equal, {index, lowest}),
             t.builder->make(Op::less, {index, length})),
        ExceptionKind::IndexError,
        "index {} is out of bounds for axis " + std::to_string(axis) + " with size {}", {index, length});
  return t.builder->make(Op::select, {t.builder->make(Op::less, {index, zero}),
                                      t.builder->make(Op::add, {index, length}), index});
}

std::array<NodeId, 3> slice_of(Tracer& t, const Slice& slice, NodeId length) {
  const NodeId zero = t.builder->index(0);
  const NodeId one = t.builder->index(1);
  // Optional parts: a number instead of None, and whether the part is there.
  std::array<NodeId, 3> there{};
  std::array<Value, 3> bounds;
  for (size_t i = 0; i < 3; ++i) {
    const Value& part = (*slice.parts)[i];
    const Maybe* m = part.as<Maybe>();
    if (m != nullptr) there[i] = is_there(t, *m);
    bounds[i] = m == nullptr ? plain_number(t, part)
                             : Scalar{*number_kind(*m->present), t.builder->make(Op::value, {m->node})};
  }
  const auto& [lower, upper, by] = bounds;
  const auto or_else = [&](size_t i, NodeId bound, NodeId otherwise) {
    return there[i] ? t.builder->make(Op::select, {there[i], bound, otherwise}) : bound;
  };
  for (const Value* part : {&lower, &upper, &by}) {
    const std::optional<Kind> kind = kind_of(*part);
    const bool integer =
        kind && rank_of(*part).value_or(0) == 0 && (base::is_int(kind->dtype()) || *kind == Kind::py_bool());
    if (is_none(*part) || integer) continue;
    need_one_kind(t, ExceptionKind::TypeError, {*part});
    raise(t, ExceptionKind::TypeError, "slice indices must be integers or None or have an __index__ method");
  }
  const auto is_unsigned_64 = [&t](const Value& part) { return number_kind(part) == Kind(DType::UInt64); };
  // Numbers beyond 64 bits are clipped.
  const auto given = [&](const Value& part) {
    if (const int side = side_of_64_bits(part); side != 0)
      return t.builder->index(side < 0 ? INT64_MIN : INT64_MAX);
    if (!is_unsigned_64(part)) return stage_index(t, part);
    const NodeId integer = stage(t, part, Kind::py_int());
    return t.builder->make(
        Op::select, {t.builder->make(Op::less, {integer, zero}), t.builder->index(INT64_MAX), integer});
  };
  // The clipped step can be negated.
  const NodeId step =
      is_none(by) ? one
                  : or_else(2, t.builder->make(Op::maximum, {given(by), t.builder->index(-INT64_MAX)}), one);
  check(t, t.builder->make(Op::not_equal, {step, zero}), ExceptionKind::ValueError,
        "slice step cannot be zero");
  const NodeId up = t.builder->make(Op::greater, {step, zero});
  // Python's slice.indices: each end is clipped to [0, n] going up, to [-1, n - 1] going down.
  const NodeId first = t.builder->make(Op::select, {up, zero, t.builder->index(-1)});
  const NodeId last = t.builder->make(Op::select, {up, length, t.builder->make(Op::subtract, {length, one})});
  const auto end = [&](size_t i, NodeId otherwise) {
    const Value& part = bounds[i];
    if (is_none(part)) return otherwise;
    const NodeId place = given(part);
    const NodeId wrapped = t.builder->make(Op::select, {t.builder->make(Op::less, {place, zero}),
                                                        t.builder->make(Op::add, {place, length}), place});
    const NodeId clipped =
        t.builder->make(Op::minimum, {t.builder->make(Op::maximum, {wrapped, first}), last});
    return or_else(i, clipped, otherwise);
  };
  const NodeId start = end(0, t.builder->make(Op::select, {up, first, last}));
  const NodeId stop = end(1, t.builder->make(Op::select, {up, last, first}));
  const NodeId high = t.builder->make(Op::select, {up, stop, start});
  const NodeId low = t.builder->make(Op::select, {up, start, stop});
  const NodeId distance = t.builder->make(Op::subtract, {high, low});
  const NodeId iterations = t.builder->make(
      Op::add, {t.builder->make(Op::floor_divide, {t.builder->make(Op::subtract, {distance, one}),
                                                   t.builder->make(Op::absolute, {step})}),
                one});
  return {start,
          t.builder->make(Op::select, {t.builder->make(Op::greater, {distance, zero}), iterations, zero}),
          step};
}

namespace {

IndexPart index_part(const Value& value) { return kind_of_value(value).index_part(value); }

}  // namespace

int axes_of_part(const Value& part) {
  const IndexPart is = index_part(part);
  if (is == IndexPart::NewAxis || is == IndexPart::Ellipsis || is == IndexPart::Flag) return 0;
  return is == IndexPart::Mask ? *rank_of(part) : 1;
}

void need_axes(Tracer& t, int taken, int rank) {
  if (taken <= rank) return;
  raise(t, ExceptionKind::IndexError,
        "too many indices for array: array is " + std::to_string(rank) + "-dimensional, but " +
            std::to_string(taken) + " were indexed");
}

void raise_no_index(Tracer& t) {
  raise(t, ExceptionKind::IndexError,
        "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean "
        "arrays are valid indices");
}

namespace {

/// Adds a part that is no slice and no ellipsis, for the axes from `axis` on.
void add_part(Tracer& t, Indexing& result, const Value& part, int axis, NodeId array, nb::handle node) {
  switch (index_part(part)) {
    case IndexPart::NewAxis: result.items.push_back({Indexing::Part::New, -1, {}, {}, {}, {}}); return;
    case IndexPart::Mask: return take_mask(t, result, part, axis, array);
    case IndexPart::Numbers:
      result.advanced = true;
      result.items.push_back(
          {Indexing::Part::Array, axis, {}, {}, {}, t.builder->cast(whole(t, part), DType::Int64)});
      return;
    case IndexPart::Number:
      result.items.push_back({Indexing::Part::Point, axis, stage_index(t, part), {}, {}, {}});
      return;
    case IndexPart::Flag: unsupported(t, node, "an index that is one bool", "use `if`");
    default: break;
  }
  if (is_sequence(part))
    unsupported(t, node, "an index that is a " + type_name(t, part), "index with np.array(...)");
  if (array_type_of(part))
    raise(t, ExceptionKind::IndexError, "arrays used as indices must be of integer (or boolean) type");
  need_one_kind(t, ExceptionKind::IndexError, {part});
  raise_no_index(t);
}

/// Checks points, and decides how the parts are taken together.
void settle_parts(Tracer& t, Indexing& result, NodeId array) {
  const auto count = [&](Indexing::Part part) {
    return std::ranges::count(result.items, part, &Indexing::Item::part);
  };
  const bool one_mask = result.mask && !result.items.empty() && result.items[0].part == Indexing::Part::Array;
  const bool others = count(Indexing::Part::Point) > 0 || count(Indexing::Part::New) > 0;
  if (!one_mask || others || count(Indexing::Part::Array) != t.builder->function().type(result.mask).rank())
    result.mask = {};
  // Points are checked at the access; together with index arrays a point is an index array without axes.
  for (Indexing::Item& item : result.items) {
    if (item.part != Indexing::Part::Point) continue;
    item.start = in_range(t, item.start, t.builder->length(array, item.axis), item.axis);
    if (result.advanced) {
      item.part = Indexing::Part::Array;
      item.array = item.start;
    }
  }
}

Indexing classify(Tracer& t, const Array& array, const Value& index, nb::handle node) {
  std::vector<Value> parts = parts_of_index(index);
  for (Value& part : parts) part = plain_number(t, part);
  for (Value& part : parts) part = present(t, part, "an index", node);
  for (const Value& part : parts)
    if (is_foreign(t, part)) use_foreign(t, "subscript", "", {array, index}, node);
  const int rank = array.type.rank();
  const auto ellipses = std::ranges::count(parts, IndexPart::Ellipsis, index_part);
  if (ellipses > 1) raise(t, ExceptionKind::IndexError, "an index can only have a single ellipsis ('...')");
  int taken = 0;
  for (const Value& part : parts) taken += axes_of_part(part);
  need_axes(t, taken, rank);
  Indexing result;
  for (Value& part : parts) {
    if (index_part(part) != IndexPart::Numbers || rank_of(part) > 0) continue;
    part = from_node(t, whole(t, part));
    result.copies = true;
  }
  result.open = ellipses > 0;
  if (!result.open) parts.emplace_back(Static{nb::ellipsis()});
  int axis = 0;
  const auto add_range = [&](const Slice& slice) {
    const auto [start, length, step] = slice_of(t, slice, t.builder->length(array.node, axis));
    result.items.push_back({Indexing::Part::Range, axis++, start, length, step, {}});
  };
  for (const Value& part : parts) {
    if (const Slice* slice = part.as<Slice>()) {
      add_range(*slice);
    } else if (index_part(part) == IndexPart::Ellipsis) {
      for (int left = rank - taken; left > 0; --left) add_range(slice_from(Static{nb::none()}));
    } else {
      add_part(t, result, part, axis, array.node, node);
      axis += axes_of_part(part);
    }
  }
  settle_parts(t, result, array.node);
  return result;
}

void take_mask(Tracer& t, Indexing& result, const Value& mask, int axis, NodeId array) {
  const NodeId flags = as_first_read(t.builder->function(), whole(t, mask));
  const int rank = *rank_of(mask);
  for (int k = 0; k < rank; ++k) {
    const NodeId size = t.builder->length(array, axis + k);
    const NodeId given = t.builder->length(flags, k);
    check(t, t.builder->make(Op::equal, {size, given}), ExceptionKind::IndexError,
          "boolean index did not match indexed array along axis " + std::to_string(axis + k) +
              "; size of axis is {} but size of corresponding boolean axis is {}",
          {size, given});
  }
  const bool first = !result.advanced && result.items.empty() && axis == 0;
  result.mask = first ? flags : NodeId();
  result.advanced = true;
  for (int k = 0; k < rank; ++k) {
    const std::vector<NodeId> lengths = lengths_of(t, flags);
    const int64_t along[] = {k};
    const NodeId indices = t.builder->make(Op::iota, lengths, along);
    result.items.push_back(
        {Indexing::Part::Array, axis + k, {}, {}, {}, t.builder->make(Op::compress, {indices, flags}), true});
  }
}

NodeId take_part(Tracer& t, NodeId shaped, const Indexing& indexing) {
  std::vector<NodeId> operands{shaped};
  std::vector<int64_t> squeezed;
  std::vector<int64_t> inserted;
  bool whole_array = true;
  const NodeId zero = t.builder->index(0);
  const NodeId one = t.builder->index(1);
  int64_t place = 0;
  for (const Indexing::Item& item : indexing.items) {
    if (item.part == Indexing::Part::New) {
      inserted.push_back(place++);
      continue;
    }
    const NodeId length = t.builder->length(shaped, item.axis);
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
  NodeId part = whole_array ? shaped : t.builder->make(Op::slice, operands);
  const auto with_axes = [&](Op op, const std::vector<int64_t>& axes) {
    const NodeId operand[] = {part};
    if (!axes.empty()) part = t.builder->make(op, operand, axes);
  };
  with_axes(Op::squeeze, squeezed);
  need_rank(t, static_cast<size_t>(place));
  with_axes(Op::expand, inserted);
  return part;
}

/// Checks the arrays of an index against an array's lengths, and counts negative ones from the end.
void take_from_the_end(Tracer& t, NodeId shaped, const Indexing& indexing, std::vector<NodeId>& arrays) {
  size_t next = 0;
  const std::vector<NodeId> given = arrays;
  for (const Indexing::Item& item : indexing.items) {
    if (item.part != Indexing::Part::Array) continue;
    NodeId& array = arrays[next++];
    // A number together with arrays was checked when it was taken as an index.
    if (item.of_mask || !t.builder->function().type(item.array).is_array()) continue;
    const NodeId length = t.builder->length(shaped, item.axis);
    const NodeId lowest = t.builder->make(Op::negative, {length});
    const NodeId bad =
        t.builder->make(Op::bitwise_or, {t.builder->make(Op::less, {item.array, lowest}),
                                         t.builder->make(Op::greater_equal, {item.array, length})});
    NodeId is_bad = reduce_all(t, {bad}, Op::bitwise_or);
    // If another array has no elements, nothing is taken, and NumPy does not check this one.
    for (const NodeId other : given) {
      if (other == item.array || !t.builder->function().type(other).is_array()) continue;
      const NodeId some = t.builder->make(Op::greater, {size_of(t, other), t.builder->index(0)});
      is_bad = t.builder->make(Op::bitwise_and, {is_bad, some});
    }
    fork(
        t, is_bad,
        [&]() -> Value {
          const NodeId at = t.builder->make(Op::arg_reduce, {bad}, {static_cast<int64_t>(Op::maximum), -1});
          const NodeId flat = t.builder->make(Op::reshape, {item.array, size_of(t, item.array)});
          const NodeId one = t.builder->index(1);
          const NodeId culprit = reduce_all(t, {t.builder->make(Op::slice, {flat, at, one, one})}, Op::add);
          raise(t, ExceptionKind::IndexError,
                "index {} is out of bounds for axis " + std::to_string(item.axis) + " with size {}",
                {culprit, length});
        },
        [] { return Value(Static{nb::none()}); });
    const NodeId negative = t.builder->make(Op::less, {array, t.builder->index(0)});
    array = t.builder->make(Op::select, {negative, t.builder->make(Op::add, {array, length}), array});
  }
}

/// The arrays of an index, broadcast together.
std::vector<NodeId> index_arrays(Tracer& t, const Indexing& indexing) {
  std::vector<NodeId> arrays;
  for (const Indexing::Item& item : indexing.items)
    if (item.part == Indexing::Part::Array) arrays.push_back(item.array);
  // A scalar together with arrays is repeated.
  std::vector<NodeId> shaped_ones;
  for (const NodeId array : arrays)
    if (t.builder->function().type(array).is_array()) shaped_ones.push_back(array);
  shaped_ones =
      broadcast_together(t, std::move(shaped_ones), ExceptionKind::IndexError,
                         "shape mismatch: indexing arrays could not be broadcast together with shapes ");
  for (size_t i = 0, next = 0; i < arrays.size(); ++i)
    if (t.builder->function().type(arrays[i]).is_array()) arrays[i] = shaped_ones[next++];
  NodeId like;
  for (const NodeId array : arrays)
    if (t.builder->function().type(array).is_array()) like = array;
  for (NodeId& array : arrays)
    if (!t.builder->function().type(array).is_array()) array = repeated(t, array, lengths_of(t, like));
  return arrays;
}

/// The axes of a gathered array in NumPy's order: for each axis of its result, the axis of `gather`'s.
std::vector<int64_t> gathered_order(const Indexing& indexing, int index_rank) {
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

/// The array and the index without lists and single bools, for the same part; none: it has none of these.
std::optional<std::pair<Array, Value>> without_sequences(Tracer& t, const Array& array, const Value& index,
                                                         nb::handle node) {
  std::vector<Value> parts = parts_of_index(index);
  bool changed = false;
  size_t flag = parts.size();
  size_t open = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    Value& part = parts[i];
    if (const Range* range = part.as<Range>()) {
      part = array_of_range(t, *range, node);
      changed = true;
      continue;
    }
    if ((part.is<List>() || part.is<Tuple>()) && !is_foreign(t, part)) {
      const bool empty = elements_of(t, part, node).empty();
      part = array_of(t, part, node);
      if (!empty && index_part(part) == IndexPart::Other) raise_no_index(t);
      if (empty) part = from_node(t, t.builder->cast(whole(t, part), DType::Int64));
      changed = true;
      continue;
    }
    if (index_part(part) != IndexPart::Flag) continue;
    part = without_0d(t, part);
    flag = i;
    ++open;
  }
  if (open == 0)
    return changed ? std::optional(std::pair(array, Value(Tuple{std::move(parts)}))) : std::nullopt;
  for (size_t i = 0; i < parts.size(); ++i) {
    const IndexPart is = index_part(parts[i]);
    const bool is_open = is == IndexPart::Slice || is == IndexPart::NewAxis || is == IndexPart::Ellipsis;
    if (i != flag && !is_open) unsupported(t, node, "a bool among other indices", "use `if`");
  }
  // One bool is a mask without axes: a new axis, of which it takes the only element or none.
  const NodeId bit = stage(t, parts[flag], Kind::py_bool());
  parts[flag] = Static{nb::none()};
  const auto later = parts.begin() + static_cast<ptrdiff_t>(flag) + 1;
  const auto rest = std::span(later, parts.end());
  const size_t after =
      rest.size() - static_cast<size_t>(std::ranges::count(rest, IndexPart::Ellipsis, index_part));
  const Indexing expanded = classify(t, array, Tuple{parts}, node);
  const NodeId view = take_part(t, array.node, expanded);
  const bool ellipsis_before =
      std::ranges::count(std::span(parts.begin(), later), IndexPart::Ellipsis, index_part) > 0;
  const ir::Type type = t.builder->function().type(view);
  const size_t place = ellipsis_before ? static_cast<size_t>(type.rank()) - 1 - after : flag;
  const NodeId one = t.builder->index(1);
  const NodeId flags = t.builder->make(Op::broadcast, {bit, one});
  const NodeId taken = t.builder->make(Op::compress, {t.builder->make(Op::iota, {one}, {0}), flags});
  std::vector<Value> chosen(place, slice_from(Static{nb::none()}));
  chosen.push_back(from_node(t, taken));
  return std::pair(viewing(t, view, array.access), Value(Tuple{std::move(chosen)}));
}

}  // namespace

Value index_array(Tracer& t, const Array& array, const Value& index, nb::handle node) {
  const Array source = array.type.is_array() ? named(t, array) : array;
  if (const auto other = without_sequences(t, source, index, node))
    return index_array(t, other->first, other->second, node);
  const Indexing indexing = classify(t, source, index, node);
  if (indexing.is_point(source.type.rank()) && !indexing.open) {
    std::vector<NodeId> operands{source.node};
    for (const auto& item : indexing.items) operands.push_back(item.start);
    if (!t.loops.empty() && takes_one_place(*t.builder, operands))
      measure(t, last_length(*t.builder, source.node));
    return from_node(t, t.builder->make(Op::load, operands));
  }
  const NodeId part = take_part(t, source.node, indexing);
  if (!indexing.advanced && indexing.copies)
    return owner(t, t.builder->make(Op::materialize, {t.builder->make(Op::read, {part})}));
  if (!indexing.advanced) return viewing(t, part, source.access);
  if (indexing.mask)
    return from_node(t, t.builder->make(Op::compress, {t.builder->make(Op::read, {part}), indexing.mask}));
  std::vector<NodeId> arrays = index_arrays(t, indexing);
  take_from_the_end(t, source.node, indexing, arrays);
  std::vector<NodeId> operands{t.builder->make(Op::read, {part})};
  operands.insert(operands.end(), arrays.begin(), arrays.end());
  std::vector<int64_t> axes;
  int64_t place = 0;
  for (const auto& item : indexing.items) {
    if (item.part == Indexing::Part::Array) axes.push_back(place);
    ++place;
  }
  const NodeId gathered = t.builder->make(Op::gather, operands, axes);
  const std::vector<int64_t> order = gathered_order(indexing, t.builder->function().type(arrays[0]).rank());
  return from_node(t, transposed(t, gathered, order));
}

namespace {

/// Lists and tuples must not have more axes than the part that they are assigned to.
void need_depth(Tracer& t, int rank, const Indexing& indexing) {
  if (indexing.mask && rank > 1) {
    raise(t, ExceptionKind::TypeError,
          "NumPy boolean array indexing assignment requires a 0 or 1-dimensional input, input has " +
              std::to_string(rank) + " dimensions");
  }
  const auto most = std::ranges::count_if(indexing.items, [](const Indexing::Item& item) {
    return item.part == Indexing::Part::Range || item.part == Indexing::Part::New;
  });
  if (!indexing.advanced && rank > most) {
    raise(t, ExceptionKind::ValueError,
          "setting an array element with a sequence. The requested array would exceed the maximum number of "
          "dimension of " +
              std::to_string(most) + ".");
  }
}

}  // namespace

void assign_index(Tracer& t, const Array& array, const Value& index, const Value& value, nb::handle node) {
  if (array.type.is_array()) return;  // a temporary that nothing else sees
  need_writable(t, array, "assignment destination is read-only", node);
  if (const auto other = without_sequences(t, array, index, node))
    return assign_index(t, other->first, other->second, value, node);
  const Indexing indexing = classify(t, array, index, node);
  const DType dtype = array.type.dtype();
  const bool is_sequence =
      value.is<Tuple>() || value.is<Range>() || value.is<List>() || row_of(value) != nullptr;
  const bool is_element = indexing.is_point(array.type.rank()) && !indexing.open;
  if (is_sequence && !is_foreign(t, value) && !is_element) {
    const Value made = array_of(t, value, node, dtype);
    need_depth(t, *rank_of(made), indexing);
    return assign_index(t, array, index, made, node);
  }
  if (is_element) {
    NodeId scalar = value_for(t, value, dtype);
    if (t.builder->function().type(scalar).is_array()) {
      if (base::is_complex(dtype))
        raise(t, ExceptionKind::TypeError, "only 0-dimensional arrays can be converted to Python scalars");
      if (!base::is_bool(dtype))
        raise(t, ExceptionKind::ValueError, "setting an array element with a sequence.");
      check(t, t.builder->make(Op::equal, {size_of(t, scalar), t.builder->index(1)}),
            ExceptionKind::ValueError, "setting an array element with a sequence.");
      scalar = reduce_all(t, {scalar}, Op::bitwise_or);
    }
    std::vector<NodeId> operands{array.node};
    for (const auto& item : indexing.items) operands.push_back(item.start);
    if (!t.loops.empty() && takes_one_place(*t.builder, operands))
      measure(t, last_length(*t.builder, array.node));
    operands.push_back(scalar);
    t.builder->make(Op::store, operands);
    return;
  }
  const NodeId part = take_part(t, array.node, indexing);
  if (!indexing.advanced) {
    t.builder->make(Op::write, {part, fit(t, value_for(t, value, dtype), lengths_of(t, part))});
  } else if (const NodeId all = indexing.mask ? unmasked(t, part, indexing, value) : NodeId(); all) {
    const auto nothing = [] { return Value(Static{nb::none()}); };
    const auto gathered = [&] { return assign_gathered(t, array.node, part, indexing, value), nothing(); };
    const auto selected = [&] { return assign_mask(t, part, indexing, all), nothing(); };
    // All elements are written, those under the mask with new values: of one location none may be of the
    // others.
    if (has_own_elements(t.builder->function(), part)) selected();
    else fork(t, asks_for_own_elements(*t.builder, part), selected, gathered);
  } else {
    assign_gathered(t, array.node, part, indexing, value);
  }
}

namespace {

/// The value to assign under a mask, as a number or as an array before masking; invalid: it is neither.
NodeId unmasked(Tracer& t, NodeId view, const Indexing& indexing, const Value& value) {
  const ir::Function& f = t.builder->function();
  const NodeId given = value_for(t, value, f.type(view).dtype(), true);
  if (f.type(given).is_scalar()) return given;
  return f.type(indexing.mask).rank() == f.type(view).rank() ? before_mask(*t.builder, given, indexing.mask)
                                                             : NodeId();
}

void assign_mask(Tracer& t, NodeId view, const Indexing& indexing, NodeId value) {
  const ir::Type type = t.builder->function().type(view);
  NodeId mask = indexing.mask;
  const int mask_rank = t.builder->function().type(mask).rank();
  if (mask_rank < type.rank()) {
    std::vector<int64_t> trailing(static_cast<size_t>(type.rank() - mask_rank));
    std::iota(trailing.begin(), trailing.end(), mask_rank);
    mask = repeated(t, t.builder->make(Op::expand, {&mask, 1}, trailing), lengths_of(t, view));
  }
  t.builder->make(Op::write,
                  {view, t.builder->make(Op::select, {mask, value, t.builder->make(Op::read, {view})})});
}

void assign_gathered(Tracer& t, NodeId array, NodeId view, const Indexing& indexing, const Value& value) {
  const ir::Function& f = t.builder->function();
  std::vector<NodeId> arrays = index_arrays(t, indexing);
  std::vector<int64_t> attributes{static_cast<int64_t>(Op::constant)};
  const std::vector<NodeId> view_lengths = lengths_of(t, view);
  std::vector<NodeId> gathered_lengths = lengths_of(t, arrays[0]);
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
  NodeId values = value_for(t, value, f.type(view).dtype(), true);
  if (indexing.mask && f.type(values).is_array() && f.type(values).rank() == 1 && shown.size() == 1) {
    const NodeId given = t.builder->length(values, 0);
    const NodeId fits =
        t.builder->make(Op::bitwise_or, {t.builder->make(Op::equal, {given, shown[0]}),
                                         t.builder->make(Op::equal, {given, t.builder->index(1)})});
    check(t, fits, ExceptionKind::ValueError,
          "NumPy boolean array indexing assignment cannot assign {} input values to the {} output values "
          "where the mask is true",
          {given, shown[0]});
  }
  values = fit(t, values, shown, true);
  take_from_the_end(t, array, indexing, arrays);
  values = f.type(values).is_scalar() ? repeated(t, values, gathered_lengths)
                                      : transposed(t, values, inverse_of(order));
  std::vector<NodeId> operands{view, values};
  operands.insert(operands.end(), arrays.begin(), arrays.end());
  t.builder->make(Op::scatter, operands, attributes);
}

}  // namespace

}  // namespace ingot::frontend
