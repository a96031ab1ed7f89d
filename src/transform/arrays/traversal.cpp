// Loops over all elements of an array, in an order that suits memory. Where all arrays are in C order, so are
// the iterations. Where an array is in another order, the loops run over tiles of the array, one after
// another, which stay in the cache until all of their elements have been used.
//
// Tiles are used only where rows are long, or what is computed takes long: one iteration at a time; what
// takes long is computed in lanes, into a buffer. Where all is known to be in Fortran order, the loops are
// interchanged. Devices and compact code have no tiles.

#include <iterator>

#include "ir/directives.h"
#include "transform/arrays/lowering.h"

namespace ingot::transform {

namespace {

/// The edges of tiles, by rank, along the last axis and along the others. Elements in other than C order then
/// have long neighbourhoods, and those in C order lines of memory that stay in the cache.
constexpr int64_t kTileOfLast = 8;
constexpr int64_t kTileOfOthers[] = {1, 1, 256, 16, 8};
constexpr size_t kMostAxes = std::size(kTileOfOthers) - 1;
/// The first arrays decide the order.
constexpr size_t kLooksAtArrays = 4;
/// From this time on an element is better computed in lanes.
constexpr int kLongTime = 10;
/// So many lines of memory, one for each element, stay in the cache until the next row.
constexpr int64_t kFewLines = 1024;

}  // namespace

/// What elements of an array are evaluated from: `reached` holds what has been seen below, so that what many
/// use is looked at once.
const Lowering::Reached& Lowering::reach(NodeId old, std::unordered_map<uint32_t, Reached>& reached) {
  const auto [at, is_new] = reached.try_emplace(old.index);
  Reached& all = at->second;  // which stays where it is
  if (!is_new || !source_.type(old).is_array()) return all;
  if (whole(old).view) {
    all.strides.push_back(strides_of_view(whole(old).view));
    all.in_c_order = whole(old).contiguous;
    return all;
  }
  const auto operands = source_.operands(old);
  if (is_pointwise(old)) {
    for (const NodeId operand : operands) {
      const Reached& below = reach(operand, reached);
      all.in_c_order = all.in_c_order && below.in_c_order;
      for (const Nodes& each : below.strides)
        if (all.strides.size() < kLooksAtArrays) all.strides.push_back(each);
    }
    return all;
  }
  if (operands.empty() || !source_.type(operands[0]).is_array()) return all;
  all = reach(operands[0], reached);
  all.in_c_order = all.in_c_order && source_.op(old) != Op::transpose;
  for (Nodes& each : all.strides) {
    if (source_.op(old) == Op::reduce) each.pop_back();
    else each = rearranged_strides(old, whole(operands[0]).lengths, each);
  }
  return all;
}

/// Adds the strides of arrays in memory from which elements of `old` are evaluated, the first few ones;
/// gives whether all that are there are known to be in C order.
bool Lowering::collect_strides(NodeId old, std::vector<Nodes>& found) {
  std::unordered_map<uint32_t, Reached> reached;
  const Reached& all = reach(old, reached);
  for (const Nodes& each : all.strides)
    if (found.size() < kLooksAtArrays) found.push_back(each);
  return all.in_c_order;
}

/// Whether elements of `old` have a smaller stride along one axis than along another. With `in_c_order`, also
/// where the strides are equal, and where all that they are evaluated from is known to be in C order.
NodeId Lowering::lies_closer(NodeId old, size_t axis, size_t than, bool in_c_order) {
  std::vector<Nodes> strides;
  if (collect_strides(old, strides)) return b_.constant(in_c_order);
  const auto distance = [&](size_t along) {
    NodeId sum = b_.index(0);
    for (const Nodes& each : strides) sum = loops_.add(sum, b_.make(Op::absolute, {each[along]}));
    return sum;
  };
  const NodeId one = distance(axis);
  const NodeId other = distance(than);
  // Known layouts leave nothing to compare: no stride is smaller than that of neighbours.
  if (b_.function().is_constant(in_c_order ? one : other)) return b_.constant(in_c_order);
  if (b_.function().is_constant(in_c_order ? other : one)) return b_.constant(!in_c_order);
  return b_.make(in_c_order ? Op::less_equal : Op::less, {one, other});
}

/// Whether elements have a smaller stride along some other axis than along the last one.
NodeId Lowering::is_turned(const Nodes& strides) {
  const NodeId last = b_.make(Op::absolute, {strides.back()});
  NodeId closer = b_.constant(false);
  if (b_.function().is_constant(last)) return closer;
  for (size_t i = 0; i + 1 < strides.size(); ++i) {
    const NodeId other = b_.make(Op::absolute, {strides[i]});
    const NodeId is_axis = loops_.less(b_.index(0), other);
    // Of a known layout, where neighbours are.
    if (b_.function().is_constant(other) && b_.function().is_constant(is_axis)) return is_axis;
    closer = loops_.either(closer, loops_.both(is_axis, loops_.less(other, last)));
  }
  return closer;
}

/// Tiles of an array of these lengths: the first index and the lengths of each. One iteration at a time.
void Lowering::nest_tiles(const Nodes& lengths, const std::function<void(const Nodes&, const Nodes&)>& tile) {
  Nodes tiles;
  Nodes edges;
  for (size_t i = 0; i < lengths.size(); ++i) {
    const int64_t edge = i + 1 == lengths.size() ? kTileOfLast : kTileOfOthers[lengths.size()];
    edges.push_back(b_.index(edge));
    tiles.push_back(loops_.ceiling(lengths[i], edges[i]));
  }
  loops_.set_one_by_one(true);
  loops_.nest(tiles, [&](Indices number) {
    Nodes first;
    Nodes counts;
    for (size_t i = 0; i < lengths.size(); ++i) {
      first.push_back(loops_.multiply(number[i], edges[i]));
      counts.push_back(loops_.minimum(edges[i], loops_.subtract(lengths[i], first[i])));
    }
    tile(first, counts);
  });
  loops_.set_one_by_one(false);
}

/// Stores the elements of a tile. What takes long is computed in lanes along the first axis, into a buffer.
void Lowering::store_tile(const Elements& all, const Nodes& first, const Nodes& counts) {
  const auto place = [&](Indices in_tile) {
    Nodes at;
    for (size_t i = 0; i < first.size(); ++i) at.push_back(loops_.add(first[i], in_tile[i]));
    return at;
  };
  if (first.size() != 2 || all.time < kLongTime)
    return loops_.nest(counts, [&](Indices in_tile) { store_at(all, place(in_tile)); });
  Nodes computed;
  for (const NodeId view : all.views) {
    const Nodes edges{b_.index(kTileOfLast), b_.index(kTileOfOthers[2])};
    const Type type = b_.function().type(view);
    computed.push_back(loops_.new_view(edges, type.dtype(), type.space()));
  }
  loops_.set_one_by_one(false);
  loops_.nest(Nodes{counts[1], counts[0]}, [&](Indices turned) {
    const Nodes values = all.values(place(Nodes{turned[1], turned[0]}));
    for (size_t i = 0; i < values.size(); ++i) loops_.store(computed[i], turned, values[i]);
  });
  loops_.set_one_by_one(true);
  loops_.nest(counts, [&](Indices in_tile) {
    const Nodes at = place(in_tile);
    for (size_t i = 0; i < computed.size(); ++i)
      loops_.store(all.views[i], at, loops_.load(computed[i], Nodes{in_tile[1], in_tile[0]}));
  });
}

void Lowering::store_at(const Elements& all, Indices at) {
  const Nodes values = all.values(at);
  if (all.whole) {
    Nodes place(at.begin(), at.end());
    for (NodeId part = all.part; part != all.whole; part = source_.operand(part, 0))
      place = place_before(part, place);
    return loops_.store(use(all.whole), place, values[0]);
  }
  for (size_t i = 0; i < values.size(); ++i) loops_.store(all.views[i], at, values[i]);
}

void Lowering::store_elements(const Elements& all) {
  const Nodes lengths = lengths_of_view(all.views[0]);
  const auto in_order = [&] {
    loops_.nest(lengths, [&](Indices at) { store_at(all, at); });
    return Nodes();
  };
  const auto turned_round = [&] {
    loops_.nest(Nodes(lengths.rbegin(), lengths.rend()),
                [&](Indices turned) { store_at(all, Nodes(turned.rbegin(), turned.rend())); });
  };
  if (lengths.size() > 1 && !all.flat.empty()) {
    const NodeId total = loops_.product(lengths);
    by_number(all.flat, [&] {
      Elements numbered = all;
      for (NodeId& view : numbered.views) view = flat_view(view);
      loops_.nest({&total, 1}, [&](Indices number) { store_at(numbered, number); });
    });
    return;
  }
  const size_t most = all.fresh ? kMostAxes : 2;
  if (lengths.size() < 2 || lengths.size() > most || loops_.one_by_one() ||
      ir::names_loops(b_.function(), b_.span())) {
    in_order();
    return;
  }
  NodeId any = b_.constant(false);
  bool all_known = true;
  for (const Nodes& strides : all.strides) {
    const NodeId turned = is_turned(strides);
    any = loops_.either(any, turned);
    all_known = all_known && b_.function().is_constant(turned) && b_.function().constant(turned).bits[0] != 0;
  }
  if (all_known && !all.fresh) return turned_round();
  // The threads of a device are at all elements at once.
  if (machine_.has_kernels() || machine_.compact) return void(in_order());
  NodeId in_tiles = all.fresh ? any : loops_.both(any, is_disjoint(all.views[0]));
  if (lengths.size() > 2 || all.time < kLongTime) {
    const NodeId lines = loops_.product(std::span(lengths).subspan(1));
    in_tiles = loops_.both(in_tiles, loops_.less(b_.index(kFewLines), lines));
  }
  const auto tiled = [&] {
    nest_tiles(lengths, [&](const Nodes& first, const Nodes& counts) { store_tile(all, first, counts); });
    return Nodes();
  };
  loops_.branch(in_tiles, {}, tiled, in_order);
}

}  // namespace ingot::transform
